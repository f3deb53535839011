#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/detail/core.hpp>
#include <stategraph/id_source.hpp>

#include "src/graph/asked_questions.hpp"
#include "src/graph/topology.hpp"
#include "src/graph/warm_cache.hpp"

namespace stategraph::engine {

/// Where a run stops before or after nodes.
struct Breakpoints {
    bool all = false;
    std::vector<bool> nodes;  // by index; empty if there are none

    Breakpoints() = default;
    /// Throws InvalidArgumentError for a name that no node has.
    Breakpoints(const Topology& topology, const std::vector<std::string>& names);
    bool any() const noexcept { return all || !nodes.empty(); }
    bool has(NodeIndex node) const noexcept { return all || (!nodes.empty() && nodes[node]); }
};

/// Returns whether the logs of a subgraph live with the thread (PER_THREAD, perThread), and not only for one task.
bool livesWithThread(const detail::Core& subgraph) noexcept;
/// Returns whether a node is a subgraph whose logs have keys.
bool hasKeys(const Node& node) noexcept;

}  // namespace stategraph::engine

namespace stategraph::detail {

/// A compiled graph. It never changes after its creation, and is shared by its handles, its runs and the graphs in
/// which it is a node.
class Core : public std::enable_shared_from_this<Core> {
public:
    Core(GraphSpec spec, const CompileOptions& options);
    ~Core();

    const GraphSpec& spec() const noexcept { return spec_; }
    const CompileOptions& options() const noexcept { return options_; }
    const Schema& schema() const noexcept { return *spec_.state; }
    const engine::Topology& topology() const noexcept { return topology_; }
    const engine::Breakpoints& before() const noexcept { return before_; }
    const engine::Breakpoints& after() const noexcept { return after_; }
    /// Return whether the graph accepts a channel as input, and returns it.
    bool accepts(ChannelIndex channel) const noexcept { return input_.test(channel); }
    bool returns(ChannelIndex channel) const noexcept { return output_.test(channel); }
    /// Returns whether some channel completes the writes to it by values that depend on the task (Behaviour::prepare).
    bool preparesWrites() const noexcept { return prepares_writes_; }
    Executor& executor() const;
    IdSource& ids() const;
    /// Returns whether durations are measured if something is stored.
    bool measures() const noexcept { return measures_; }
    /// Returns the questions that nodes asked in this process. Safe from several threads.
    engine::AskedQuestions& askedQuestions() const noexcept { return asked_questions_; }
    /// Returns the threads that stay in memory between runs, or null if none do.
    engine::WarmCache* warmThreads() const noexcept { return warm_threads_.get(); }

private:
    GraphSpec spec_;
    CompileOptions options_;
    engine::Topology topology_;
    engine::Breakpoints before_;
    engine::Breakpoints after_;
    ChannelSet input_;
    ChannelSet output_;
    bool prepares_writes_ = false;
    bool measures_ = false;
    mutable engine::AskedQuestions asked_questions_;
    std::unique_ptr<engine::WarmCache> warm_threads_;  // destroyed first, because it has states of the schema
};

}  // namespace stategraph::detail
