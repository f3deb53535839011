#pragma once
#include <compare>
#include <cstdint>

namespace stategraph {

/// Identifies the version of a graph that created a commit: hashes of its nodes and edges, and of its channels. Equal
/// graphs have equal fingerprints in every process.
struct GraphFingerprint {
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    friend constexpr auto operator<=>(const GraphFingerprint&, const GraphFingerprint&) noexcept = default;
};

}  // namespace stategraph
