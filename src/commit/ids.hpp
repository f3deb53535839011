#pragma once
#include <cstdint>
#include <string_view>

#include <stategraph/id_source.hpp>
#include <stategraph/ids.hpp>

namespace stategraph::engine {

/// Makes the checkpoint ids of one log within a run: UUIDs version 7 whose time has 12 bits below the millisecond and
/// always ascends.
class IdSequence {
public:
    IdSequence(IdSource& source, std::uint64_t low_bits) noexcept;

    /// Returns an id that is later than every id created or observed so far.
    CheckpointId next();
    /// Does the same for a time that is already known, in microseconds since 1970.
    CheckpointId next(std::int64_t now_us);
    void observe(CheckpointId id) noexcept;
    /// Returns a sequence for a log inside this one. Its ids are later than the ids of this one so far, and the task's
    /// id distinguishes them.
    IdSequence inner(TaskId task) const noexcept;
    /// Call it when the inner log is done.
    void observe(const IdSequence& inner) noexcept {
        if (inner.tick_ > tick_) tick_ = inner.tick_;
    }
    /// Returns whether this sequence, or another one with the same bits, created the id.
    bool made(CheckpointId id) const noexcept { return id.low() == low_; }
    IdSource& source() const noexcept { return *source_; }

private:
    IdSource* source_;
    std::uint64_t low_;
    std::uint64_t tick_ = 0;  // in units of 1/4096 ms
};

/// The parts from which a task's id is computed.
struct TaskKey {
    CheckpointId checkpoint_id;
    std::string_view checkpoint_ns;
    std::int64_t step;
    std::string_view node;
    std::string_view path;
};
TaskId makeTaskId(const TaskKey& key);

/// Returns an id for something that belongs to a task.
TaskId nameWithin(TaskId task, std::string_view name);
/// Returns the id of a question with a key, or of a graph that a node calls. No name within a task has the same id.
TaskId idOfQuestion(TaskId asker, std::string_view key);
/// Returns the id of a question without a key, before which the same asker asked so many others: that of the asker for
/// the first one.
TaskId idOfQuestion(TaskId asker, std::uint64_t number);
TaskId idOfCall(TaskId caller, std::string_view key);

}  // namespace stategraph::engine
