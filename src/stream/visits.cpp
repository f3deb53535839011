#include "src/stream/visits.hpp"

#include <algorithm>

#include <stategraph/graph_description.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/visit.hpp"
#include "src/graph/core.hpp"
#include "src/graph/namespaces.hpp"

namespace stategraph::stream {
namespace {

constexpr std::string_view result_suffix = ":result";

std::string below(std::string_view log, std::string_view name) {
    std::string ns(log);
    if (!ns.empty()) ns += '|';
    ns += name;
    return ns;
}

// What the graph around knows of a node.
struct NodeOfTask {
    bool may_visit = true;             // the node is a graph, or may be one
    bool may_live_with_thread = true;  // the logs of that graph
    bool may_live_for_task = true;
    std::shared_ptr<const detail::Core> inner;  // null: it is not known
};

NodeOfTask nodeOf(const CommitEvents& around, std::string_view stored_name) {
    NodeOfTask node;
    if (const detail::Core* const core = around.log().core.get()) {
        const engine::Topology& topology = core->topology();
        const engine::NodeIndex index = topology.findStored(stored_name);
        if (index == engine::no_node) return node;  // the program has changed
        node.may_visit = topology.nodes[index].subgraph.has_value();
        if (!node.may_visit) return node;
        node.inner = topology.nodes[index].subgraph->spec.core;
        node.may_visit = node.inner->options().checkpointer.kind() != detail::CheckpointerKind::none;
        node.may_live_with_thread = engine::livesWithThread(*node.inner);
        node.may_live_for_task = !node.may_live_with_thread;
    } else if (const GraphDescription* const graph = around.description()) {
        const DescribedNode* const described = graph->findStored(stored_name);
        node.may_visit = described == nullptr || described->subgraph.has_value();
    }
    return node;
}

bool isLogOf(std::string_view log, std::string_view node) noexcept {
    if (!log.starts_with(node)) return false;
    log.remove_prefix(node.size());
    return log.empty() || log.starts_with(":=");
}

void addOwn(const CommitEvents& around, const engine::DueTask& due, const TaskSnapshot& task,
            const checkpoint::CommitFields& commit, CheckpointId before, StreamPosition::Inside place,
            bool is_first_of_node, std::vector<Visit>& visits) {
    const NodeOfTask node = nodeOf(around, due.name);
    if (!node.may_visit) return;
    const std::string ns = below(around.log().ns, due.name);
    if (node.may_live_for_task)
        visits.push_back({.log = {node.inner, ns + ':' + task.id.toString()}, .place = place, .end = {}});
    if (!node.may_live_with_thread || !is_first_of_node) return;
    for (const checkpoint::LoggedVisit& visit : commit.visits) {
        // A visit is later than what it was made from; a whole commit names others too.
        if (visit.id < before || !isLogOf(visit.log, due.name)) continue;
        visits.push_back({.log = {node.inner, below(around.log().ns, visit.log)}, .place = place, .end = visit.id});
        place.visit += 2;
    }
}

}  // namespace

EndedCalls::EndedCalls(BaseCheckpointSaver& saver, const ThreadId& thread_id, const ListedCheckpoint& root)
    : saver_(saver), thread_id_(thread_id) {
    for (const StoredWrite& write : root.writes) {
        if (write.path.starts_with(checkpoint::effect_prefix) && write.path.ends_with(result_suffix))
            results_.insert(write.path);
    }
}

void EndedCalls::addBelow(const std::string& prefix, TaskId caller, std::vector<std::string>& found) const {
    for (auto at = std::lower_bound(logs_->begin(), logs_->end(), prefix); at != logs_->end(); ++at) {
        if (!at->starts_with(prefix)) return;
        const std::string_view key = std::string_view(*at).substr(prefix.size());
        if (key.find('|') != std::string_view::npos) continue;
        const TaskId call = engine::idOfCall(caller, engine::namespaceKey(key));
        if (results_.contains(checkpoint::effectPath(call, "result"))) found.push_back(*at);
    }
}

std::vector<std::string> EndedCalls::of(std::string_view log, std::string_view name, TaskId task) {
    std::vector<std::string> found;
    if (results_.empty()) return found;
    if (!logs_) {
        std::vector<std::string> logs;
        for (ListedCheckpoint& head : saver_.list({.thread_id = thread_id_.toString(), .heads = true})) {
            if (engine::isOfCall(head.checkpoint_ns)) logs.push_back(std::move(head.checkpoint_ns));
        }
        std::sort(logs.begin(), logs.end());
        logs_ = std::move(logs);
    }
    const TaskId handler = engine::idOfCall(task, {});  // as its error handler calls itself
    for (const TaskId caller : {task, handler})
        addBelow(below(log, name) + ':' + caller.toString() + ':', caller, found);
    return found;
}

std::vector<Visit> findVisits(const CommitEvents& around, const LedTo& led, const checkpoint::CommitFields& commit,
                              EndedCalls& calls) {
    std::vector<Visit> visits;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < led.due.size(); ++i) {
        const engine::DueTask& due = led.due[i];
        if (due.name == start_name) continue;
        const auto first = static_cast<std::ptrdiff_t>(visits.size());
        const auto number = static_cast<std::uint32_t>(i);
        addOwn(around, due, led.tasks[i], commit, led.row.id, {.task = number}, seen.insert(due.name).second, visits);
        std::uint32_t visit = 1;
        for (std::string& log : calls.of(around.log().ns, due.name, led.tasks[i].id)) {
            visits.push_back({.log = {nullptr, std::move(log)}, .place = {.task = number, .visit = visit}, .end = {}});
            visit += 2;
        }
        std::stable_sort(visits.begin() + first, visits.end(),
                         [](const Visit& a, const Visit& b) { return a.place < b.place; });
    }
    return visits;
}

}  // namespace stategraph::stream
