#pragma once
#include <cstdint>
#include <span>
#include <vector>

// Answers questions about directed graphs with numbered vertices.
namespace stategraph::engine {

struct Arc {
    std::uint32_t from;
    std::uint32_t to;
};

struct Reachability {
    std::vector<bool> from_roots;  // by vertex: whether it can be reached from a root
    std::vector<bool> to_exits;    // by vertex: whether it leads to an exit
    /// The vertices of each set of connected cycles that leads to no exit, in ascending order. The sets are sorted by
    /// their first vertex.
    std::vector<std::vector<std::uint32_t>> dead_cycles;
};

/// Cost: linear in vertices and arcs. Every number must be less than `vertices`.
Reachability analyse(std::uint32_t vertices, std::span<const Arc> arcs, std::span<const std::uint32_t> roots,
                     std::span<const std::uint32_t> exits);

}  // namespace stategraph::engine
