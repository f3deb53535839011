#include <algorithm>
#include <utility>

#include "src/threads/run_control.hpp"
#include "worker/keeper.hpp"

// Claiming threads for free slots, with one statement for several.
namespace stategraph::workers {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A free slot waits this long for others, so that one statement claims for several.
constexpr milliseconds gathering{5};
// A thread is declined for this long if its lease was lost here and it is claimed again before its run has ended.
constexpr milliseconds declined_for{1'000};
// A claim ends after so many statements for groups of queues that gave nothing, and the next one continues there.
constexpr int vain_rounds_max = 16;

}  // namespace

// Slots that a queue leaves free are used for queues with more threads.
void Keeper::claim() {
    {
        const detail::LockGuard lock(mutex);
        const Clock::time_point now = threads.now();
        if (!isTimeToClaim(now)) return;
        if (now < agenda.next_claim && agenda.is_woken) ++metrics.woken;
        // Before the statement is sent, because what is submitted while it runs may not be in its result.
        agenda.is_woken = false;
        agenda.is_limited = false;
        agenda.last_claim = now;
    }
    std::vector<bool> is_empty(options.queues.size(), false);
    turns.begin();
    std::optional<Round> round;
    int vain = 0;
    do {
        round = claimOnce(is_empty);
    } while (round && (round->claimed > 0 || (round->has_more && ++vain < vain_rounds_max)));
    std::uniform_real_distribution<double> part(0.75, 1.25);
    const auto poll = std::chrono::duration_cast<Clock::duration>(options.poll_interval * part(random));
    const detail::LockGuard lock(mutex);
    agenda.may_be_more = round && freeSlots() == 0 && std::ranges::count(is_empty, false) > 0;
    agenda.next_claim = threads.now() + (!round               ? Clock::duration(pause)
                                         : agenda.may_be_more ? Clock::duration(gathering)
                                                              : poll);
}

std::optional<Keeper::Round> Keeper::claimOnce(std::vector<bool>& is_empty) {
    ClaimRequest request{.worker = options.name, .lease = options.lease};
    std::vector<std::size_t> most;
    std::uint64_t cancels = 0;
    {
        const detail::LockGuard lock(mutex);
        cancels = agenda.cancels;
        std::vector<std::size_t> runs(options.queues.size(), 0);
        for (const auto& [thread_id, one] : held) {
            if (!one->is_done) ++runs[one->queue];
        }
        most = shares.divide(freeSlots(), runs, is_empty);
        request.running = held.size() - done;
    }
    const Clock::time_point begin = threads.now();
    for (std::size_t i = 0; i < most.size(); ++i) {
        if (most[i] > 0 && !want(request, i, most[i])) return {};
    }
    std::vector<Claim> claims;
    std::vector<std::string> limited;
    if (!request.queues.empty()) {
        request.graphs = claimedGraphs();
        if (!callQueue([&] { claims = queue.claim(request, limited); })) return {};
        due_places.note(request, claims, begin, threads.now());
    }
    std::vector<std::size_t> got(most.size(), 0);
    for (const Claim& each : claims) ++got[turns.find(each.queue).value_or(0)];
    Round round{.claimed = claims.size()};
    for (std::size_t i = 0; i < most.size(); ++i) {
        if (most[i] == 0) continue;
        // One of several queues may have had less than its part, and those of a group that come next may have more.
        const bool is_vain = turns.isGroup(i) ? got[i] == 0 : got[i] < most[i];
        if (is_vain && turns.isGroup(i) && !turns.isWhole(i))
            round.has_more = true;
        else if (is_vain)
            is_empty[i] = true;
    }
    if (!limited.empty()) {
        const detail::LockGuard lock(mutex);
        agenda.is_limited = true;
    }
    if (!request.queues.empty()) take(std::move(claims), begin + options.lease, cancels);
    return round;
}

bool Keeper::want(ClaimRequest& request, std::size_t index, std::size_t most) {
    const std::string& name = options.queues[index].name;
    if (!turns.isGroup(index)) {
        request.queues.push_back({name, most, due_places.placeIn(index, threads.now())});
        return true;
    }
    // Those after the last one that had its turn, and if these are too few, from the beginning.
    std::vector<std::string> names;
    for (bool is_whole = false; !is_whole && names.size() < most;) {
        is_whole = turns.after(index).empty();
        DueQueues found;
        const auto look = [&] {
            found = queue.dueQueues(turns.prefix(index), turns.after(index), most - names.size());
        };
        if (!callQueue(look)) return false;
        turns.note(index, std::move(found), names);
        if (!turns.after(index).empty()) break;
    }
    // Each gets the same, as far as that is possible.
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        request.queues.push_back({names[i], most / names.size() + (i < most % names.size() ? 1 : 0), {}});
    return true;
}

void Keeper::take(std::vector<Claim> claims, Clock::time_point lease_end, std::uint64_t cancels) {
    std::vector<std::shared_ptr<Held>> taken;
    taken.reserve(claims.size());
    detail::UniqueLock lock(mutex);
    // A thread that was cancelled since it was claimed: the renewal that was to find out could not know the lease.
    if (agenda.cancels != cancels) hasten();
    ++metrics.claims;
    for (Claim& claim : claims) {
        ++metrics.claimed;
        if (held.contains(claim.thread_id)) {
            declined.push_back({.thread_id = claim.thread_id,
                                .epoch = claim.epoch,
                                .outcome = WorkOutcome::retry,
                                .delay = declined_for,
                                .error = claim.error});
            continue;
        }
        auto one = std::make_shared<Held>();
        const auto graph = std::ranges::find(graphs, claim.graph, [](const auto& each) { return each->name(); });
        if (graph != graphs.end()) one->graph = graph->get();
        one->queue = turns.find(claim.queue).value_or(0);
        one->lease_end->set(lease_end);
        detail::RunControlLease::set(*one->control,
                                     [end = one->lease_end, now = threads.clock()] { return !end->hasCome(now()); });
        one->is_waiting = claim.apart > 0;
        if (one->is_waiting) ++limited;
        one->claim = std::move(claim);
        one->release = {.thread_id = one->claim.thread_id, .epoch = one->claim.epoch, .outcome = WorkOutcome::retry};
        held.emplace(one->claim.thread_id, one);
        if (!one->is_waiting) taken.push_back(std::move(one));
    }
    lock.unlock();
    for (const std::shared_ptr<Held>& one : taken) start(one);
}

std::vector<ClaimedGraph> Keeper::claimedGraphs() const {
    std::vector<ClaimedGraph> all;
    for (const auto& graph : graphs) all.push_back({graph->name(), graph->version()});
    return all;
}

std::size_t Keeper::running() const {
    const auto runs = [](const auto& each) { return !each.second->is_waiting && !each.second->is_done; };
    return static_cast<std::size_t>(std::ranges::count_if(held, runs));
}

bool Keeper::isAnyWaiting() const {
    const auto waits = [](const auto& each) { return each.second->is_waiting && !each.second->is_done; };
    return limited > 0 && std::ranges::any_of(held, waits);
}

std::size_t Keeper::room() const {
    std::size_t most = options.slots;
    if (limited == 0) return most;
    for (const auto& [thread_id, one] : held) {
        if (one->claim.apart > 0 && !one->is_done) most = std::min(most, static_cast<std::size_t>(one->claim.apart));
    }
    return most;
}

// A thread whose processes have died is begun when few enough others run, and the queue knows it: if this process dies,
// the thread had begun.
void Keeper::beginWaiting() {
    std::vector<std::shared_ptr<Held>> beginning;
    std::vector<HeldLease> leases;
    {
        const detail::LockGuard lock(mutex);
        if (limited == 0 || threads.now() < agenda.next_beginning) return;
        const std::size_t runs = running();
        const std::size_t most = room();
        for (const auto& [thread_id, one] : held) {
            if (!one->is_waiting || one->is_done || runs + beginning.size() >= most) continue;
            beginning.push_back(one);
            leases.push_back({thread_id, one->claim.epoch});
        }
    }
    if (beginning.empty()) return;
    std::vector<std::string> begun;
    const bool is_known = callQueue([&] { begun = queue.begin(leases); });
    detail::UniqueLock lock(mutex);
    const auto isLeft = [&](const std::shared_ptr<Held>& one) SG_REQUIRES(mutex) {
        if (one->is_done || std::ranges::find(begun, one->claim.thread_id) == begun.end()) return true;
        one->is_waiting = false;
        return false;
    };
    const bool are_some_left = std::erase_if(beginning, isLeft) > 0;
    agenda.next_beginning = threads.now();
    if (!is_known || are_some_left) agenda.next_beginning += std::max(pause, options.lease / 10);
    lock.unlock();
    for (const std::shared_ptr<Held>& one : beginning) start(one);
}

}  // namespace stategraph::workers
