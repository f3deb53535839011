#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ 12 takes an enumerator of a scoped enum for one that hides sg::append
#endif
/// What a commit did to a channel. It describes the result and not the write, so that no reducer is needed to read it.
enum class Change : std::uint8_t {
    set,     // it has this value now
    append,  // the items of this list were appended
    put,     // the entries of this map were put
    edit,    // elements of the list changed: [[index, item]…] replaced (at the end: appended), [[index]…] erased
    clear,   // it has no value any more
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
/// The name of a change, such as "append".
const char* toString(Change change) noexcept;

/// What a commit did to one channel.
struct ChannelChange {
    std::string channel;
    Change change = Change::set;
    /// The value of the change; null for `clear`.
    Value value;
    friend bool operator==(const ChannelChange&, const ChannelChange&) = default;
};

/// How a checkpoint differs from its parent.
struct CheckpointChanges {
    Config config;
    CheckpointId parent;
    std::int64_t step = 0;
    Source source = Source::loop;
    /// The changes by channel. For a commit that holds the whole state (`is_whole`), they are the values of all
    /// channels, changed or not.
    std::vector<ChannelChange> changes;
    bool is_whole = false;
    /// How many supersteps the commit covers: more than one with durability `exit`.
    std::uint64_t supersteps = 1;
    /// The size of its record.
    std::size_t bytes = 0;
};

/// Returns the operations of the commit of a checkpoint; without `config.checkpoint_id`, of the newest. None if there
/// is no such checkpoint. Errors: as `readCheckpoint`. Cost: reading one commit; the saver reads those below it too.
std::optional<CheckpointChanges> readChanges(BaseCheckpointSaver& saver, const Config& config);

/// A channel whose values differ between two checkpoints, of any threads.
struct ChannelDifference {
    std::string channel;
    /// None if the channel is not set there.
    std::optional<Value> before;
    std::optional<Value> after;
};
/// Returns the channels whose values differ between `before` and `after`, by name. Errors: as `readCheckpoint`, and
/// InvalidArgumentError if one of them does not exist. Cost: reading both.
std::vector<ChannelDifference> readDifference(BaseCheckpointSaver& saver, const Config& before, const Config& after);

/// A task that wrote a channel.
struct ChannelWriter {
    std::string name;
    std::string path;
};

/// One entry of a channel's history.
struct ChannelHistoryEntry {
    Config config;
    std::int64_t step = 0;
    Source source = Source::loop;
    ChannelChange change;
    /// The tasks of the superstep before that wrote the channel, as far as the log says: empty for an edit, a fork,
    /// an input, and where one commit covers several supersteps.
    std::vector<ChannelWriter> writers;
};
/// Which part of a channel's history to read.
struct ChannelHistoryQuery {
    /// The page has at most this many entries; at least 1.
    std::size_t limit = 100;
    /// How many checkpoints of the branch may be looked at; at least 1.
    std::size_t commits_max = 100'000;
};
/// A page of a channel's history.
struct ChannelHistory {
    /// The newest first, on the way from the checkpoint to the first one of its branch.
    std::vector<ChannelHistoryEntry> entries;
    /// Where to continue (as `config.checkpoint_id` of the next call); none: the first write is among the entries, or
    /// was pruned.
    std::optional<Config> more;
};

/// Returns who wrote a channel, from a checkpoint (or the newest) back to the first write. A commit that holds the
/// whole state has a value for every channel; it is an entry unless the log says that no task wrote this channel.
/// Errors: as `readCheckpoint`. Cost: the records on the way, a page at a time.
ChannelHistory readChannelHistory(BaseCheckpointSaver& saver, const Config& config, std::string_view channel,
                                  const ChannelHistoryQuery& query = {});

}  // namespace stategraph
