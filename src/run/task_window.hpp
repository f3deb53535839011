#pragma once
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "src/graph/topology.hpp"
#include "src/step/task.hpp"

namespace stategraph::engine {

/// Hands out the tasks of a superstep so that no node runs more of them at the same time than it may
/// (NodeOptions::max_concurrency). Safe from several threads.
///
/// A worker that receives no task ends without waiting: the remaining tasks then belong to nodes whose limit is
/// reached, and the worker that ends such a task takes the next one.
class TaskWindow {
public:
    TaskWindow(const Topology& topology, std::span<Task* const> todo);
    TaskWindow(const TaskWindow&) = delete;
    TaskWindow& operator=(const TaskWindow&) = delete;

    /// Returns how many workers can have a task at the same time.
    std::size_t hands() const noexcept { return hands_; }
    /// Returns the next task in turn whose node has a free slot, or null if there is none. `done` is the caller's
    /// previous task, which has ended.
    Task* take(const Task* done) noexcept;

private:
    struct Line {
        std::size_t free = 0;              // free slots
        std::size_t next = 0;              // index in `waiting`
        std::vector<std::size_t> waiting;  // indexes in `todo`
    };
    Line* lineOf(const Task& task) noexcept SG_REQUIRES(mutex_);

    std::span<Task* const> todo_;
    // Usually all tasks are in one line, which has as many slots as there are workers.
    bool is_one_line_ = false;
    std::atomic<std::size_t> next_ = 0;
    // Used if there are several lines.
    detail::Mutex mutex_;
    // The first line holds the tasks of all nodes without a limit, each other line those of one node.
    std::vector<Line> lines_ SG_GUARDED_BY(mutex_);
    std::vector<std::size_t> line_of_;  // by node; empty if no node has a limit
    std::size_t hands_ = 0;
};

}  // namespace stategraph::engine
