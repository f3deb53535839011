#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stategraph/detail/core.hpp>
#include <stategraph/snapshot.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/superstep/apply.hpp"

// Gives the values of one checkpoint after the other, for a walk through a history.
namespace stategraph::engine {

/// Derives a checkpoint's values from those of another one if both are read from the same commits: channels with the
/// same operations stay, lists to which elements were only appended are shortened, and the others are read again. So a
/// step costs as much as what changed; later bytes in `values_as_cbor` are moved if their place changes. Memory: two
/// words for each channel, and what a step encodes. Between calls the caller holds the values themselves, unless they
/// are of another type than the caller's.
class SteppedValues {
public:
    /// Fills `snapshot.values_as_cbor`, and what `out` points to if it is of the schema's type. If this object is not
    /// empty, the snapshot and `out` must hold what the last call gave. `lineage` numbers the lineage of `channels`:
    /// channels of another lineage are read from the beginning. Errors: those of `restoreState`, after which this
    /// object is empty.
    void give(const detail::Schema& schema, std::span<const checkpoint::ChannelPieces> channels, std::uint64_t lineage,
              CheckpointId id, SnapshotData& snapshot, const detail::ValuesOut& out);
    /// Sets `*out` to a new state, if this object is not empty. Afterwards it is empty.
    void leave(const detail::Schema& schema, const detail::ValuesOut& out);
    /// Returns whether the next call computes everything again.
    bool empty() const noexcept { return is_empty_; }
    void forget() noexcept { is_empty_ = true; }

private:
    using Pieces = std::span<const checkpoint::LogPiece>;
    // For a channel: the operations of its value, and the length of its entry in the encoded values, which is 0 if the
    // channel is not set.
    struct Held {
        Pieces pieces = {};
        std::size_t bytes = 0;
    };
    // A part of the encoded values: bytes of `fresh_`, then bytes that existed before.
    struct Segment {
        std::size_t fresh_from;
        std::size_t fresh;
        std::size_t kept_from;
        std::size_t kept;
    };

    bool find(const detail::Schema& schema, std::span<const checkpoint::ChannelPieces> channels);
    void makeAll(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, std::string& cbor);
    void step(CheckpointId id, std::string& cbor);
    bool shorten(const detail::ChannelSpec& channel, CheckpointId id, const std::string& cbor, Segment& segment);
    void renew(const detail::ChannelSpec& channel, CheckpointId id);
    void splice(std::string& cbor) const;

    std::optional<State> state_;  // between calls, it is without its values if the caller has them
    bool is_empty_ = true;
    std::uint64_t lineage_ = 0;
    std::vector<Held> held_;      // by channel, as in all of these vectors
    std::vector<Pieces> wanted_;  // the operations of the checkpoint that is requested
    std::size_t head_ = 0;        // the number of bytes before the first entry
    std::vector<Segment> segments_;
    std::string fresh_;
    std::string tail_;
    std::string edits_;
};

}  // namespace stategraph::engine
