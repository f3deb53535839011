#include "src/graph/sharing.hpp"

#include <algorithm>
#include <span>

#include "src/graph/core_view.hpp"
#include "src/graph/names.hpp"

namespace stategraph::engine {
namespace {

using detail::ChannelSpec;
using detail::Schema;

// Only present names count: a former name serves for reading what was stored under it.
const ChannelSpec* findPresent(const Schema& schema, std::string_view name) {
    const ChannelSpec* found = schema.find(name);
    if (found == nullptr || found->name == name) return found;
    const auto channels = schema.channels();
    const auto at = std::ranges::find(channels, name, &ChannelSpec::name);
    return at == channels.end() ? nullptr : &*at;
}

void share(const Schema& state, const Schema& inner, std::span<const detail::ChannelIndex> channels,
           std::vector<SharedChannel>& shared, std::vector<std::string>& clashes) {
    for (const auto index : channels) {
        const ChannelSpec& channel = inner.channel(index);
        const ChannelSpec* outer = findPresent(state, channel.name);
        if (outer == nullptr) continue;
        if (outer->type == channel.type) {
            shared.push_back({.outer = outer->index, .inner = index});
        } else if (std::ranges::find(clashes, channel.name) == clashes.end()) {
            clashes.push_back(channel.name);
        }
    }
}

}  // namespace

InputMatch matchInput(const detail::NodeSpec& node, const Schema& state) {
    const detail::InputType& input = node.action.input;
    InputMatch match;
    if (node.subgraph || input.type == nullptr || input.type == state.state().type) return match;
    if (input.schema == nullptr) {
        match.kind = InputKind::payload;
        return match;
    }
    match.kind = InputKind::part;
    for (const auto& channel : input.schema->channels()) {
        const ChannelSpec* outer = findPresent(state, channel.name);
        if (outer == nullptr) {
            match.missing.push_back("the state has no channel " + inQuotes(channel.name));
        } else if (outer->type != channel.type) {
            match.missing.push_back("the state's channel " + inQuotes(channel.name) + " is of another type");
        } else {
            match.shared.push_back({.outer = outer->index, .inner = channel.index});
        }
    }
    if (!match.missing.empty()) {
        match.kind = InputKind::no_part;
        match.shared.clear();
    }
    return match;
}

SubgraphMatch matchSubgraph(const detail::SubgraphSpec& subgraph, const Schema& state) {
    SubgraphMatch match;
    if (subgraph.core == nullptr) return match;
    const CoreView inner = viewOf(*subgraph.core);
    if (subgraph.to_inner == nullptr) share(state, *inner.schema, inner.input, match.in, match.clashes);
    if (subgraph.from_inner == nullptr) share(state, *inner.schema, inner.output, match.out, match.clashes);
    return match;
}

}  // namespace stategraph::engine
