#pragma once
#include <optional>
#include <span>
#include <vector>

#include <stategraph/graph_description.hpp>

#include "checkpoint/fold.hpp"

// What a stored description adds to a log: the values that channels have at first, and the names that users know.
namespace stategraph::reading {

/// The channels of a checkpoint with their initial values, by name. The result is valid as long as its source.
class DescribedChannels {
public:
    DescribedChannels(const checkpoint::Folded& folded, const std::optional<GraphDescription>& description);
    std::span<const checkpoint::ChannelPieces> all() const noexcept { return channels_; }

private:
    std::vector<std::vector<checkpoint::LogPiece>> pieces_;  // of those that begin with an initial value
    std::vector<checkpoint::ChannelPieces> channels_;
};

}  // namespace stategraph::reading
