#pragma once
#include <optional>
#include <string>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// A thread that a graph cannot resume, and the first reason met.
struct IncompatibleThread {
    std::string thread_id;
    /// The checkpoint, and the namespace of its log: "", or that of a subgraph that is due.
    CheckpointId checkpoint_id;
    std::string checkpoint_ns;
    /// What it is about, as far as it is about one.
    std::string node;
    std::string channel;
    /// The message of the error that a run with RESUME throws.
    std::string why;
};

struct CompatibilityOptions {
    /// Only this thread; none: all.
    std::optional<std::string> thread_id = {};
};

namespace detail {
std::vector<IncompatibleThread> checkThreads(BaseCheckpointSaver& saver, const Core& core,
                                             const CompatibilityOptions& options);
}  // namespace detail

/// Which stored threads RESUME would refuse with this graph, before a new version of a program meets them: nodes that
/// are due and gone, stored channels of another type, results of finished tasks that nothing can take. It is decided by
/// what a run itself asks before it writes. Subgraphs that are due are looked into. Nothing runs and nothing is stored.
/// Safe while runs are under way: each thread is seen as it is at one moment. Errors: SaverError. Cost: reads the
/// newest state of every thread, a page of threads in memory at a time.
template <class S, class Input, class Output>
std::vector<IncompatibleThread> checkCompatibility(BaseCheckpointSaver& saver,
                                                   const CompiledGraph<S, Input, Output>& graph,
                                                   const CompatibilityOptions& options = {}) {
    return detail::checkThreads(saver, *graph.core(), options);
}

}  // namespace stategraph
