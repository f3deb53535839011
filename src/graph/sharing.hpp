#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/topology.hpp"

// Determines which channels of a graph's state a node sees, if what it takes is not the state itself.
namespace stategraph::engine {

/// How a node gets its input.
enum class InputKind : std::uint8_t {
    state,    // the state, or that of a subgraph
    part,     // another type, all of whose channels the state has
    no_part,  // a type with channels that the state does not have, which is treated as a payload
    payload,  // a type without channels, which only a Send can provide
};

struct InputMatch {
    InputKind kind = InputKind::state;
    std::vector<SharedChannel> shared;
    std::vector<std::string> missing;  // why `kind` is `no_part`: one phrase for each channel
};

InputMatch matchInput(const detail::NodeSpec& node, const detail::Schema& state);

struct SubgraphMatch {
    std::vector<SharedChannel> in;
    std::vector<SharedChannel> out;
    std::vector<std::string> clashes;  // channels with the same name and another type
};

/// If the user gave a function for a direction, no channels are shared in that direction.
SubgraphMatch matchSubgraph(const detail::SubgraphSpec& subgraph, const detail::Schema& state);

}  // namespace stategraph::engine
