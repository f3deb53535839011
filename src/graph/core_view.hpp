#pragma once
#include <span>

#include <stategraph/detail/graph_builder.hpp>

namespace stategraph::engine {

/// What a graph shows of itself to the graph around it.
struct CoreView {
    const detail::Schema* schema;
    std::span<const detail::ChannelIndex> input, output;
};

CoreView viewOf(const detail::Core& core);

}  // namespace stategraph::engine
