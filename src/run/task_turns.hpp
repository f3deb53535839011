#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "src/step/task.hpp"

namespace stategraph::engine {

/// Hands out the tasks of a superstep one at a time: a task that is to be tried again lets the others go first.
///
///     while (Task* task = turns.next()) {
///         … attempt turns.number() of it …
///         if (it is to be tried again) turns.again();
///     }
class TaskTurns {
public:
    /// `room` is used until all tasks have ended. If it has the capacity for `todo`, nothing is allocated.
    TaskTurns(std::vector<Task*>& room, std::span<Task* const> todo) : left_(room) {
        left_.assign(todo.begin(), todo.end());
    }
    TaskTurns(const TaskTurns&) = delete;
    TaskTurns& operator=(const TaskTurns&) = delete;

    /// Returns the next task, or null if none is left.
    Task* next() noexcept {
        if (at_ == left_.size()) {
            left_.resize(again_);
            at_ = again_ = 0;
            ++number_;
        }
        return at_ == left_.size() ? nullptr : left_[at_++];
    }
    /// Returns the number of the attempt at that task, from 1.
    int number() const noexcept { return number_; }
    void again() noexcept { left_[again_++] = left_[at_ - 1]; }

private:
    std::vector<Task*>& left_;
    std::size_t at_ = 0;
    std::size_t again_ = 0;  // tasks that are to be tried again, at the beginning of `left_`
    int number_ = 1;
};

}  // namespace stategraph::engine
