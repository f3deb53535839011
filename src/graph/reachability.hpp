#pragma once
#include <cstdint>
#include <span>
#include <vector>

// Questions about directed graphs of numbered vertices.
namespace stategraph::engine {

struct Arc {
    std::uint32_t from;
    std::uint32_t to;
};

struct Reachability {
    std::vector<bool> from_roots;  // by vertex: some root leads there
    std::vector<bool> to_exits;    // by vertex: it leads to some exit
    /// The vertices of each knot of cycles that leads to no exit, ascending; the knots by their first vertex.
    std::vector<std::vector<std::uint32_t>> dead_cycles;
};

/// Cost: linear in vertices and arcs. Every number must be less than `vertices`.
Reachability analyse(std::uint32_t vertices, std::span<const Arc> arcs, std::span<const std::uint32_t> roots,
                     std::span<const std::uint32_t> exits);

}  // namespace stategraph::engine
