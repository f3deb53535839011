#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// Which threads are counted.
struct StatsQuery {
    /// Counts only this thread; none: all threads.
    std::optional<std::string> thread_id = {};
    /// Whether each thread is listed. Off: only totals, and memory does not grow with the number of threads.
    bool threads = true;
};

/// Bytes that records hold for one channel: its name and its values, in operations, snapshots, inputs and writes of
/// tasks.
struct ChannelBytes {
    std::string channel;
    std::uint64_t bytes = 0;
};

/// The sizes of rows by kind; every byte of a record is of exactly one kind.
struct StorageBytes {
    std::uint64_t commits = 0;
    std::uint64_t pending_writes = 0;
    /// In commits: their place in the log and what is due next, including the payloads of Sends.
    std::uint64_t schedule_bytes = 0;
    /// In commits: the user's metadata.
    std::uint64_t metadata_bytes = 0;
    /// In commits: input that has not been taken yet.
    std::uint64_t input_bytes = 0;
    /// In commits: the changes of a superstep.
    std::uint64_t operation_bytes = 0;
    /// In commits that are read without an older one: all values.
    std::uint64_t snapshot_bytes = 0;
    /// In commits: the writes of the superstep's only task, if the operations do not contain them.
    std::uint64_t task_write_bytes = 0;
    /// Whole records of pending writes.
    std::uint64_t pending_write_bytes = 0;
    /// The largest channels first.
    std::vector<ChannelBytes> channels = {};

    /// The sum. Names, keys and the storage's own needs are not included; SaverStats::stored_bytes has them.
    std::uint64_t bytes() const noexcept {
        return schedule_bytes + metadata_bytes + input_bytes + operation_bytes + snapshot_bytes + task_write_bytes +
               pending_write_bytes;
    }
};

/// What one thread stores.
struct ThreadStats : StorageBytes {
    std::string thread_id;
    /// The number of logs: the root's and those of subgraphs.
    std::uint64_t namespaces = 0;
    /// When its newest commit was made.
    std::chrono::system_clock::time_point newest_at = {};
};

/// What a saver stores, as `BaseCheckpointSaver::stats` counts it: by reading everything through `list`, at most 1,000
/// rows at a time, and of one thread with many subgraphs' logs the newest commit of each. A writer at that time is
/// neither stopped nor counted exactly. Errors: those of `list`; where one thread is asked for, CorruptCheckpointError,
/// naming the record, for one that cannot be read.
struct SaverStats {
    std::uint64_t threads = 0;
    StorageBytes total = {};
    /// In the order of listings; empty unless requested.
    std::vector<ThreadStats> per_thread = {};
    /// BaseCheckpointSaver::storedBytes, always of everything the saver stores.
    std::optional<std::uint64_t> stored_bytes = {};
    /// Threads that cannot be read; they are included in no number except `stored_bytes`.
    std::vector<DamagedThread> damaged = {};
};

/// What a saver stores, as `saver.stats()` counts it, with only the threads that have the most bytes in `per_thread`:
/// at most `most`, the largest first, and those of equal size by name. Safe from any thread. Errors: those of
/// BaseCheckpointSaver::list. Cost: reads everything once; the memory does not grow with the number of threads.
SaverStats statsOfLargest(BaseCheckpointSaver& saver, std::size_t most);

/// Returns all of it as one JSON object.
std::string toJson(const SaverStats& stats);
/// The totals in a few lines, for people.
std::ostream& operator<<(std::ostream& out, const SaverStats& stats);

}  // namespace stategraph
