#pragma once
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "src/graph/topology.hpp"
#include "src/step/task.hpp"

namespace stategraph::engine {

/// The tasks of a superstep that are to run, handed out so that no node has more under way than it may
/// (NodeOptions::max_concurrency). Safe from several threads.
///
/// A worker that receives no task ends without waiting: the remaining tasks then belong to nodes whose limit is
/// reached, and the worker that ends such a task takes the next one.
class TaskWindow {
public:
    TaskWindow(const Topology& topology, std::span<Task* const> todo);
    TaskWindow(const TaskWindow&) = delete;
    TaskWindow& operator=(const TaskWindow&) = delete;

    /// How many workers can have a task at the same time.
    std::size_t hands() const noexcept { return hands_; }
    /// The next task in turn whose node has a free seat; null: there is none. `done`: the caller's task before, which
    /// has ended.
    Task* take(const Task* done) noexcept;

private:
    struct Line {
        std::size_t free = 0;              // seats
        std::size_t next = 0;              // in `waiting`
        std::vector<std::size_t> waiting;  // places in `todo`
    };
    Line* lineOf(const Task& task) noexcept SG_REQUIRES(mutex_);

    std::span<Task* const> todo_;
    // All tasks are of one line, as mostly: it has as many seats as there are hands.
    bool is_one_line_ = false;
    std::atomic<std::size_t> next_ = 0;
    // Else.
    detail::Mutex mutex_;
    std::vector<Line> lines_ SG_GUARDED_BY(mutex_);  // of nodes with seats; the first: of all others
    std::vector<std::size_t> line_of_;               // by node; empty: no node has seats
    std::size_t hands_ = 0;
};

}  // namespace stategraph::engine
