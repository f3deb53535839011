#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/status.hpp>

namespace stategraph {

/// A thread with pending work, or one that failed.
struct UnfinishedThread {
    std::string thread_id;
    CheckpointId checkpoint_id;
    std::int64_t step = 0;
    /// How it stands.
    Status reason = Status::in_flight;
    /// The names of the tasks that are due and not finished.
    std::vector<std::string> next;
    /// Open questions.
    std::vector<Interrupt> interrupts;
    /// The error of the first task that failed; empty if none did. For a thread that cannot be read, the reason, with
    /// the record's name.
    std::string error;
    /// The time until which it sleeps.
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
};

/// Which threads to list.
struct UnfinishedQuery {
    /// How they stand; none: all but `done`, and also threads that cannot be read.
    std::optional<Status> reason = {};
    /// Lists only threads after this one in the order of listings.
    std::optional<std::string> after_thread_id = {};
    /// Lists at most this many threads; at least 1.
    std::optional<std::size_t> limit = {};
    /// If not empty: only these threads, in this order; `after_thread_id` is then ignored.
    std::vector<std::string> thread_ids = {};
    /// Lists only threads whose newest checkpoint has all of these entries in its metadata, with equal values. These
    /// come from the run that made it (RunConfig::metadata). A checkpoint of an edit has none; that of `cancelThread`
    /// keeps those before it. A damaged thread has none either.
    Metadata metadata = {};
};

/// Returns how a thread stands, as its newest checkpoint says, listed with its pending writes (ListQuery::with_writes).
/// This is the status that lists of threads show. Cost: that of reading the commit and its pending writes.
Status statusOf(const ListedCheckpoint& head);
/// Returns what a thread's newest checkpoint, listed with its pending writes (ListQuery::with_writes), waits for; none
/// if nothing is due there and it has not failed, or if the thread was cancelled. A thread that cannot be read is
/// `damaged` or `sealed`. Cost: that of reading the commit and its pending writes.
std::optional<UnfinishedThread> unfinishedThread(const ListedCheckpoint& head);

/// Does the same for a thread that an index lists as `indexed`; informs the saver if it waits for something else.
/// Failures of that are ignored.
std::optional<UnfinishedThread> unfinishedThread(BaseCheckpointSaver& saver, const ListedCheckpoint& head,
                                                 const ThreadOutlook& indexed);
/// Does the same, and also gives the saver the summary of the thread (stategraph/thread_summary.hpp), if the index was
/// asked for it and has none.
std::optional<UnfinishedThread> unfinishedThread(BaseCheckpointSaver& saver, const ListedCheckpoint& head,
                                                 const IndexedThread& indexed);

}  // namespace stategraph
