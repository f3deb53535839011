#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <stategraph/worker.hpp>

namespace stategraph::workers {

/// Divides free slots among queues by their weights. A share of less than a slot is not lost: over many calls, each
/// queue gets a number of slots in proportion to its weight.
class Shares {
public:
    explicit Shares(std::span<const WorkerQueue> queues);

    /// Returns how many threads to claim from each queue: together at most `free`, from each at most its limit minus
    /// what it `runs`, and none from queues that are empty (`is_empty`).
    std::vector<std::size_t> divide(std::size_t free, std::span<const std::size_t> runs,
                                    const std::vector<bool>& is_empty);

private:
    struct Queue {
        long long weight = 1;
        std::size_t limit = 0;
        long long credit = 0;
    };
    std::vector<Queue> queues_;
};

}  // namespace stategraph::workers
