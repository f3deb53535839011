#include "src/graph/policies.hpp"

#include <cmath>
#include <cstdio>

#include <stategraph/cache.hpp>
#include <stategraph/config.hpp>
#include <stategraph/error.hpp>

#include "src/graph/core.hpp"
#include "src/value/bytes.hpp"

namespace stategraph::engine {
namespace {

std::string cacheNamespace(const Topology& topology, const Node& node, const std::string& ns) {
    return detail::hexOf(topology.fingerprint) + '|' + node.stored_name + '|' + ns;  // no node's name contains '|'
}

std::string numberText(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}

void addFaults(const RetryPolicy& retry, const std::string& where, std::vector<std::string>& faults) {
    const auto check = [&](const char* option, double value, double least, const char* unit) {
        // The condition is written so that a NaN fails too.
        if (value >= least && std::isfinite(value)) return;
        faults.push_back(where + option + " is " + numberText(value) + unit + ", but must be a number of at least " +
                         numberText(least) + unit);
    };
    check("max_attempts", retry.max_attempts, 1, "");
    check("initial_interval", retry.initial_interval.count(), 0, " ms");
    check("backoff_factor", retry.backoff_factor, 1, "");
    check("max_interval", retry.max_interval.count(), 0, " ms");
    if (!retry.retry_on.isGiven())
        faults.push_back(where + "retry_on is null; give it a function, such as sg::isRetryable");
    for (std::size_t i = 0; i < retry.otherwise.size(); ++i)
        addFaults(retry.otherwise[i], where + "otherwise[" + std::to_string(i) + "].", faults);
}

}  // namespace

std::vector<std::string> faultsOf(const RetryPolicy& retry, const std::string& where) {
    std::vector<std::string> faults;
    addFaults(retry, where, faults);
    return faults;
}

const RetryPolicy& retryOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept {
    return node.retry == RetryPolicy{.by_default = true} ? graph.default_retry : node.retry;
}

const CachePolicy& cacheOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept {
    return node.cache.use == CacheUse::by_default ? graph.default_cache : node.cache;
}

const detail::HandlerSpec* handlerOf(const detail::NodeSpec& node, const detail::GraphSpec& graph) noexcept {
    const detail::HandlerSpec* found = nullptr;
    for (const auto& handler : graph.handlers) {
        if (handler.node == node.name) return &handler;
        if (handler.node == "*") found = &handler;
    }
    return found;
}

bool takesInputOf(const detail::NodeSpec& node, const detail::InputType& input) noexcept {
    if (node.subgraph) return false;
    const detail::InputType& own = node.action.input;
    return input.type == own.type ||
           (input.payload != nullptr && own.payload != nullptr && input.payload->type == own.payload->type);
}

void addPolicies(Topology& topology, const detail::GraphSpec& graph) {
    for (const auto& spec : graph.nodes) {
        Node& node = topology.nodes[topology.find(spec.name)];
        node.retry = retryOf(spec, graph);
        const CachePolicy& cache = cacheOf(spec, graph);
        if (cache.use == CacheUse::on) {
            node.cache = NodeCache{.key = cache.key, .ttl = cache.ttl, .ns = cacheNamespace(topology, node, cache.ns)};
        }
        if (const auto* handler = handlerOf(spec, graph)) {
            node.on_error =
                ErrorHandler{.action = handler->action, .takes_state = !takesInputOf(spec, handler->action.input)};
        }
    }
}

}  // namespace stategraph::engine

namespace stategraph::detail {
namespace {

void clearAll(const Core& core, BaseCache* outer) {
    BaseCache* const cache = core.options().cache ? core.options().cache.get() : outer;
    for (const auto& node : core.topology().nodes) {
        if (node.cache && cache != nullptr) cache->clear(node.cache->ns);
        if (node.subgraph) clearAll(*node.subgraph->spec.core, cache);
    }
}

}  // namespace

void clearCache(const Core& core, const NodeNames* nodes) {
    BaseCache* const cache = core.options().cache.get();
    if (cache == nullptr)
        throw InvalidArgumentError("clearCache: the graph was compiled without a cache (CompileOptions::cache)");
    const engine::Topology& topology = core.topology();
    const auto find = [&topology](const std::string& name) {
        const engine::NodeIndex found = topology.find(name);
        if (found == engine::no_node || !topology.nodes[found].cache) {
            throw InvalidArgumentError(
                "clearCache: " +
                    std::string(found == engine::no_node ? "there is no node '" : "nothing is cached of node '") +
                    name + (found == engine::no_node ? "'" : "'; give it a cache policy, or do not name it"),
                {.node = name});
        }
        return found;
    };
    if (nodes == nullptr) {
        clearAll(core, cache);
        return;
    }
    for (const auto& name : nodes->names()) {
        if (name != "*") (void)find(name);  // checks all names before anything is cleared
    }
    for (const auto& name : nodes->names()) {
        if (name != "*") {
            cache->clear(topology.nodes[find(name)].cache->ns);
            continue;
        }
        for (const auto& node : topology.nodes) {
            if (node.cache) cache->clear(node.cache->ns);
        }
    }
}

}  // namespace stategraph::detail
