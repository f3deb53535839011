#pragma once
#include <exception>
#include <optional>

// How a saver tells the end of an asynchronous call (BaseCheckpointSaver::asyncPut, asyncGetTuple).
//
// The caller keeps the request or the query, all that it refers to, the completion and the saver until the completion
// is called; the saver uses none of them afterwards. Each call is completed once, also one that the saver could not
// begin (std::bad_alloc). A run has one put of a log under way at a time, so that a saver need not order puts of one
// log; it has as many at once as runs are awaited, and keeps little for each.
//
// A completion comes without the help of a thread that runs coroutines: where a run is destroyed, or cancelled by
// another thread, that thread waits for it.
namespace stategraph {

struct CheckpointTuple;

/// Learns how an asynchronous put ended.
class PutCompletion {
public:
    /// Called once for each put: on any thread, perhaps before `asyncPut` has returned. `failure` is what `put` would
    /// have thrown; null: it is stored. It is brief, and may begin another asynchronous call.
    virtual void complete(std::exception_ptr failure) noexcept = 0;

protected:
    ~PutCompletion() = default;
};

/// Learns what an asynchronous read has found.
class TupleCompletion {
public:
    /// Like PutCompletion::complete. `tuple` is what `getTuple` would have returned, if `failure` is null.
    virtual void complete(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept = 0;

protected:
    ~TupleCompletion() = default;
};

}  // namespace stategraph
