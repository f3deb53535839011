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

std::vector<Question> Flow::Impl::questionOfId(const std::string& run_id, std::vector<Question> open, const ReadRun& at,
                                               TaskId id) const {
    const auto asked = std::ranges::find(at.interrupts, id, &Interrupt::id);
    if (asked == at.interrupts.end())
        refuse(Refusal::not_suspended, run_id, "the question " + id.toString() + " is not open");
    std::erase_if(open, [&](const Question& each) { return each.key != asked->key; });
    return open;
}

namespace {

// Whether `step` is the text of a path, or of the beginning of one.
bool leadsTo(const std::string& step, const std::string& path) {
    return step.empty() || (path.starts_with(step) &&
                            (path.size() == step.size() || path[step.size()] == '.' || path[step.size()] == '['));
}

// A path may name the elements of foreaches, or leave them out.
bool isSelected(const Question& question, const ResumeTarget& target) {
    const bool has_label =
        target.label.empty() || std::ranges::find(question.labels, target.label) != question.labels.end();
    const bool is_there = leadsTo(target.step, question.key) || leadsTo(target.step, joined(question.path));
    return has_label && is_there && (!target.index || question.index == target.index);
}

std::string keysOf(const std::vector<Question>& questions) {
    std::string all;
    for (const Question& each : questions) all += (all.empty() ? "'" : ", '") + each.key + "'";
    return all;
}

}  // namespace

// Returns the questions that an answer is for: one, unless it is for all that are selected.
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
    // An answered question, whose run died before its step continued, is meant only if the target names it.
    if (target.step.empty() && target.label.empty())
        std::erase_if(open, [&](const Question& each) { return !isAsked(each, at.interrupts); });
    const std::string all = keysOf(open);
    std::erase_if(open, [&](const Question& each) { return !isSelected(each, target); });
    if (open.empty() && !target.label.empty())
        refuse(Refusal::unknown_label, run_id, "no open question has the label '" + target.label + "'");
    if (open.empty()) {
        const std::string element = target.index ? "[" + std::to_string(*target.index) + "]" : "";
        refuse(Refusal::not_suspended, run_id,
               "step '" + target.step + element + "' waits for no answer; open are " + all);
    }
    if (open.size() > 1 && !target.all)
        refuse(Refusal::ambiguous, run_id,
               "several questions are open there, " + keysOf(open) +
                   "; name one by its step, element or id, or say that the answer is for all");
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
