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
    std::vector<bool> nodes;  // by index; empty: none

    Breakpoints() = default;
    /// Errors: InvalidArgumentError for a name that is no node's.
    Breakpoints(const Topology& topology, const std::vector<std::string>& names);
    bool any() const noexcept { return all || !nodes.empty(); }
    bool has(NodeIndex node) const noexcept { return all || (!nodes.empty() && nodes[node]); }
};

/// Whether the logs of a subgraph live with the thread (PER_THREAD, perThread), and not for one task.
bool livesWithThread(const detail::Core& subgraph) noexcept;
/// Whether a node is a subgraph whose logs have keys.
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
    /// Whether the graph takes, and returns, a channel.
    bool accepts(ChannelIndex channel) const noexcept { return input_.test(channel); }
    bool returns(ChannelIndex channel) const noexcept { return output_.test(channel); }
    /// Whether a task's writes to some channel are completed by what depends on the task (Behaviour::prepare).
    bool preparesWrites() const noexcept { return prepares_writes_; }
    Executor& executor() const;
    IdSource& ids() const;
    /// Whether durations are measured where something is stored.
    bool measures() const noexcept { return measures_; }
    /// The questions of nodes in this process. Safe from several threads.
    engine::AskedQuestions& askedQuestions() const noexcept { return asked_questions_; }
    /// Threads that stay in memory between runs; null: none do.
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
    std::unique_ptr<engine::WarmCache> warm_threads_;  // goes first: it has states of the schema
};

}  // namespace stategraph::detail
