#include "src/graph/node_faults.hpp"

#include <chrono>
#include <utility>

#include <stategraph/detail/utf8.hpp>

#include "src/graph/names.hpp"
#include "src/graph/policies.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {
namespace {

void checkCache(const detail::GraphSpec& graph, const detail::NodeSpec& node, std::vector<std::string>& faults) {
    const CachePolicy& cache = cacheOf(node, graph);
    if (cache.use != CacheUse::on) return;
    const std::string where = "node " + inQuotes(node.name) + ": cache.";
    if (cache.ttl && cache.ttl->count() < 1)
        faults.push_back(where + "ttl is " + times::textOf(*cache.ttl) + ", but must be at least 1 ms");
    if (cache.key.empty() || takesInputOf(node, cache.key.input())) return;
    if (node.subgraph && cache.key.input().type == graph.state->state().type) return;
    faults.push_back(where + "key takes another type than the node" +
                     (node.subgraph ? ", a subgraph; let it take the state" : "; let it take what the node takes"));
}

}  // namespace

std::vector<std::string> nodeFaults(const detail::GraphSpec& graph, std::size_t index) {
    std::vector<std::string> faults;
    const auto fault = [&](std::string text) { faults.push_back(std::move(text)); };
    const detail::NodeSpec& node = graph.nodes[index];
    const std::string name = inQuotes(node.name);
    if (node.name.empty()) fault("the node added as number " + std::to_string(index + 1) + " has no name; give it one");
    if (node.name.starts_with("__")) {
        fault("node " + name + ": names that begin with \"__\" are reserved; choose another");
    }
    if (node.name.find_first_of("|:") != std::string::npos) {
        fault("node " + name + ": a name cannot contain '|' or ':', which separate namespaces; choose another");
    }
    if (node.name == "*")
        fault("node '*': in interrupt_before and interrupt_after this is every node; choose another name");
    if (!detail::isUtf8(node.name)) {
        fault("node " + name + ": a name must be UTF-8, so that it can be stored; choose another");
    }
    if (node.subgraph && node.subgraph->core == nullptr) {
        fault("node " + name + ": its subgraph is not compiled; add what compile() returned");
    }
    if (node.subgraph && (node.timeout || node.idle_timeout)) {
        fault("node " + name + " is a subgraph and has a timeout; give timeouts to the nodes in it");
    }
    constexpr std::chrono::milliseconds least(1);
    if (node.timeout.value_or(least) < least || node.idle_timeout.value_or(least) < least) {
        fault("node " + name + " has a timeout below 1 ms; leave it out for none");
    }
    if (node.max_concurrency.value_or(1) < 1) {
        fault("node " + name + ": max_concurrency is " + std::to_string(*node.max_concurrency) +
              ", but must be at least 1; leave it out for no limit");
    }
    if (!node.subgraph && node.action.call == nullptr) {
        fault("node " + name + " has neither a function nor a subgraph; add it with one");
    }
    for (std::string& each : faultsOf(node.retry, "node " + name + ": retry.")) fault(std::move(each));
    checkCache(graph, node, faults);
    return faults;
}

}  // namespace stategraph::engine
