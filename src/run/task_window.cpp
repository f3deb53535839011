#include "src/run/task_window.hpp"

#include <algorithm>

#include "src/run/run.hpp"

namespace stategraph::engine {

TaskWindow::TaskWindow(const Run& run) : todo_(run.todo()), lines_(1) {
    const Topology& topology = run.topology();
    if (topology.has_seats) line_of_.resize(topology.nodes.size());
    lines_.front().free = hands_ = todo_.size();
    if (!topology.has_seats) return;
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
    for (const Line& line : lines_) hands_ += std::min(line.free, line.waiting.size());
}

TaskWindow::Line* TaskWindow::lineOf(const Task& task) noexcept {
    return &lines_[line_of_.empty() ? 0 : line_of_[task.planned.node]];
}

Task* TaskWindow::take(const Task* done) noexcept {
    const std::lock_guard lock(mutex_);
    if (done != nullptr) ++lineOf(*done)->free;
    if (line_of_.empty()) {
        Line& all = lines_.front();
        if (all.next == todo_.size()) return nullptr;
        --all.free;
        return todo_[all.next++];
    }
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
