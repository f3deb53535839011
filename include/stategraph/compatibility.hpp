#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

struct GraphDescription;  // graph_description.hpp

/// A thread that a graph cannot resume, with the first reason that was found.
struct IncompatibleThread {
    std::string thread_id;
    /// The checkpoint, and the namespace of its log: "", or the namespace of a subgraph that is due.
    CheckpointId checkpoint_id;
    std::string checkpoint_ns;
    /// The node or channel that the reason concerns, if it concerns one.
    std::string node;
    std::string channel;
    /// The message of the error that a run with RESUME throws; by descriptions, a sentence that says the same.
    std::string why;
};

/// Which threads to check.
struct CompatibilityOptions {
    /// Checks only this thread; none: all threads.
    std::optional<std::string> thread_id = {};
    /// By descriptions: also finds threads with channels that the graph does not have, also not as a former name. A run
    /// resumes them, and keeps such values without using them.
    bool lost_channels = false;
};

namespace detail {
std::vector<IncompatibleThread> checkThreads(BaseCheckpointSaver& saver, const Core& core,
                                             const CompatibilityOptions& options);
}  // namespace detail

/// Returns the stored threads that RESUME would refuse with this graph; call it before you deploy a new version of a
/// program. Reasons are: due nodes that no longer exist, stored channels of another type, results of finished tasks
/// that nothing can take. It makes the same checks as a run before its first write, also in subgraphs that are due.
/// Nothing runs and nothing is stored. It may be called while runs are under way: each thread is read as it is at one
/// moment. Errors: SaverError. Cost: reads the newest state of every thread, a page of threads in memory at a time.
template <class S, class Input, class Output>
std::vector<IncompatibleThread> checkCompatibility(BaseCheckpointSaver& saver,
                                                   const CompiledGraph<S, Input, Output>& graph,
                                                   const CompatibilityOptions& options = {}) {
    return detail::checkThreads(saver, *graph.core(), options);
}

/// Does the same without the program, from descriptions of its graph and of the graphs inside it (describeGraphs, in
/// graph_description.hpp); the graph itself comes first. It finds due nodes that no longer exist, nodes that finished
/// tasks lead to, and channels whose values are of another kind than the graph's (DescribedChannel::holds), also in
/// subgraphs that are due and described. What only the program knows, it does not find: types within a kind, such as
/// the members of a map, and types of payloads. Threads that cannot be read are among the found ones. Errors:
/// InvalidArgumentError if `graphs` is empty; SaverError. Cost: reads the newest checkpoints of open threads.
std::vector<IncompatibleThread> checkCompatibility(BaseCheckpointSaver& saver, std::span<const GraphDescription> graphs,
                                                   const CompatibilityOptions& options = {});

}  // namespace stategraph
