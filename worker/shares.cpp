#include "worker/shares.hpp"

#include <limits>

namespace stategraph::workers {

Shares::Shares(std::span<const WorkerQueue> queues) {
    for (const WorkerQueue& queue : queues)
        queues_.push_back({queue.weight, queue.limit.value_or(std::numeric_limits<std::size_t>::max()), 0});
}

// Each slot goes to the queue with the most credit. All queues that may get it receive credit by their weights, and the
// queue that gets the slot pays the sum of these.
std::vector<std::size_t> Shares::divide(std::size_t free, std::span<const std::size_t> runs,
                                        const std::vector<bool>& is_empty) {
    std::vector<std::size_t> most(queues_.size(), 0);
    for (std::size_t slot = 0; slot < free; ++slot) {
        Queue* first = nullptr;
        std::size_t place = 0;
        long long given = 0;
        for (std::size_t i = 0; i < queues_.size(); ++i) {
            Queue& queue = queues_[i];
            if (is_empty[i]) queue.credit = 0;  // an empty queue saves no credit
            if (is_empty[i] || runs[i] + most[i] >= queue.limit) continue;
            queue.credit += queue.weight;
            given += queue.weight;
            if (first != nullptr && first->credit >= queue.credit) continue;
            first = &queue;
            place = i;
        }
        if (first == nullptr) break;
        first->credit -= given;
        ++most[place];
    }
    return most;
}

}  // namespace stategraph::workers
