#include "src/commit/task_record.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/commit/ids.hpp"
#include "src/graph/core.hpp"

namespace stategraph::engine {

using checkpoint::WriteKind;
using detail::Op;

std::string pathOf(const Topology& topology, const PlannedTask& task) {
    return task.is_send ? checkpoint::pushPath(task.send) : checkpoint::pullPath(topology.nodes[task.node].stored_name);
}

void prepareWrites(const detail::Schema& schema, detail::Writes& writes, const TaskId& task) {
    std::size_t index = 0;
    for (Op& op : writes) {
        const auto& channel = schema.channel(op.channel);
        if (channel.behaviour->prepare != nullptr) channel.behaviour->prepare(channel, op, task, index);
        ++index;
    }
}

void prepareInput(const detail::Core& core, Schedule& schedule, const LogName& log, CheckpointId checkpoint_id,
                  std::int64_t step) {
    if (!schedule.has_input || !core.preparesWrites()) return;
    const std::string& start = core.topology().nodes[core.topology().start].stored_name;
    prepareWrites(core.schema(), schedule.input,
                  makeTaskId({checkpoint_id, log.checkpoint_ns, step + 1, start, checkpoint::pullPath(start)}));
}

std::string encodeWriteList(const detail::Schema& schema, detail::Writes& writes, const std::string* before,
                            std::size_t count_before) {
    const auto tracked = [&schema](const Op& op) { return isStored(schema.channel(op.channel).kind); };
    std::size_t count = count_before;
    for (const Op& op : writes) count += tracked(op);
    constexpr std::size_t most_are_shorter = 192;
    std::string list;
    list.reserve(before != nullptr ? before->size() + most_are_shorter : most_are_shorter);
    Encoder out(list);
    out.array(count);
    if (before != nullptr) out.raw(*before);
    for (const Op& op : writes) {
        if (tracked(op)) detail::encodeWrite(schema.channel(op.channel), op, out);
    }
    return list;
}

void encodePayload(const Topology& topology, const PendingSend& send, Encoder& out) {
    if (!send.stored.empty()) return out.raw(send.stored);
    const std::size_t start = out.out().size();
    const std::uint32_t before = out.shallowBytes();
    send.payload.encode(out);
    const std::uint32_t shallow = out.shallowBytes() > before ? out.shallowBytes() - before : 0;
    if (!detail::isTooDeep(std::string_view(out.out()).substr(start), 0, shallow)) return;
    const std::string& node = topology.nodes[send.node].name;
    throw InvalidUpdateError("the payload of a Send to node '" + node + "' is " + detail::tooDeepText(),
                             {.node = node});
}

std::vector<std::string> addRoutes(const Topology& topology, const Routes& routes, checkpoint::TaskFields& fields) {
    for (const NodeIndex node : routes.to) fields.to.push_back(topology.nodes[node].stored_name);
    std::vector<std::string> payloads;
    payloads.reserve(routes.sends.size());
    for (const PendingSend& send : routes.sends) {
        std::string& payload = payloads.emplace_back();
        Encoder out(payload);
        encodePayload(topology, send, out);
        fields.sends.push_back({topology.nodes[send.node].stored_name, payload});
    }
    return payloads;
}

namespace {

// Returns whether the operation on a channel is the write itself, if it is the channel's only write.
bool isOperation(const detail::ChannelSpec& channel, const Op& op) {
    if (folds(channel.kind))
        return op.kind == WriteKind::add && (channel.reducer == "append" || channel.reducer == "merge");
    return op.kind == WriteKind::set || op.kind == WriteKind::write;
}

/// Finds the channels that are written more than once. A few writes are compared with each other, without allocating.
class Repeated {
public:
    Repeated(const detail::Schema& schema, detail::Writes& writes) : writes_(writes) {
        for ([[maybe_unused]] const Op& op : writes) ++count_;
        if (count_ <= few) return;
        detail::ChannelSet seen(schema.size());
        twice_ = detail::ChannelSet(schema.size());
        for (const Op& op : writes) (seen.test(op.channel) ? twice_ : seen).set(op.channel);
    }
    bool has(const Op& op) const {
        if (count_ > few) return twice_.test(op.channel);
        for (const Op& other : writes_) {
            if (&other != &op && other.channel == op.channel) return true;
        }
        return false;
    }

private:
    static constexpr std::size_t few = 8;
    detail::Writes& writes_;
    std::size_t count_ = 0;
    detail::ChannelSet twice_;
};

}  // namespace

void encodeCommitWrites(const detail::Schema& schema, detail::Writes& writes, bool is_snapshot, std::string& list,
                        detail::EncodedItems& items, std::vector<std::uint32_t>& sizes) {
    list.clear();
    items.clear();
    sizes.clear();
    if (is_snapshot) {
        list = encodeWriteList(schema, writes);
        return;
    }
    const Repeated repeated(schema, writes);
    bool all_said = true;
    std::size_t count = 0;
    for (const Op& op : writes) {
        const auto& channel = schema.channel(op.channel);
        if (!isStored(channel.kind)) continue;
        ++count;
        all_said = all_said && isOperation(channel, op) && !repeated.has(op);
    }
    if (all_said) return;
    Encoder out(list);
    out.array(count);
    for (const Op& op : writes) {
        const auto& channel = schema.channel(op.channel);
        if (!isStored(channel.kind)) continue;
        const std::size_t start = list.size();
        if (isOperation(channel, op) && !repeated.has(op)) {
            out.array(1);
            out.text(channel.name);
        } else {
            // After the head of a list with one item.
            const std::size_t begin = detail::encodeWrite(channel, op, out) + 1;
            if (op.is_item) items.add(op, begin, list.size() - begin);
        }
        sizes.push_back(static_cast<std::uint32_t>(list.size() - start));
    }
}

}  // namespace stategraph::engine
