#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <stategraph/postgres_queue.hpp>
#include <stategraph/worker.hpp>

namespace stategraph::workers {

/// Where claims begin to look in each queue: where the last one ended, because the rows before that are mostly dead.
/// Now and then they look at all that is due.
class DuePlaces {
public:
    using Clock = std::chrono::steady_clock;
    using DueTime = std::chrono::system_clock::time_point;

    explicit DuePlaces(std::span<const WorkerQueue> queues);

    /// Returns the place for a claim from the queue with this index; none: all that is due.
    std::optional<DueTime> placeIn(std::size_t queue, Clock::time_point now) const;
    /// Notes what a claim, which took from `begin` to `end`, has found.
    void note(const ClaimRequest& request, std::span<const Claim> claims, Clock::time_point begin,
              Clock::time_point end);

private:
    struct Place {
        std::string_view queue;
        std::optional<DueTime> due;  // since when the last claimed thread had been due
        Clock::time_point next_full;
    };
    std::vector<Place> places_;
};

}  // namespace stategraph::workers
