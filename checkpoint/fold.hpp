#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/log.hpp>
#include <stategraph/saver.hpp>

#include "checkpoint/commit_fields.hpp"

// Reading a checkpoint: a fold over the commits from its base to it. It runs no user code and knows no types: what
// comes out are the operations each channel's value is made of, and the schedule.
namespace stategraph::checkpoint {

struct FoldedChannel {
    std::string_view name;
    /// The last set and what followed it.
    std::vector<LogPiece> pieces;
};
/// The same for pieces that another object owns.
struct ChannelPieces {
    std::string_view name;
    std::span<const LogPiece> pieces;
};

/// A join or deferred edge as it is now, and the step of the commit that made it so.
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

/// One checkpoint, read. Its views point into `tuple`, so it is neither copied nor changed.
struct Folded {
    Folded() = default;
    Folded(Folded&&) = default;
    Folded& operator=(Folded&&) = default;

    CheckpointTuple tuple;
    /// Its base is the oldest commit that it was read from, which exists even if the base in the record was pruned.
    CommitFields commit;
    std::vector<FoldedChannel> channels;  // by name, those that are set
    std::vector<FoldedJoin> joins;        // those with arrivals
    std::vector<FoldedDeferral> deferred;
    std::vector<LoggedVisit> visits;  // in the order of CBOR
    bool has_all_visits = false;      // else an earlier version stored some of it, which did not say
    FoldedRan ran;
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    /// The commits it was read from: their bytes, and how many they are.
    std::size_t replay_bytes = 0;
    std::size_t replay_commits = 0;
    /// One of them has what this version does not know.
    bool says_more = false;

    const FoldedChannel* find(std::string_view channel) const noexcept;
};

/// Errors: CorruptCheckpointError naming the key of the record that cannot be read, or that is missing.
Folded fold(const LogName& log, CheckpointTuple tuple);

/// The values of a checkpoint and of all commits from which it was read, without folding again for each: as many reads
/// as it has commits cost what decoding their values costs. Memory: the tuple's bytes, and a few words for each
/// operation.
class Lineage {
public:
    /// Errors: as `fold`.
    Lineage(const LogName& log, CheckpointTuple tuple);
    Lineage(Lineage&&) = default;
    Lineage& operator=(Lineage&&) = default;

    /// The set channels of a checkpoint, by name, as folding it would give them, until the next call; none if it would
    /// be read from other commits than these.
    std::optional<std::span<const ChannelPieces>> channelsOf(CheckpointId id);

private:
    struct Commit {
        CheckpointId id;
        CheckpointId base;
    };
    // All that ever happened to a channel, clears too.
    struct Channel {
        std::string_view name;
        std::vector<LogPiece> pieces = {};
        std::vector<std::uint32_t> commits = {};  // which of the commits each is from
        std::vector<std::uint32_t> begins = {};   // where the value that each piece is a part of begins
    };

    CheckpointTuple tuple_;
    std::vector<Commit> commits_;    // oldest first
    std::vector<Channel> channels_;  // by name
    std::vector<ChannelPieces> found_;
};

}  // namespace stategraph::checkpoint
