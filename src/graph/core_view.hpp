#pragma once
#include <span>

#include <stategraph/detail/graph_builder.hpp>

namespace stategraph::engine {

/// The part of a graph that the graph around it can see.
struct CoreView {
    const detail::Schema* schema;
    std::span<const detail::ChannelIndex> input, output;
};

CoreView viewOf(const detail::Core& core);

}  // namespace stategraph::engine
