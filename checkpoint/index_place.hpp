#pragma once
#include <stategraph/ids.hpp>

namespace stategraph::checkpoint {

/// Where a thread is in its saver's index (BaseCheckpointSaver::openThreads).
struct IndexPlace {
    /// ThreadPlace::since; empty: it is not in the index.
    CheckpointId since = {};
    bool is_finished = false;

    bool isIn() const noexcept { return !since.empty(); }

    /// Whether the place still holds after a put that left the log with this head. That of an open thread moves on once
    /// it is a second old, so that most supersteps write no index.
    bool stays(CheckpointId head, bool finishes) const noexcept {
        if (is_finished || finishes) return is_finished && finishes && since == head;
        return (head.high() >> 16U) - (since.high() >> 16U) < 1000;  // milliseconds; ids of a log ascend
    }

    /// Where a thread is after a put. Without a commit in its own log it is not in the index.
    static IndexPlace after(const IndexPlace& before, CheckpointId head, bool finishes) noexcept {
        if (head.empty() || (before.isIn() && before.stays(head, finishes))) return before;
        return {head, finishes};
    }

    friend bool operator==(const IndexPlace&, const IndexPlace&) = default;
};

}  // namespace stategraph::checkpoint
