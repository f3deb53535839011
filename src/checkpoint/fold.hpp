#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/log.hpp>
#include <stategraph/saver.hpp>

#include "src/checkpoint/commit_fields.hpp"

// Reads a checkpoint as a fold over the commits from its base to it. It runs no user code and knows no types: the
// result consists of the operations that make up each channel's value, and of the schedule.
namespace stategraph::checkpoint {

struct FoldedChannel {
    std::string_view name;
    /// The last set, and the operations after it.
    std::vector<LogPiece> pieces;
};
/// The same for pieces that another object owns.
struct ChannelPieces {
    std::string_view name;
    std::span<const LogPiece> pieces;
};

/// The current condition of a join or deferred edge, and the step of the commit that led to it.
struct FoldedJoin {
    std::string_view key;
    std::vector<std::string_view> arrived;
    std::int64_t step;
};
struct FoldedDeferral {
    std::string_view key;
    Deferral state;
    std::int64_t step;
};

struct FoldedRan {
    enum class Kind : std::uint8_t { nobody, several, one } kind = Kind::nobody;
    std::string_view node = {};
};

/// One checkpoint after reading. Its views refer to `tuple`, so it is neither copied nor changed.
struct Folded {
    Folded() = default;
    Folded(Folded&&) = default;
    Folded& operator=(Folded&&) = default;

    CheckpointTuple tuple;
    /// Its base is the oldest commit from which it was read; that commit exists even if the base in the record was
    /// pruned.
    CommitFields commit;
    std::vector<FoldedChannel> channels;  // the channels that are set, sorted by name
    std::vector<FoldedJoin> joins;        // the joins with arrivals
    std::vector<FoldedDeferral> deferred;
    std::vector<LoggedVisit> visits;  // in the order of CBOR
    bool has_all_visits = false;      // false if an earlier version, which did not store visits, stored a part of it
    FoldedRan ran;
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    /// The size and the number of the commits from which it was read.
    std::size_t replay_bytes = 0;
    std::size_t replay_commits = 0;
    /// Whether one of them contains something that this version does not know.
    bool says_more = false;

    const FoldedChannel* find(std::string_view channel) const noexcept;
};

/// Errors: CorruptCheckpointError naming the key of the record that cannot be read, or that is missing.
Folded fold(const LogName& log, CheckpointTuple tuple);

/// Gives the values of a checkpoint and of all commits from which it was read, without folding again for each: reading
/// all of them costs as much as decoding their values. Memory: the tuple's bytes, and a few words for each operation.
class Lineage {
public:
    /// Errors: as `fold`.
    Lineage(const LogName& log, CheckpointTuple tuple);
    Lineage(Lineage&&) = default;
    Lineage& operator=(Lineage&&) = default;

    /// Returns the set channels of a checkpoint, sorted by name, as folding it would give them. They are valid until
    /// the next call. Returns none if the checkpoint would be read from other commits than these.
    std::optional<std::span<const ChannelPieces>> channelsOf(CheckpointId id);

private:
    struct Commit {
        CheckpointId id;
        CheckpointId base;
    };
    // All operations on a channel, including clears.
    struct Channel {
        std::string_view name;
        std::vector<LogPiece> pieces = {};
        std::vector<std::uint32_t> commits = {};  // the commit of each operation
        std::vector<std::uint32_t> begins = {};   // where the value begins to which each piece belongs
    };

    CheckpointTuple tuple_;
    std::vector<Commit> commits_;    // oldest first
    std::vector<Channel> channels_;  // by name
    std::vector<ChannelPieces> found_;
};

}  // namespace stategraph::checkpoint
