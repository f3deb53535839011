#include "agent/record.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include <stategraph/error.hpp>

#include "agent/commands.hpp"
#include "agent/plan.hpp"

namespace stategraph::agent {

namespace {

using model::Message;
using model::Role;

Value writtenArguments(const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return parseJson("{}");
    try {
        return parseJson(text);
    } catch (const Error&) {
        return Value(text);  // the model wrote no JSON
    }
}

/// Returns the value as text with the members of objects in order.
std::string sortedText(const Value& value, int depth = 0) {
    constexpr unsigned array = 4;
    constexpr unsigned map = 5;
    constexpr int depth_max = 64;
    const unsigned kind = static_cast<unsigned char>(value.bytes().front()) >> 5U;
    std::string all;
    if (kind == map && depth < depth_max) {
        for (const auto& [name, member] : value.as<std::map<std::string, Value>>())
            all += Value(name).toJson() + ':' + sortedText(member, depth + 1) + ',';
        return '{' + all + '}';
    }
    if (kind == array && depth < depth_max) {
        for (const Value& element : value.as<std::vector<Value>>()) all += sortedText(element, depth + 1) + ',';
        return '[' + all + ']';
    }
    return std::string(value.bytes());
}

/// Sorts the messages of a conversation into turns.
class TurnReader {
public:
    void read(const Message& message) {
        if (detail::isAnswer(message)) {
            addAnswer(message);
        } else if (message.role == Role::tool && message.result) {
            addResult(message);
        } else if (!isComplaint(message)) {
            addInput(message);
        }
    }
    std::vector<RecordedTurn> take() { return std::move(turns_); }

private:
    struct Place {
        std::size_t turn;
        std::size_t step;
        std::size_t call;
    };

    /// Whether the agent itself wrote the message, to have an answer of the wrong shape mended.
    bool isComplaint(const Message& message) const {
        return message.role == Role::user && message.id.starts_with("repair-") && !turns_.empty() &&
               !turns_.back().steps.empty();
    }
    void addAnswer(const Message& message) {
        if (turns_.empty()) turns_.emplace_back();
        auto& steps = turns_.back().steps;
        steps.push_back(detail::stepOf(message));
        for (std::size_t i = 0; i < message.calls.size(); ++i)
            places_[message.calls[i].id] = {turns_.size() - 1, steps.size() - 1, i};
        aborted_.reset();
        if (steps.back().is_aborted) aborted_ = message;
    }
    void addResult(const Message& message) {
        const auto found = places_.find(message.result->call_id);
        if (found == places_.end()) return;
        const auto [turn, step, call] = found->second;
        if (turn + 1 == turns_.size()) {
            RecordedCall& made = turns_[turn].steps[step].calls[call];
            made.result = *message.result;
            made.content = message.content;
        } else {
            addInput(message);  // the turn before had left the call open
        }
    }
    void addInput(const Message& message) {
        if (turns_.empty() || !turns_.back().steps.empty()) turns_.emplace_back();
        auto& input = turns_.back().input;
        if (aborted_) {
            aborted_->id.clear();  // it is no answer that the model is to give again
            input.push_back(std::move(*aborted_));
            aborted_.reset();
        }
        input.push_back(message);
    }

    std::vector<RecordedTurn> turns_;
    std::map<std::string, Place, std::less<>> places_;
    std::optional<Message> aborted_;
};

/// Returns whether both answers call the same tools in the same order.
bool haveSameTools(const RecordedStep& a, const RecordedStep& b) {
    return std::ranges::equal(a.calls, b.calls, {}, &RecordedCall::tool, &RecordedCall::tool);
}

std::optional<DifferenceKind> differenceOf(const RecordedStep& recorded, const RecordedStep& replayed) {
    if (!haveSameTools(recorded, replayed)) return DifferenceKind::calls;
    if (!std::ranges::equal(recorded.calls, replayed.calls, {}, detail::keyOf, detail::keyOf))
        return DifferenceKind::arguments;
    if (recorded.text == replayed.text) return {};
    return recorded.calls.empty() ? DifferenceKind::answer : DifferenceKind::text;
}

/// Returns the text of the turn's final answer, or null if it has none.
const std::string* finalText(const RecordedTurn& turn) noexcept {
    if (detail::isUnfinished(turn)) return nullptr;
    return &turn.steps.back().text;
}

}  // namespace

bool detail::isAnswer(const Message& message) noexcept {
    return message.role == Role::assistant && message.id.starts_with("answer-");
}

RecordedStep detail::stepOf(const Message& answer) {
    RecordedStep step{.text = answer.text(), .is_aborted = answer.finish_reason == model::FinishReason::aborted};
    for (const model::ToolCall& call : answer.calls) {
        RecordedCall made{.id = call.id, .tool = call.name, .arguments = writtenArguments(call.arguments)};
        for (const model::Part& part : answer.content) {
            const auto* const original = std::get_if<model::OriginalArguments>(&part);
            if (original == nullptr || original->call_id != call.id) continue;
            made.edited = std::exchange(made.arguments, writtenArguments(original->arguments));
            break;
        }
        step.calls.push_back(std::move(made));
    }
    return step;
}

std::string detail::keyOf(const RecordedCall& call) { return call.tool + '\n' + sortedText(call.arguments); }

std::string detail::describe(const RecordedCall& call) { return call.tool + '(' + call.arguments.toJson() + ')'; }

std::string detail::describe(const RecordedStep& step) {
    if (step.calls.empty()) return step.text;
    std::string all;
    for (const RecordedCall& call : step.calls) all += (all.empty() ? "" : ", ") + describe(call);
    return all;
}

bool detail::isUnfinished(const RecordedTurn& turn) noexcept {
    return turn.steps.empty() || turn.steps.back().is_aborted || !turn.steps.back().calls.empty();
}

std::size_t detail::comparedSteps(const RecordedTurn& turn) noexcept {
    const bool is_aborted = !turn.steps.empty() && turn.steps.back().is_aborted;
    return turn.steps.size() - (is_aborted ? 1 : 0);
}

std::vector<Difference> detail::differencesOf(const RecordedTurn& recorded, const RecordedTurn& replayed,
                                              std::size_t turn) {
    std::vector<Difference> all;
    const std::size_t compared = comparedSteps(recorded);
    const std::size_t both = std::min(compared, replayed.steps.size());
    for (std::size_t i = 0; i < both && all.empty(); ++i) {
        const RecordedStep& was = recorded.steps[i];
        const RecordedStep& is = replayed.steps[i];
        if (const auto kind = differenceOf(was, is))
            all.push_back({*kind, turn, i, *kind == DifferenceKind::text ? was.text : describe(was),
                           *kind == DifferenceKind::text ? is.text : describe(is)});
    }
    const bool has_more = !isUnfinished(recorded) && replayed.steps.size() > compared;
    if (all.empty() && (compared > both || has_more)) {
        const RecordedStep& further = has_more ? replayed.steps[both] : recorded.steps[both];
        all.push_back({further.calls.empty() ? DifferenceKind::answer : DifferenceKind::calls, turn, both,
                       has_more ? "" : describe(further), has_more ? describe(further) : ""});
    }
    const std::string* const was = finalText(recorded);
    const std::string* const is = finalText(replayed);
    if (!all.empty() && all.front().kind != DifferenceKind::answer && was != nullptr && is != nullptr && *was != *is)
        all.push_back({DifferenceKind::answer, turn, replayed.steps.size() - 1, *was, *is});
    return all;
}

Record recordOf(std::string thread_id, const std::vector<Message>& messages) {
    TurnReader reader;
    for (const Message& message : messages) reader.read(message);
    return {.thread_id = std::move(thread_id), .turns = reader.take()};
}

Record recordOf(const Agent& agent, const Config& config) {
    const auto from = agent.graph().getState(config);
    Record record = recordOf(config.thread_id.toString(), from.values.messages);
    const std::vector<Tool>& tools = agent.plan_->options.tools;
    if (std::ranges::none_of(tools, [](const Tool& tool) { return tool.commands.is_given; })) return record;
    std::map<std::string, Value, std::less<>> commands;  // by the ids of their calls
    const auto take = [&](const State& state) {
        for (const Value& command : state.commands) commands.emplace(detail::calledBy(command), command);
    };
    take(from.values);  // with what has ended of a superstep that has not
    Config thread = config;
    thread.checkpoint_id = {};
    CheckpointId next = from.config.checkpoint_id;
    for (const auto& at : agent.graph().getStateHistory(thread)) {
        if (at.config.checkpoint_id != next) continue;  // of another branch
        take(at.values);
        if (!at.parent_config) break;
        next = at.parent_config->checkpoint_id;
    }
    for (RecordedTurn& turn : record.turns) {
        for (RecordedStep& step : turn.steps) {
            for (RecordedCall& call : step.calls) {
                if (const auto found = commands.find(call.id); found != commands.end()) call.command = found->second;
            }
        }
    }
    return record;
}

}  // namespace stategraph::agent
