#include <algorithm>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/error.hpp>
#include <stategraph/workflow/run.hpp>

#include "workflow/drive.hpp"
#include "workflow/flow_impl.hpp"
#include "workflow/inner_questions.hpp"
#include "workflow/refuse.hpp"
#include "workflow/request_context.hpp"

// Resumes a run with an answer: finds the questions that it is for, checks it and runs.
namespace stategraph::workflow {

Update<State> Flow::Impl::goingOnWith(const std::string& run_id, const State& state, const RunOptions& options) const {
    Update<State> update;
    if (!options.context.empty())
        update.with(merge(&State::context, contextFor(run_id, withEarlier(options.context, state.context))));
    if (state.is_single_step != options.single_step) update.with(set<&State::is_single_step>(options.single_step));
    std::map<std::string, Record> dropped;
    for (const auto& [id, record] : state.records) {
        if (record.status == Word::none && !record.pending.isNull()) dropped.emplace(id, Record());
    }
    if (!dropped.empty()) update.with(merge(&State::records, std::move(dropped)));
    return update;
}

std::vector<Question> Flow::Impl::questionOfLabel(const std::string& run_id, std::vector<Question> open,
                                                  const ResumeTarget& target) const {
    std::erase_if(
        open, [&](const Question& each) { return std::ranges::find(each.labels, target.label) == each.labels.end(); });
    if (open.empty()) refuse(Refusal::unknown_label, run_id, "no open question has the label '" + target.label + "'");
    if (open.size() > 1)
        refuse(Refusal::ambiguous, run_id,
               "several open questions have the label '" + target.label + "'; name the step");
    return open;
}

std::vector<Question> Flow::Impl::questionOfId(const std::string& run_id, std::vector<Question> open, const ReadRun& at,
                                               TaskId id) const {
    const auto asked = std::ranges::find(at.interrupts, id, &Interrupt::id);
    if (asked == at.interrupts.end())
        refuse(Refusal::not_suspended, run_id, "the question " + id.toString() + " is not open");
    std::erase_if(open, [&](const Question& each) { return each.key != asked->key; });
    return open;
}

// Returns the questions that an answer is for: those of one step, or of the elements of one foreach.
std::vector<Question> Flow::Impl::questionsOf(const std::string& run_id, const ReadRun& at,
                                              const ResumeTarget& target) const {
    if (at.isStored() && !target.seen.empty() && target.seen != at.checkpoint_id) {
        refuse(Refusal::already_claimed, run_id, "it has continued since the checkpoint that the answer is for");
    }
    if (!at.isStored() || at.state->status != Word::none || at.interrupts.empty()) {
        refuse(Refusal::not_suspended, run_id, "it waits for no answer");
    }
    std::vector<Question> open = openQuestions(*plan, *at.state, true);
    std::erase_if(open, [](const Question& each) { return !each.is_due; });
    if (!target.question.empty()) return questionOfId(run_id, std::move(open), at, target.question);
    if (!target.label.empty()) return questionOfLabel(run_id, std::move(open), target);
    const std::vector<std::string> given = split(target.step);
    const auto isBelow = [&](const std::vector<std::string>& path) {
        const std::size_t common = std::min(given.size(), path.size());
        return std::equal(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(common), path.begin());
    };
    std::vector<std::vector<std::string>> places;  // a foreach counts as one place
    std::string all;
    for (const Question& each : open) {
        std::vector<std::string> place = each.path;
        if (each.index) place.resize(each.index_at);
        all += (all.empty() ? "'" : ", '") + joined(place) + "'";
        if (isBelow(place) && std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
    }
    if (places.empty())
        refuse(Refusal::not_suspended, run_id, "step '" + target.step + "' waits for no answer; open are " + all);
    if (places.size() > 1)
        refuse(Refusal::ambiguous, run_id, "several steps wait for answers, " + all + "; name one of them");
    std::erase_if(open, [&](const Question& each) {
        const bool is_there = each.path.size() >= places.front().size() &&
                              std::equal(places.front().begin(), places.front().end(), each.path.begin());
        const bool is_given = isBelow(each.path) && each.path.size() >= given.size();
        return !is_there || !is_given || (target.index && each.index != target.index);
    });
    if (open.empty()) refuse(Refusal::not_suspended, run_id, "that element, or what is below it, waits for no answer");
    return open;
}

// Returns the question of a graph that is a step. The graph itself checks the answer.
TaskId Flow::Impl::innerQuestionOf(const std::string& run_id, const StateSnapshot<State>& at,
                                   const ResumeTarget& target) const {
    std::vector<QuestionView> open = innerQuestions(*plan, at.tasks);
    if (!target.seen.empty() && target.seen != at.config.checkpoint_id)
        refuse(Refusal::already_claimed, run_id, "it has continued since the checkpoint that the answer is for");
    if (!target.label.empty())
        refuse(Refusal::unknown_label, run_id, "no open question has the label '" + target.label + "'");
    const std::string element = target.index ? "[" + std::to_string(*target.index) + "]" : "";
    std::erase_if(open, [&](const QuestionView& each) {
        if (!target.question.empty()) return each.id != target.question;
        const std::string wanted = target.step + element;
        const bool is_below =
            each.path == wanted || each.path.starts_with(wanted + ".") || each.path.starts_with(wanted + "[");
        return !target.step.empty() && !is_below;
    });
    if (open.empty()) refuse(Refusal::not_suspended, run_id, "step '" + target.step + "' waits for no answer");
    if (open.size() > 1) refuse(Refusal::ambiguous, run_id, "several questions are open there; name one by its id");
    return open.front().id;
}

// Reads a run that is to be resumed. What is read is then what the run begins with, unless it has changed meanwhile.
Flow::Impl::ReadRun Flow::Impl::readToResume(const std::string& run_id) const {
    ReadRun at;
    if (saver) at.read = stategraph::detail::readThread(*graph.core(), threadOf(run_id));
    if (at.read) {
        at.state = static_cast<const State*>(at.read->values);
        at.interrupts = at.read->open;
        at.checkpoint_id = at.read->checkpoint_id;
        return at;
    }
    at.snapshot = std::make_unique<StateSnapshot<State>>(read(run_id));
    at.state = &at.snapshot->values;
    at.interrupts = at.snapshot->interrupts();
    at.checkpoint_id = at.snapshot->config.checkpoint_id;
    return at;
}

RunInput Flow::Impl::resumeInput(const std::string& run_id, const ResumeTarget& target, Value data,
                                 const RunOptions& options) const {
    ReadRun at = readToResume(run_id);
    Resumption resumption;
    Command<State>& command = resumption.command;
    command.update = goingOnWith(run_id, *at.state, options);
    if (at.isStored() && at.state->status == Word::none && !at.interrupts.empty() && !asks(*at.state, at.interrupts)) {
        command.answers.emplace_back(innerQuestionOf(run_id, read(run_id, true), target), std::move(data));
        return resumption;
    }
    for (const Question& question : questionsOf(run_id, at, target)) {
        const auto asked = std::ranges::find(at.interrupts, question.key, &Interrupt::key);
        if (asked == at.interrupts.end())
            refuse(Refusal::already_claimed, run_id, "'" + question.key + "' has been answered");
        try {
            command.answers.emplace_back(asked->id, question.step->resume ? question.step->resume(data) : data);
        } catch (const std::exception& error) {
            refuse(Refusal::invalid_resume_data, run_id,
                   "the answer is not what '" + question.key + "' takes: " + error.what());
        }
    }
    resumption.read = std::move(at.read);
    return resumption;
}

RunView Flow::resume(const std::string& run_id, const ResumeTarget& target, Value data,
                     const RunOptions& options) const {
    return Drive(impl_, run_id, impl_->resumeInput(run_id, target, std::move(data), options), options, Claim::resume)
        .run();
}

}  // namespace stategraph::workflow
