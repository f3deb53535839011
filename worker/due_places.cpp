#include "worker/due_places.hpp"

#include <algorithm>

namespace stategraph::workers {
namespace {

using std::chrono::milliseconds;

// A claim looks at all that is due at least so often, unless that would take more than a twentieth of the time. Others
// begin where the last one ended, less this overlap.
constexpr milliseconds full_claim_each{1'000};
constexpr int full_claim_share = 20;
constexpr milliseconds claim_overlap{1'000};

}  // namespace

DuePlaces::DuePlaces(std::span<const WorkerQueue> queues) {
    for (const WorkerQueue& queue : queues) places_.push_back({queue.name, {}, {}});
}

std::optional<DuePlaces::DueTime> DuePlaces::placeIn(std::size_t queue, Clock::time_point now) const {
    const Place& last = places_[queue];
    if (now >= last.next_full || !last.due) return {};
    return *last.due - claim_overlap;
}

void DuePlaces::note(const ClaimRequest& request, std::span<const Claim> claims, Clock::time_point begin,
                     Clock::time_point end) {
    for (const ClaimedQueue& each : request.queues) {
        const auto place = std::ranges::find(places_, each.name, &Place::queue);
        if (place == places_.end()) continue;  // one of several that a name with `*` stands for
        if (!each.due_after)
            place->next_full = end + std::max<Clock::duration>(full_claim_each, full_claim_share * (end - begin));
        std::optional<DueTime> due;
        for (const Claim& claim : claims) {
            if (claim.queue == each.name) due = std::max(due.value_or(claim.due), claim.due);
        }
        if (due) place->due = due;
    }
}

}  // namespace stategraph::workers
