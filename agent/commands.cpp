#include "agent/commands.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/update.hpp>

#include "agent/rounds.hpp"

namespace stategraph::agent {

namespace {

using checkpoint::WriteKind;
using stategraph::detail::Op;
using stategraph::detail::Schema;
using stategraph::detail::TaskResult;
using stategraph::detail::Writes;

struct StoredWrite {
    std::string channel = {};
    std::int64_t kind = 0;
    Value value = {};
    static constexpr auto fields() {
        return stategraph::fields(field("channel", &StoredWrite::channel), field("kind", &StoredWrite::kind),
                                  field("value", &StoredWrite::value, defaulted));
    }
    bool isSet() const noexcept { return kind == static_cast<std::int64_t>(WriteKind::set); }
};
struct StoredTarget {
    std::string node = {};
    std::optional<Value> payload = {};
    static constexpr auto fields() {
        return stategraph::fields(field("node", &StoredTarget::node), field("payload", &StoredTarget::payload));
    }
};
struct StoredCommand {
    std::string tool = {};
    std::string call_id = {};
    std::vector<StoredWrite> update = {};
    std::vector<StoredTarget> go_to = {};
    bool to_parent = false;
    static constexpr auto fields() {
        return stategraph::fields(field("tool", &StoredCommand::tool, defaulted),
                                  field("call_id", &StoredCommand::call_id, defaulted),
                                  field("update", &StoredCommand::update), field("go_to", &StoredCommand::go_to),
                                  field("to_parent", &StoredCommand::to_parent));
    }
};
/// The result of a call with its Command.
struct StoredResult {
    Value output = {};
    StoredCommand command = {};
    static constexpr auto fields() {
        return stategraph::fields(field("output", &StoredResult::output), field("command", &StoredResult::command));
    }
};

/// Bytes: what a person gives as the result of a call in doubt is JSON, which has none, and so leads nowhere.
Value returnedAs(const StoredResult& result) {
    const Value whole(result);
    const auto* const begin = reinterpret_cast<const std::byte*>(whole.bytes().data());
    return Value(std::vector<std::byte>(begin, begin + whole.bytes().size()));
}

Value encoded(const auto& write) {
    std::string bytes;
    Encoder out(bytes);
    write(out);
    return Value::fromCbor(std::move(bytes));
}

void restore(const StoredWrite& stored, const Schema& schema, Writes& writes) {
    const auto* const channel = schema.find(stored.channel);
    if (channel == nullptr)
        throw InvalidUpdateError("a stored Command of a tool writes the channel '" + stored.channel +
                                     "', which the state does not have any more",
                                 {.channel = stored.channel});
    const auto kind = static_cast<WriteKind>(stored.kind);
    if (kind == WriteKind::clear) return writes.addClear(channel->index);
    Decoder in(stored.value.bytes());
    channel->behaviour->decodeWrite(*channel, kind, in, writes);
}

/// Adds the writes of a later Command. A channel without a reducer takes one value, which is then that of the last.
void join(std::vector<StoredWrite>& writes, std::vector<StoredWrite>&& later) {
    std::erase_if(writes, [&](const StoredWrite& before) {
        return before.isSet() && std::ranges::any_of(later, [&](const StoredWrite& each) {
                   return each.isSet() && each.channel == before.channel;
               });
    });
    std::ranges::move(later, std::back_inserter(writes));
}

void join(std::vector<StoredTarget>& targets, std::vector<StoredTarget>&& later) {
    for (StoredTarget& each : later) {
        const bool is_there = !each.payload && std::ranges::any_of(targets, [&](const StoredTarget& before) {
            return !before.payload && before.node == each.node;
        });
        if (!is_there) targets.push_back(std::move(each));
    }
}

/// Writes what the graph around the agent gets when the agent is left, as of a subgraph that has ended. Null: that
/// graph's state is not known here, so it must have the messages.
void giveOut(const State& state, const Schema* parent, Writes& writes) {
    const Schema& own = stategraph::detail::schemaOf<State>();
    const auto give = [&](const char* name) {
        const auto* const from = own.find(name);
        const auto* const to = parent != nullptr ? parent->find(name) : from;
        if (to == nullptr || to->type != from->type) return;
        to->behaviour->write(*to, own.value(static_cast<const void*>(&state), *from), writes);
    };
    give("messages");
    if (parent != nullptr) give("usage");
}

/// The Commands of a round as one, for one graph.
struct Joined {
    std::vector<StoredWrite> update = {};
    std::vector<StoredTarget> go_to = {};
    const Schema* state = nullptr;
};

Joined joined(const detail::Plan& plan, std::vector<StoredCommand>&& commands, bool to_parent) {
    Joined all;
    for (StoredCommand& each : commands) {
        if (each.to_parent != to_parent) continue;
        const Tool* const tool = plan.find(each.tool);
        if (tool == nullptr || !tool->commands.is_given)
            throw InvalidUpdateError("a call of the tool '" + each.tool +
                                     "' returned a Command that is to be followed, and the agent has no such tool any "
                                     "more; give the agent the tool again, or give the thread a new input");
        const Schema* const state = tool->commands.state ? &tool->commands.state() : nullptr;
        if (state != nullptr && all.state != nullptr && state != all.state)
            throw InvalidUpdateError(
                "the tools of one round returned Commands with updates of different states, the "
                "last of them '" +
                each.tool + "'; return Commands of the state of the graph that they are for");
        if (state != nullptr) all.state = state;
        join(all.update, std::move(each.update));
        join(all.go_to, std::move(each.go_to));
    }
    return all;
}

}  // namespace

Value detail::withCommand(Value output, Writes& writes, const Targets& go_to, CommandGraph graph, const Schema* state,
                          bool has_answers) {
    if (has_answers)
        throw InvalidArgumentError(
            "a tool returned a Command with answers; the Command of a tool has an update and targets");
    StoredResult result{.output = std::move(output)};
    result.command.to_parent = graph == CommandGraph::parent;
    for (const Op& op : writes) {
        StoredWrite& stored = result.command.update.emplace_back();
        stored.channel = state->channel(op.channel).name;
        stored.kind = static_cast<std::int64_t>(op.kind);
        if (op.type != nullptr)
            stored.value = encoded([&](Encoder& out) { stategraph::detail::encodeWriteValue(op, out); });
    }
    for (const Target& target : go_to) {
        StoredTarget& stored = result.command.go_to.emplace_back(target.node());
        if (target.isSend()) stored.payload = encoded([&](Encoder& out) { target.payload().encode(out); });
    }
    return returnedAs(result);
}

Value detail::withRecordedCommand(Value output, const Value& command) {
    return returnedAs({std::move(output), command.as<StoredCommand>()});
}

std::string detail::calledBy(const Value& command) { return command.as<StoredCommand>().call_id; }

Tool detail::handOffTool(std::string node, ToolOptions&& options) {
    if (options.description.empty()) options.description = "Hands the conversation over to '" + node + "'.";
    Tool made = describedTool("transfer_to_" + node, std::move(options), {});
    made.is_effect = false;
    return made;
}

detail::Returned detail::takeApart(const Tool& tool, const std::string& call_id, Value returned) {
    if (!tool.commands.is_given) return {std::move(returned)};
    try {
        const auto bytes = returned.as<std::vector<std::byte>>();
        auto result =
            Value::fromCbor(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())).as<StoredResult>();
        result.command.tool = tool.name();
        result.command.call_id = call_id;
        return {std::move(result.output), Value(result.command)};
    } catch (const WrongTypeError&) {
        return {std::move(returned)};  // of a person who was asked (OnDoubt::ask)
    }
}

void detail::follow(const Plan& plan, const State& state, Runtime& runtime, TaskResult& result) {
    std::vector<StoredCommand> commands;
    for (const Value& each : state.commands) commands.push_back(each.as<StoredCommand>());
    const Schema& own = stategraph::detail::schemaOf<State>();
    result.to_parent = std::ranges::any_of(commands, &StoredCommand::to_parent);
    Joined all = joined(plan, std::move(commands), result.to_parent);
    const Schema& written = all.state != nullptr ? *all.state : own;
    result.writes.clear();
    if (result.to_parent) {
        giveOut(state, all.state, result.writes);
        if (all.state != nullptr) result.written = all.state;
    } else if (&written != &own) {
        throw InvalidUpdateError(
            "a tool returned a Command with an update of another state than the agent's; give it "
            "graph = PARENT");
    }
    for (const StoredWrite& each : all.update) restore(each, written, result.writes);
    const auto isEnd = [](const StoredTarget& target) { return target.node == END; };
    const bool is_end = !result.to_parent && std::ranges::any_of(all.go_to, isEnd);
    result.go_to.clear();
    if (is_end) {
        result.writes.add<std::string>(own.find("stop_reason")->index, WriteKind::set, std::string("command"));
        if (!lookForMessages(plan, state, runtime).messages.empty()) result.go_to.emplace_back(begin_node);
    }
    for (StoredTarget& each : all.go_to) {
        if (each.payload) {
            result.go_to.emplace_back(Send(std::move(each.node), std::move(*each.payload)));
        } else {
            result.go_to.emplace_back(std::move(each.node));
        }
    }
    if (!result.to_parent && all.go_to.empty()) result.go_to.emplace_back(model_node);
}

}  // namespace stategraph::agent
