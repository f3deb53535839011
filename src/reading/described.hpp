#pragma once
#include <optional>
#include <span>
#include <vector>

#include <stategraph/graph_description.hpp>

#include "src/checkpoint/fold.hpp"

// Provides what a stored description adds to a log: the initial values of channels, and the names that users know.
namespace stategraph::reading {

/// Returns the channels of a checkpoint with their initial values, sorted by name. The result is valid as long as its
/// source.
class DescribedChannels {
public:
    DescribedChannels(const checkpoint::Folded& folded, const std::optional<GraphDescription>& description);
    std::span<const checkpoint::ChannelPieces> all() const noexcept { return channels_; }

private:
    std::vector<std::vector<checkpoint::LogPiece>> pieces_;  // of channels that begin with an initial value
    std::vector<checkpoint::ChannelPieces> channels_;
};

}  // namespace stategraph::reading
