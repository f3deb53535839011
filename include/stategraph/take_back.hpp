#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// Where a thread stood: the newest checkpoint of one of its logs, and what tasks had stored there.
struct LogMark {
    std::string checkpoint_ns;
    CheckpointId head;
    std::vector<StoredWrite> writes;
};

/// Marks how a thread stands, before a run that begins with an answer, a Command or RESUME: such a run stores results
/// of tasks and answers at checkpoints that exist. A run with an input needs no mark. Empty for an unknown thread.
/// Errors: as BaseCheckpointSaver::list. Safe from any thread. Cost: one round trip, and what is returned.
std::vector<LogMark> markThread(BaseCheckpointSaver& saver, const ThreadId& thread_id);

/// Which run is taken back.
struct TakeBackOptions {
    /// What the run stores with each checkpoint (RunConfig::metadata), or a part of it that no other run has, such as
    /// its id. At least one entry.
    Metadata metadata = {};
    /// What `markThread` returned before the run. Its checkpoints get their results of tasks and answers back; empty:
    /// those stay as they are.
    std::vector<LogMark> before = {};
    /// What to do if a run of this process, through the same saver object, or of another process is under way on the
    /// thread.
    OnBusy on_busy = OnBusy::reject;
    /// How long to wait for that run; then ThreadBusyError.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
};

/// Removes what a run has stored, as if it had never been: its commits in the thread's log and in the logs of its
/// subgraphs, with their pending writes. If nothing else was stored since, the thread stands as before the run. Commits
/// that others have made on top of it stay, with their whole state. A thread in which nothing is left is deleted.
/// Returns how many commits were removed.
///
/// Removing the commits is one atomic step. If the process dies before, repeat the call. Errors: InvalidArgumentError
/// without metadata; ThreadBusyError; ConcurrentUpdateError if a writer stored something meanwhile that was made on top
/// of the run, or if what is on top of it cannot be written whole; CorruptCheckpointError for records that cannot be
/// read, also sealed ones; SaverError. Safe from any thread. Cost: a read of the headers of the thread's commits, and
/// one of each commit that stays and was read from a removed one.
std::size_t takeBack(BaseCheckpointSaver& saver, const ThreadId& thread_id, const TakeBackOptions& options);

}  // namespace stategraph
