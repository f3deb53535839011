#include <stategraph/agent/replay.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <stategraph/command.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>

#include "agent/commands.hpp"
#include "agent/record.hpp"

namespace stategraph::agent {

namespace {

using model::Message;
using model::Role;

constexpr int resumed_max = 10'000;  // how often a turn is resumed with answers

/// A recorded result, as the replay gives it to a tool that makes parts for the model.
struct RecordedOutput {
    Value recorded_output = {};
    std::vector<model::Part> recorded_content = {};
    static constexpr auto fields() {
        return stategraph::fields(field("recorded_output", &RecordedOutput::recorded_output),
                                  field("recorded_content", &RecordedOutput::recorded_content));
    }
};

/// Returns what the model receives of a result: recorded parts as they were, and those that the tool makes of a result
/// that the record does not have.
std::function<model::ToolOutput(Value)> recordedParts(std::function<model::ToolOutput(Value)> made) {
    return [made = std::move(made)](Value given) -> model::ToolOutput {
        try {
            auto recorded = given.asStrict<RecordedOutput>();
            return {.output = std::move(recorded.recorded_output), .content = std::move(recorded.recorded_content)};
        } catch (const WrongTypeError&) {
            return made ? made(std::move(given)) : model::ToolOutput{.output = std::move(given)};
        }
    };
}

/// Makes each tool one that a client executes, so that the replay gives its results, and has each call approved, so
/// that arguments which a person edited are edited again.
Options answeredFromOutside(Options options, std::shared_ptr<BaseCheckpointSaver> saver) {
    for (Tool& tool : options.tools) {
        if (tool.isForProvider()) continue;
        tool.call = {};
        tool.async_call = {};
        tool.approval = {};
        tool.timeout = {};
        tool.retry = {};
        tool.cache = {};
        tool.result_max = std::numeric_limits<std::size_t>::max();  // recorded results were cut already
        tool.files_max = std::numeric_limits<std::size_t>::max();
        tool.to_model = recordedParts(std::move(tool.to_model));
    }
    options.tool_timeout = {};
    options.approval = [](std::string_view, const Value&) { return true; };
    options.compile.checkpointer = std::move(saver);
    options.compile.cache = {};
    options.compile.interrupt_before = {};
    options.compile.interrupt_after = {};
    return options;
}

/// Returns the names of the tools that return Commands.
std::set<std::string> leadingTools(const Options& options) {
    std::set<std::string> names;
    for (const Tool& tool : options.tools) {
        if (tool.commands.is_given) names.insert(tool.name());
    }
    return names;
}

/// The calls of a record, of which each is given once.
class RecordedCalls {
public:
    explicit RecordedCalls(const Record& record) {
        for (const RecordedTurn& turn : record.turns) {
            for (const RecordedStep& step : turn.steps) {
                for (const RecordedCall& call : step.calls) by_key_[detail::keyOf(call)].push_back(&call);
            }
        }
    }
    /// Returns null if there is no such call, or no more.
    const RecordedCall* take(const RecordedCall& made) {
        const auto found = by_key_.find(detail::keyOf(made));
        if (found == by_key_.end() || found->second.empty()) return nullptr;
        const RecordedCall* const call = found->second.front();
        found->second.pop_front();
        taken_.insert(call);
        return call;
    }
    bool isTaken(const RecordedCall& call) const { return taken_.contains(&call); }

private:
    std::map<std::string, std::deque<const RecordedCall*>> by_key_;
    std::set<const RecordedCall*> taken_;
};

/// A call that the replayed model made.
struct Made {
    model::ToolCall call;
    std::string answer_id;                   // of the message that has it
    const RecordedCall* recorded = nullptr;  // null: the record has no such call
    std::optional<ClientResult> given = {};  // the result of one that the record does not have
};

class Replay {
public:
    Replay(const Record& record, Options options, const ReplayOptions& settings)
        : record_(record),
          settings_(settings),
          thread_(settings.thread_id.empty() ? "replay-" + record.thread_id : settings.thread_id),
          leading_(leadingTools(options)),
          agent_(answeredFromOutside(std::move(options),
                                     settings.saver ? settings.saver : std::make_shared<MemorySaver>())),
          calls_(record) {
        replayed_.record = record;
        replayed_.thread_id = thread_;
    }

    Replayed run() {
        for (turn_ = 0; turn_ < record_.turns.size() && !is_over_; ++turn_) runTurn(record_.turns[turn_]);
        replayed_.is_complete = !is_over_;
        for (const RecordedTurn& turn : record_.turns) {
            for (const RecordedStep& step : turn.steps) {
                for (const RecordedCall& call : step.calls) {
                    if (!calls_.isTaken(call)) replayed_.unused.push_back(call);
                }
            }
        }
        return std::move(replayed_);
    }

private:
    void runTurn(const RecordedTurn& recorded) {
        std::vector<Message> input = inputOf(recorded);
        replayed_.turns.push_back({.input = input});
        made_.clear();
        answers_.clear();
        std::string failure = invoke(said(std::move(input)), turn_ == 0);
        int resumed = 0;
        while (failure.empty() && !isBeyond(recorded)) {
            if (last_.status != Status::interrupted) break;
            Command<> answers = answersToQuestions();
            if (answers.answers.empty()) break;
            failure = invoke(std::move(answers), false);
            if (++resumed == resumed_max && failure.empty()) failure = "the turn has asked too many questions";
        }
        endTurn(recorded, failure);
    }

    /// Returns the empty text, or what the run failed with.
    template <class Input>
    std::string invoke(Input input, bool is_first) {
        RunConfig config;
        config.thread_id = thread_;
        config.only_new = is_first;
        config.context = settings_.context;
        std::string failure;
        try {
            last_ = agent_.graph().invoke(std::move(input), config);
        } catch (const ThreadExistsError&) {
            throw;
        } catch (const std::exception& why) {
            failure = why.what();
            last_ = {};
            last_.values = agent_.graph().getState({.thread_id = thread_}).values;
        }
        const bool has_ended = last_.status == Status::done || last_.status == Status::interrupted;
        if (failure.empty() && !has_ended)
            failure = std::string("the run ended with the status ") + toString(last_.status);
        noteAnswers();
        return failure;
    }

    /// Notes the model's new answers and finds their calls in the record, in the order in which they were made.
    void noteAnswers() {
        for (const Message& message : last_.values.messages) {
            if (!detail::isAnswer(message) || !known_.insert(message.id).second) continue;
            answers_.push_back(message.id);
            const RecordedStep step = detail::stepOf(message);
            for (std::size_t i = 0; i < message.calls.size(); ++i) {
                Made made{.call = message.calls[i], .answer_id = message.id};
                if (!isBeyond(record_.turns[turn_])) made.recorded = calls_.take(step.calls[i]);
                if (made.recorded == nullptr && !isBeyond(record_.turns[turn_]))
                    replayed_.unrecorded.push_back(step.calls[i]);
                made_.emplace(message.calls[i].id, std::move(made));
            }
        }
    }
    /// Whether the model has said more than the record has of an unfinished turn.
    bool isBeyond(const RecordedTurn& recorded) const noexcept {
        return detail::isUnfinished(recorded) && answers_.size() > detail::comparedSteps(recorded);
    }

    Command<> answersToQuestions() {
        Command<> command;
        std::set<TaskId> of_calls;
        for (const OpenCall& open : agent_.openCalls(thread_)) {
            of_calls.insert(open.interrupt_id);
            if (auto answer = answerTo(open)) command.answers.push_back({open.interrupt_id, std::move(*answer)});
        }
        for (const Interrupt& open : last_.interrupts) {
            if (of_calls.contains(open.id)) continue;
            auto answer = settings_.answer_question ? settings_.answer_question(open) : std::nullopt;
            if (answer) {
                command.answers.push_back({open.id, std::move(*answer)});
            } else {
                question_ = open.value.toJson();
            }
        }
        if (is_over_ || question_) command.answers.clear();
        return command;
    }
    /// Returns the answer to the question about a call, or none to leave it open.
    std::optional<Value> answerTo(const OpenCall& open) {
        const auto found = made_.find(open.id);
        if (found == made_.end()) return {};
        Made& made = found->second;
        if (made.recorded != nullptr && !made.recorded->result) return {};  // as in the record
        if (made.recorded == nullptr && !made.given) {
            if (settings_.answer_call) made.given = settings_.answer_call(made.call);
            if (!made.given && settings_.on_unrecorded == OnUnrecorded::fail)
                made.given = ClientResult{Value("Error: this call is not in the record of the conversation."), true};
            if (!made.given) {
                is_over_ = true;
                return {};
            }
        }
        if (!open.is_for_client) {
            Decision decision{.approved = true};
            if (made.recorded != nullptr) decision.arguments = made.recorded->edited;
            return Value(decision);
        }
        if (made.given) return Value(*made.given);
        const RecordedCall& recorded = *made.recorded;
        ClientResult result{recorded.result->output, recorded.result->is_error};
        if (result.is_error) return Value(result);
        result.output = Value(RecordedOutput{result.output, recorded.content});
        if (recorded.command && leading_.contains(recorded.tool))
            result.output = detail::withRecordedCommand(result.output, *recorded.command);
        return Value(result);
    }

    void endTurn(const RecordedTurn& recorded, const std::string& failure) {
        RecordedTurn& turn = replayed_.turns.back();
        std::map<std::string_view, const Message*> results;
        for (const Message& message : last_.values.messages) {
            if (message.result) results[message.result->call_id] = &message;
        }
        for (const Message& message : last_.values.messages) {
            if (std::ranges::find(answers_, message.id) == answers_.end()) continue;
            RecordedStep step = detail::stepOf(message);
            for (RecordedCall& call : step.calls) {
                const auto result = results.find(call.id);
                if (result == results.end()) continue;
                call.result = *result->second->result;
                call.content = result->second->content;
            }
            turn.steps.push_back(std::move(step));
        }
        replayed_.usage = replayed_.usage + last_.values.usage;
        std::vector<Difference> found = detail::differencesOf(recorded, turn, turn_);
        std::ranges::move(found, std::back_inserter(replayed_.differences));
        const std::size_t step = turn.steps.size();
        const bool has_all = detail::isUnfinished(recorded) && step >= detail::comparedSteps(recorded);
        const std::string expected = step < recorded.steps.size() ? detail::describe(recorded.steps[step]) : "";
        if (!failure.empty() && !has_all) end({DifferenceKind::failure, turn_, step, expected, failure});
        if (question_ && !has_all) end({DifferenceKind::question, turn_, step, expected, *question_});
        question_.reset();
    }
    void end(Difference difference) {
        // What the failure left out is no difference of its own.
        std::erase_if(replayed_.differences, [&](const Difference& each) {
            return each.turn == difference.turn && each.step == difference.step && each.replayed.empty();
        });
        replayed_.differences.push_back(std::move(difference));
        is_over_ = true;
    }

    /// What begins the turn in the replayed thread: answers that the record does not have are removed, and results of
    /// calls that the turn before had left open have the ids of the replayed calls.
    std::vector<Message> inputOf(const RecordedTurn& recorded) {
        std::vector<Message> input;
        if (turn_ > 0 && isBeyond(record_.turns[turn_ - 1])) {
            const std::string& first = answers_[detail::comparedSteps(record_.turns[turn_ - 1])];
            const auto& messages = last_.values.messages;
            for (auto each = std::ranges::find(messages, first, &Message::id); each != messages.end(); ++each) {
                Message removal;
                removal.role = Role::remove;
                removal.id = each->id;
                input.push_back(std::move(removal));
            }
        }
        for (const auto& [id, made] : made_) {
            if (made.recorded == nullptr || made.recorded->result || !made.recorded->edited) continue;
            Message amendment;
            amendment.role = Role::amend;
            amendment.id = made.answer_id;
            amendment.calls = {made.call};
            amendment.calls.front().arguments = made.recorded->edited->toJson();
            input.push_back(std::move(amendment));
        }
        for (const Message& message : recorded.input) {
            if (!message.result) {
                input.push_back(message);
            } else if (const Made* const made = madeFor(message.result->call_id)) {
                Message result = message;
                result.id = model::toolResult(made->call, {}).id;
                result.result->call_id = made->call.id;
                input.push_back(std::move(result));
            }
        }
        return input;
    }
    const Made* madeFor(const std::string& recorded_id) const {
        for (const auto& [id, made] : made_) {
            if (made.recorded != nullptr && made.recorded->id == recorded_id) return &made;
        }
        return nullptr;
    }

    const Record& record_;
    const ReplayOptions& settings_;
    const std::string thread_;
    const std::set<std::string> leading_;
    const Agent agent_;
    RecordedCalls calls_;
    Replayed replayed_;
    Result<State> last_;
    std::set<std::string> known_;       // the ids of all answers so far
    std::vector<std::string> answers_;  // those of this turn
    std::map<std::string, Made> made_;  // the calls of this turn, by id
    std::optional<std::string> question_;
    std::size_t turn_ = 0;
    bool is_over_ = false;
};

}  // namespace

const char* toString(DifferenceKind kind) noexcept {
    switch (kind) {
        case DifferenceKind::calls:
            return "calls";
        case DifferenceKind::arguments:
            return "arguments";
        case DifferenceKind::text:
            return "text";
        case DifferenceKind::answer:
            return "answer";
        case DifferenceKind::question:
            return "question";
        case DifferenceKind::failure:
            break;
    }
    return "failure";
}

Replayed replay(const Record& record, Options options, const ReplayOptions& settings) {
    return Replay(record, std::move(options), settings).run();
}

}  // namespace stategraph::agent
