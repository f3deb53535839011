#pragma once
#include <cstddef>
#include <cstdint>

#include <stategraph/detail/chrono.hpp>

// States of threads that stay in memory between runs (CompileOptions::warm_threads).
namespace stategraph {

/// Which threads a compiled graph keeps in memory when their runs have ended, so that the next run begins with what is
/// there instead of reading the thread. Recommended for servers. A run makes sure that the thread is still where it was
/// left: what another process or another graph did to it meanwhile is read as ever.
struct WarmThreads {
    /// All kept states together, by what they take in the log and some 600 bytes for each; 0: none is kept. In memory
    /// a state may take twice as much. One that is larger than a quarter of it is not kept.
    std::size_t bytes_max = 0;
    /// One that no run has used for so long is dropped when another run begins or ends; at least 1 ms.
    std::chrono::milliseconds idle_max = std::chrono::minutes(10);
};

/// How much they were used (CompiledGraph::warmThreadStats).
struct WarmThreadStats {
    std::size_t threads = 0;      // that are kept
    std::size_t bytes = 0;        // theirs, as in WarmThreads::bytes_max
    std::uint64_t hits = 0;       // runs that began with one
    std::uint64_t misses = 0;     // runs that read their thread, which had none or one that was not its newest any more
    std::uint64_t evictions = 0;  // states that were dropped for their size or age
};

}  // namespace stategraph
