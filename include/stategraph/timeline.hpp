#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// One checkpoint of a log in a listing: its place in the log, without values.
struct TimelineEntry {
    CheckpointId id;
    /// The checkpoint's parent; none for the first checkpoint of its log.
    CheckpointId parent;
    std::int64_t step = 0;
    Source source = Source::loop;
    /// The tasks that are due, by the log's names; sends last.
    std::vector<std::string> next;
    Metadata metadata;
    std::chrono::system_clock::time_point created_at;
    /// How long the superstep that made it took; none: no superstep did, or the log does not contain it.
    std::optional<std::chrono::microseconds> took;
    /// How long the tasks of `next` took, as the checkpoint after it says; none: that is not there, or does not say.
    std::optional<std::chrono::microseconds> next_took;
    /// The sizes of the commit's record and of its pending writes.
    std::size_t commit_bytes = 0;
    std::size_t writes_bytes = 0;
    /// How many of its tasks have a pending write that is a result, an error or a question.
    std::size_t records = 0;
    /// Whether it can be read without another commit.
    bool is_whole = false;
    /// How many questions wait for an answer. Questions of subgraphs' tasks count for the root's task.
    std::size_t open_questions = 0;
    /// The error of the first task that has one; empty if there is none.
    std::string error;
    /// Whether the record is encrypted and this saver does not have the key: the step, the source, the metadata, errors
    /// and names are not known; `next` has one empty name if anything is due, and `open_questions` counts tasks.
    bool is_sealed = false;
    /// Why it cannot be read, as a sentence; then nothing is known but its id and sizes.
    std::string damaged;
};

/// Which part of a log to list.
struct TimelineQuery {
    /// Lists only checkpoints older than this one.
    CheckpointId before = {};
    /// The page has at most this many checkpoints; at least 1.
    std::size_t limit = 100;
};

/// The checkpoints of a log, newest first, all branches of it: those whose parent is not the one listed after them are
/// forks. `log.checkpoint_id` does not count. A record that cannot be read is marked as `damaged` and stops nothing; an
/// EncryptedSaver without the right key refuses the thread (CorruptCheckpointError). Errors: InvalidArgumentError
/// without a thread or with a limit of 0; what the saver throws. Cost: a read of as many records. If fewer than `limit`
/// entries are returned, the log ends there.
std::vector<TimelineEntry> readTimeline(BaseCheckpointSaver& saver, const Config& log, const TimelineQuery& query = {});

/// Returns the namespaces of a thread's logs; "" is the root's.
std::vector<std::string> readNamespaces(BaseCheckpointSaver& saver, const ThreadId& thread);

}  // namespace stategraph
