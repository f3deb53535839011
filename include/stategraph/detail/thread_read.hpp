#pragma once
#include <memory>
#include <vector>

#include <stategraph/detail/core.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/interrupt.hpp>

namespace stategraph::detail {

/// A thread at its newest checkpoint, read by a caller that resumes it afterwards.
class ThreadRead {
public:
    virtual ~ThreadRead() = default;

    CheckpointId checkpoint_id;
    /// The open questions, as SnapshotData::interrupts returns them.
    std::vector<Interrupt> open;
    /// An object of the state's type, which exists as long as this one and until a run begins with it.
    const void* values = nullptr;
};

/// Reads a thread whose due tasks have not finished, as getState does. Returns null if the thread has no checkpoint, or
/// needs getState: tasks of the pending superstep have finished, a Command became part of it, it was cancelled, or the
/// graph keeps threads warm. Errors: as getState.
std::shared_ptr<ThreadRead> readThread(const Core& core, const ThreadId& thread_id);

/// Returns the thread's status: what it waits for, in_flight while it is due, cancelled, or done if nothing of it is
/// due. Errors: MissingCheckpointerError, SaverError, CorruptCheckpointError.
Status threadStatus(const Core& core, const ThreadId& thread_id);

/// Runs like `invoke`. If the thread has not changed since `read` was read of it, the run begins with that and does not
/// decode the thread again; `read` can only be destroyed afterwards.
void invokeAfter(const Core& core, ThreadRead& read, RunInput&& input, const RunConfig& config, RunOutcome& outcome,
                 void* values);

}  // namespace stategraph::detail
