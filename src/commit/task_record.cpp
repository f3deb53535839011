#include "src/commit/task_record.hpp"

#include <algorithm>

#include "src/graph/core.hpp"

namespace stategraph::engine {

using checkpoint::WriteKind;
using detail::ChannelKind;
using detail::Op;

std::string pathOf(const Topology& topology, const PlannedTask& task) {
    return task.is_send ? checkpoint::pushPath(task.send) : checkpoint::pullPath(topology.nodes[task.node].stored_name);
}

std::string innerNamespace(std::string_view outer, const Node& node, TaskId task) {
    std::string ns(outer);
    if (!ns.empty()) ns += '|';
    ns += node.stored_name;
    if (node.subgraph->spec.core->options().checkpointer != detail::CheckpointerKind::per_thread) ns += ':' + task.toString();
    return ns;
}

std::string encodeWriteList(const detail::Schema& schema, detail::Writes& writes, const std::string* before,
                            std::size_t count_before) {
    const auto tracked = [&schema](const Op& op) { return schema.channel(op.channel).kind != ChannelKind::untracked; };
    std::size_t count = count_before;
    for (const Op& op : writes) count += tracked(op);
    std::string list;
    Encoder out(list);
    out.array(count);
    if (before != nullptr) out.raw(*before);
    for (const Op& op : writes) {
        if (tracked(op)) detail::encodeWrite(schema.channel(op.channel), op, out);
    }
    return list;
}

std::vector<std::string> addRoutes(const Topology& topology, const Routes& routes, checkpoint::TaskFields& fields) {
    for (const NodeIndex node : routes.to) fields.to.push_back(topology.nodes[node].stored_name);
    std::vector<std::string> payloads;
    payloads.reserve(routes.sends.size());
    for (const PendingSend& send : routes.sends) {
        std::string& payload = payloads.emplace_back(send.stored);
        if (payload.empty()) {
            Encoder out(payload);
            send.payload.encode(out);
        }
        fields.sends.push_back({topology.nodes[send.node].stored_name, payload});
    }
    return payloads;
}

bool operationsSayWrites(const detail::Schema& schema, detail::Writes& writes) {
    detail::ChannelIndex seen[8];
    std::size_t count = 0;
    for (const Op& op : writes) {
        const auto& channel = schema.channel(op.channel);
        if (channel.kind == ChannelKind::untracked) continue;
        const bool keeps = channel.kind != ChannelKind::reduced && channel.kind != ChannelKind::topic;
        const bool same = keeps ? op.kind == WriteKind::set || op.kind == WriteKind::write
                                : op.kind == WriteKind::add && (channel.reducer == "append" || channel.reducer == "merge");
        if (!same || count == std::size(seen) || std::find(seen, seen + count, op.channel) != seen + count) return false;
        seen[count++] = op.channel;
    }
    return true;
}

}  // namespace stategraph::engine
