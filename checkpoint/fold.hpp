#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/log.hpp>
#include <stategraph/saver.hpp>

#include "checkpoint/record.hpp"

// Reading a checkpoint: a fold over the commits from its base to it. It runs no user code and knows no types: what comes out are
// the operations each channel's value is made of, and the schedule.
namespace stategraph::checkpoint {

struct FoldedChannel {
    std::string_view name;
    /// The last set and what followed it.
    std::vector<LogPiece> pieces;
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
    /// Its base is the oldest commit that it was read from: that is there, also if the one that the record names was pruned.
    CommitFields commit;
    std::vector<FoldedChannel> channels;  // by name, those that are set
    std::vector<FoldedJoin> joins;        // those with arrivals
    std::vector<FoldedDeferral> deferred;
    FoldedRan ran;
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    /// Bytes of the commits it was read from.
    std::size_t replay_bytes = 0;
    /// One of them has what this version does not know.
    bool says_more = false;

    const FoldedChannel* find(std::string_view channel) const noexcept;
};

/// Errors: CorruptCheckpointError naming the key of the record that cannot be read, or that is missing.
Folded fold(const LogName& log, CheckpointTuple tuple);

}  // namespace stategraph::checkpoint
