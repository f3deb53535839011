#include "src/graph/core.hpp"

#include <algorithm>

#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>

#include "src/graph/core_view.hpp"
#include "src/graph/names.hpp"

namespace stategraph::engine {

Breakpoints::Breakpoints(const Topology& topology, const std::vector<std::string>& names) {
    for (const auto& name : names) {
        if (name == "*") {
            all = true;
            continue;
        }
        const NodeIndex node = topology.find(name);
        if (node == no_node || node == topology.start) {
            std::vector<std::string_view> known;
            for (const Node& each : topology.nodes) known.push_back(each.name);
            throw InvalidArgumentError("interrupt_before or interrupt_after names '" + name +
                                           "', and there is no such node; " + adviceOn(name, known),
                                       {.node = name});
        }
        nodes.resize(topology.nodes.size());
        nodes[node] = true;
    }
}

bool livesWithThread(const detail::Core& subgraph) noexcept {
    return subgraph.options().checkpointer.kind() == detail::CheckpointerKind::per_thread;
}

bool hasKeys(const Node& node) noexcept {
    return node.subgraph && !node.subgraph->spec.core->options().checkpointer.logKey().empty();
}

CoreView viewOf(const detail::Core& core) { return {&core.schema(), core.spec().input, core.spec().output}; }

}  // namespace stategraph::engine

namespace stategraph::detail {

void refuseMovedGraph() {
    throw InvalidArgumentError(
        "the CompiledGraph was moved from, so there is nothing to run or read; use the object that it was moved to, or "
        "copy it instead (a copy is cheap)");
}

Core::Core(GraphSpec spec, const CompileOptions& options)
    : spec_(std::move(spec)),
      options_(options),
      topology_(engine::buildTopology(spec_, options_)),
      before_(topology_, options_.interrupt_before.names()),
      after_(topology_, options_.interrupt_after.names()),
      input_(spec_.state->size()),
      output_(spec_.state->size()) {
    const WarmThreads& warm = options_.warm_threads;
    if (warm.idle_max < std::chrono::milliseconds(1))
        throw InvalidGraphError({"warm_threads.idle_max must be at least 1 ms"});
    if (warm.bytes_max > 0) warm_threads_ = std::make_unique<engine::WarmCache>(warm);
    for (const ChannelIndex channel : spec_.input) input_.set(channel);
    for (const ChannelIndex channel : spec_.output) output_.set(channel);
    for (const ChannelSpec& channel : spec_.state->channels())
        prepares_writes_ = prepares_writes_ || channel.behaviour->prepare != nullptr;
    measures_ = options_.durations && ids().steady() != std::chrono::steady_clock::time_point();
}

Core::~Core() = default;

Executor& Core::executor() const { return options_.executor ? *options_.executor : *Executor::common(); }
IdSource& Core::ids() const { return options_.ids ? *options_.ids : IdSource::system(); }

std::shared_ptr<const Core> compileGraph(GraphSpec graph, const CompileOptions& options) {
    return std::make_shared<const Core>(std::move(graph), options);
}

WarmThreadStats warmThreadStats(const Core& core) {
    return core.warmThreads() != nullptr ? core.warmThreads()->stats() : WarmThreadStats();
}

const GraphSpec& specOf(const Core& core) { return core.spec(); }

}  // namespace stategraph::detail
