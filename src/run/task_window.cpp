#include "src/run/task_window.hpp"

#include <algorithm>

namespace stategraph::engine {

TaskWindow::TaskWindow(const Topology& topology, std::span<Task* const> todo) : todo_(todo), lines_(1) {
    if (topology.has_seats) line_of_.resize(topology.nodes.size());
    lines_.front().free = hands_ = todo_.size();
    is_one_line_ = !topology.has_seats;
    if (is_one_line_) return;
    for (std::size_t i = 0; i < todo_.size(); ++i) {
        const NodeIndex node = todo_[i]->planned.node;
        const std::size_t seats = topology.nodes[node].seats;
        if (seats > 0 && line_of_[node] == 0) {
            line_of_[node] = lines_.size();
            lines_.emplace_back().free = seats;
        }
        lines_[line_of_[node]].waiting.push_back(i);
    }
    hands_ = 0;
    for (const Line& line : lines_) {
        hands_ += std::min(line.free, line.waiting.size());
        is_one_line_ = is_one_line_ || line.waiting.size() == todo_.size();
    }
}

TaskWindow::Line* TaskWindow::lineOf(const Task& task) noexcept { return &lines_[line_of_[task.planned.node]]; }

Task* TaskWindow::take(const Task* done) noexcept {
    if (is_one_line_) {
        const std::size_t taken = next_.fetch_add(1, std::memory_order_relaxed);
        return taken < todo_.size() ? todo_[taken] : nullptr;
    }
    const detail::LockGuard lock(mutex_);
    if (done != nullptr) ++lineOf(*done)->free;
    Line* first = nullptr;
    for (Line& line : lines_) {
        if (line.free == 0 || line.next == line.waiting.size()) continue;
        if (first == nullptr || line.waiting[line.next] < first->waiting[first->next]) first = &line;
    }
    if (first == nullptr) return nullptr;
    --first->free;
    return todo_[first->waiting[first->next++]];
}

}  // namespace stategraph::engine
