#pragma once
#include <cstdint>

#include <stategraph/ids.hpp>
#include <stategraph/status.hpp>

#include "src/value/times.hpp"

namespace stategraph::checkpoint {

/// Where a thread is in its saver's index (BaseCheckpointSaver::openThreads).
struct IndexPlace {
    /// See ThreadPlace::since. Empty if the thread is not in the index.
    CheckpointId since = {};
    /// See ThreadOutlook::due; 0 for threads that do not sleep.
    std::int64_t due_ms = 0;
    Status status = Status::in_flight;

    static IndexPlace of(CheckpointId since, const ThreadOutlook& outlook) noexcept {
        return {since, outlook.due ? times::unixMs(*outlook.due) : 0, outlook.status};
    }
    bool isIn() const noexcept { return !since.empty(); }
    bool isOpen() const noexcept { return status != Status::done; }
    bool isSleeping() const noexcept { return status == Status::sleeping; }
    ThreadOutlook outlook() const {
        if (isSleeping()) return {status, times::ofUnixMs(due_ms)};
        return {status, {}};
    }

    /// Returns whether the place is still valid after a put that left the thread's log with this head, because nothing
    /// new is known. It is updated once it is a second old, so that most supersteps write no index.
    bool stays(CheckpointId head, const ThreadOutlook& outlook) const noexcept {
        return isIn() && status == Status::in_flight && outlook.status == Status::in_flight &&
               (head.high() >> 16U) - (since.high() >> 16U) < 1000;  // in milliseconds; ids of a log ascend
    }
    /// Returns the thread's place after a put that left its own log with this head. Without a commit in that log, the
    /// thread is not in the index.
    static IndexPlace after(const IndexPlace& before, CheckpointId head, const ThreadOutlook& outlook) noexcept {
        return head.empty() || before.stays(head, outlook) ? before : of(head, outlook);
    }

    friend bool operator==(const IndexPlace&, const IndexPlace&) = default;
};

}  // namespace stategraph::checkpoint
