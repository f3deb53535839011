#include "worker/queue_turns.hpp"

#include <algorithm>
#include <utility>

namespace stategraph::workers {

QueueTurns::QueueTurns(std::span<const WorkerQueue> queues) {
    for (const WorkerQueue& queue : queues) {
        const bool is_group = queue.name.ends_with('*');
        names_.push_back({queue.name.substr(0, queue.name.size() - (is_group ? 1 : 0)), is_group, {}, {}, 0});
    }
}

std::optional<std::size_t> QueueTurns::find(std::string_view queue) const noexcept {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        const Name& name = names_[i];
        if (!name.is_group && name.text == queue) return i;
        if (!name.is_group || !queue.starts_with(name.text)) continue;
        if (!best || name.text.size() > names_[*best].text.size()) best = i;
    }
    return best;
}

void QueueTurns::begin() {
    for (Name& name : names_) {
        name.begun = name.after;
        name.ends = 0;
    }
}

bool QueueTurns::isWhole(std::size_t index) const noexcept {
    const Name& group = names_[index];
    return group.ends > 1 || (group.ends == 1 && group.after >= group.begun);
}

void QueueTurns::note(std::size_t index, DueQueues found, std::vector<std::string>& names) {
    Name& group = names_[index];
    group.after = std::move(found.last);
    if (group.after.empty()) ++group.ends;
    for (std::string& name : found.names) {
        if (find(name) == index && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
}

}  // namespace stategraph::workers
