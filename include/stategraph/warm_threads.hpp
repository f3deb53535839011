#pragma once
#include <cstddef>
#include <cstdint>

#include <stategraph/detail/chrono.hpp>

// States of threads that stay in memory between runs (CompileOptions::warm_threads).
namespace stategraph {

/// Which threads a compiled graph keeps in memory when their runs have ended, so that the next run begins with this
/// state instead of reading the thread. Recommended for servers. A run makes sure that the thread is still where it was
/// left: what another process or another graph did to it meanwhile is read as ever.
struct WarmThreads {
    /// The limit for all kept states together, each counted with its size in the log and about 600 bytes; 0: none is
    /// kept. In memory a state may take twice as much. A state that is larger than a quarter of the limit is not kept.
    std::size_t bytes_max = 0;
    /// A state that no run has used for this long is dropped when another run begins or ends; at least 1 ms.
    std::chrono::milliseconds idle_max = std::chrono::minutes(10);
};

/// How the kept states were used (CompiledGraph::warmThreadStats).
struct WarmThreadStats {
    std::size_t threads = 0;  // threads whose states are kept
    std::size_t bytes = 0;    // the size of these states, as in WarmThreads::bytes_max
    std::uint64_t hits = 0;   // runs that began with a kept state
    // Runs that read their thread, because no state was kept or because it was no longer the newest.
    std::uint64_t misses = 0;
    std::uint64_t evictions = 0;  // states that were dropped because of their size or age
};

}  // namespace stategraph
