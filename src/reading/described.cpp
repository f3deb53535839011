#include "src/reading/described.hpp"

#include <algorithm>

namespace stategraph::reading {

using checkpoint::ChannelPieces;
using checkpoint::LogOp;
using checkpoint::LogPiece;

DescribedChannels::DescribedChannels(const checkpoint::Folded& folded,
                                     const std::optional<GraphDescription>& description) {
    const std::size_t described = description ? description->channels.size() : 0;
    pieces_.reserve(described);
    channels_.reserve(folded.channels.size() + described);
    for (const auto& channel : folded.channels) channels_.push_back({channel.name, channel.pieces});
    if (!description) return;
    for (const DescribedChannel& known : description->channels) {
        if (!known.initial) continue;
        const auto at = std::ranges::find(channels_, std::string_view(known.name), &ChannelPieces::name);
        const bool is_there = at != channels_.end();
        if (is_there && at->pieces.front().op == LogOp::set) continue;
        auto& pieces = pieces_.emplace_back();
        pieces.push_back({LogOp::set, known.initial->bytes()});
        if (is_there) {
            pieces.insert(pieces.end(), at->pieces.begin(), at->pieces.end());
            at->pieces = pieces;
        } else {
            channels_.push_back({known.name, pieces});
        }
    }
}

}  // namespace stategraph::reading
