#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/topology.hpp"

// Which channels of a graph's state a node sees, when what it takes is not the state itself.
namespace stategraph::engine {

/// How a node gets its input.
enum class InputKind : std::uint8_t {
    state,    // the state, or a subgraph's
    part,     // another type, all of whose channels the state has
    no_part,  // a type with channels that the state does not have: as good as a payload
    payload,  // a type without channels: only a Send brings it
};

struct InputMatch {
    InputKind kind = InputKind::state;
    std::vector<SharedChannel> shared;
    std::vector<std::string> missing;  // why `no_part`: one phrase a channel
};

InputMatch matchInput(const detail::NodeSpec& node, const detail::Schema& state);

struct SubgraphMatch {
    std::vector<SharedChannel> in;
    std::vector<SharedChannel> out;
    std::vector<std::string> clashes;  // channels of the same name and another type
};

/// A direction for which the user gave a function shares nothing.
SubgraphMatch matchSubgraph(const detail::SubgraphSpec& subgraph, const detail::Schema& state);

}  // namespace stategraph::engine
