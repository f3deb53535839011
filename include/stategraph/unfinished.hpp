#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// Why a thread's newest checkpoint has pending work.
enum class Unfinished : std::uint8_t {
    in_flight,    // a run is under way, or its process died: `recover()` resumes it
    interrupted,  // what is due waits for answers
    failed,       // a node failed, and no run has resumed the thread since
    breakpoint,   // it stopped at a breakpoint
    limit,        // it reached its recursion limit
    cancelled,    // its run was stopped (RunControl)
    timed_out,    // its run took too long (RunConfig::timeout)
    sleeping,     // it waits for a time (Runtime::sleepUntil), after which `recover()` resumes it
    // an edit left tasks due, and no run has resumed it: `recover()` skips it unless RecoverOptions::edited is set
    edited,
    damaged,  // its newest checkpoint cannot be read, so the reason is unknown; `recover()` skips it
};
/// The name of a reason, such as "in_flight".
const char* toString(Unfinished reason) noexcept;

/// A thread with pending work.
struct UnfinishedThread {
    std::string thread_id;
    CheckpointId checkpoint_id;
    std::int64_t step = 0;
    Unfinished reason = Unfinished::in_flight;
    /// The names of the tasks that are due and not finished.
    std::vector<std::string> next;
    /// Open questions.
    std::vector<Interrupt> interrupts;
    /// The error of the first task that failed; empty if none did. For a damaged thread, the reason why it cannot be
    /// read, with the record's name.
    std::string error;
    /// The time until which it sleeps.
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
};

/// Which threads to list.
struct UnfinishedQuery {
    /// The reason; none: all of them, and also threads that cannot be read.
    std::optional<Unfinished> reason = {};
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

/// Returns what a thread's newest checkpoint, listed with its pending writes (ListQuery::with_writes), waits for; none
/// if nothing is due there, or if the thread was cancelled. A thread that cannot be read is Unfinished::damaged. Cost:
/// that of reading the commit and its pending writes.
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
