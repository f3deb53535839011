#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>

#include "worker/keeper.hpp"

// The loop of `run`: finished claims are released, and free slots are filled, each with one statement.
namespace stategraph::workers {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds pause_min{100};
constexpr milliseconds pause_max{5'000};
// After a release, claims that are done are gathered for this long, so that one statement releases several. Their slots
// are free already.
constexpr milliseconds released_each{5};
// Notifications bring about a claim at most once in this time.
constexpr milliseconds woken_each{10};
constexpr auto forgetting_each = std::chrono::minutes(1);
constexpr std::size_t forgotten_at_once = 1'000;

}  // namespace

Keeper::Keeper(LeaseQueue& given_queue, BaseCheckpointSaver& given_reader, Threads& given_threads,
               WorkerOptions given_options)
    : queue(given_queue),
      reader(given_reader),
      threads(given_threads),
      options(std::move(given_options)),
      shares(options.queues),
      due_places(options.queues),
      turns(options.queues),
      random(given_threads.seed()) {}

void Keeper::add(std::unique_ptr<detail::WorkerGraph> graph) {
    const std::string& name = graph->name();
    PostgresQueue::checkClaim({.worker = options.name, .graphs = {{name, graph->version()}}});
    if (std::ranges::any_of(graphs, [&](const auto& each) { return each->name() == name; }))
        throw InvalidArgumentError("the worker has a graph named '" + name + "' already; give each a name of its own");
    const detail::LockGuard lock(mutex);
    if (life.is_running)
        throw InvalidArgumentError("the worker runs already, so graph '" + name +
                                   "' comes too late; add it before run");
    graphs.push_back(std::move(graph));
}

void Keeper::stop() noexcept {
    const detail::LockGuard lock(mutex);
    life.is_stopping = true;
    threads.notify(changed);
}

void Keeper::wake(std::string_view queue_name) noexcept {
    if (!queue_name.empty() && !turns.find(queue_name)) return;
    const detail::LockGuard lock(mutex);
    agenda.is_woken = true;
    threads.notify(changed);
}

// A cancelled run is ended by the renewal of its lease, and any other cancelled thread is due.
void Keeper::wakeForCancel() noexcept {
    const detail::LockGuard lock(mutex);
    agenda.is_woken = true;
    ++agenda.cancels;
    hasten();
    threads.notify(changed);
}

WorkerMetrics Keeper::currentMetrics() const {
    const detail::LockGuard lock(mutex);
    WorkerMetrics now = metrics;
    now.running = held.size() - done;
    return now;
}

void Keeper::run() {
    if (graphs.empty()) throw InvalidArgumentError("the worker has no graph; call add first");
    {
        const detail::LockGuard lock(mutex);
        if (life.is_running) throw InvalidArgumentError("the worker has been run; make another one");
        life.is_running = true;
        agenda.next_forgetting = threads.now() + forgetting_each;
    }
    try {
        threads.open(options.slots);
        enlist();  // before the first claim, so that people see who has what
        threads.beside([this] { keepLeases(); });
        while (waitForWork()) {
            endAsked();
            giveBack();
            beginWaiting();
            claim();
            forgetKeys();
        }
    } catch (...) {  // no memory, or no thread: leases run out
        abandonAll();
        endLeases();
        throw;
    }
    endLeases();
}

void Keeper::endLeases() noexcept {
    {
        const detail::LockGuard lock(mutex);
        life.is_over = true;
        threads.notify(lease_is_due);
    }
    threads.join();
}

void Keeper::abandonAll() noexcept {
    for (;;) {
        std::shared_ptr<RunControl> control;
        {
            const detail::LockGuard lock(mutex);
            const auto one = std::ranges::find_if(held, [](const auto& each) { return !each.second->is_lost; });
            if (one == held.end()) return;
            one->second->is_lost = true;
            control = one->second->control;
        }
        control->requestStop();
    }
}

void Keeper::endAsked() {
    std::vector<Ending> endings;
    {
        const detail::LockGuard lock(mutex);
        endings.swap(to_end);
    }
    for (const Ending& each : endings) {
        if (each.is_now) each.control->requestStop();
        if (!each.is_now) each.control->requestDrain("the worker ends");
    }
}

bool Keeper::callQueue(const std::function<void()>& call) {
    try {
        call();
        pause = milliseconds(0);
        return true;
    } catch (...) {
        pause = std::clamp(2 * pause, pause_min, pause_max);
        report(std::current_exception());
        return false;
    }
}

void Keeper::report(const std::exception_ptr& error) noexcept {
    try {
        if (options.on_error) options.on_error(error);
    } catch (...) {
    }
    const detail::LockGuard lock(mutex);
    ++metrics.errors;
}

std::size_t Keeper::freeSlots() const {
    const std::size_t taken = held.size() - done;
    const std::size_t most = room();
    return taken < most ? most - taken : 0;
}

// Returns none if it is time now.
std::optional<Clock::time_point> Keeper::nextTime(Clock::time_point now) const {
    Clock::time_point next = now + std::chrono::hours(1);
    const auto is_due = [&](Clock::time_point time) {
        next = std::min(next, time);
        return time <= now;
    };
    if (!to_end.empty()) return {};
    if ((done > 0 || !declined.empty()) && is_due(agenda.next_release)) return {};
    if (isAnyWaiting() && running() < room() && is_due(agenda.next_beginning)) return {};
    if (life.is_draining) {
        if (!life.is_abandoning) next = std::min(next, life.drain_end);
        return next;
    }
    if (is_due(agenda.next_forgetting)) return {};
    const std::size_t free = freeSlots();
    if (free == 0) return next;
    if (agenda.may_be_more && 4 * free >= options.slots) return {};
    if (agenda.is_woken && is_due(agenda.last_claim + woken_each)) return {};
    if (is_due(agenda.next_claim)) return {};
    return next;
}

bool Keeper::isTimeToClaim(Clock::time_point now) const {
    const std::size_t free = freeSlots();
    if (life.is_draining || life.is_stopping || free == 0) return false;
    return now >= agenda.next_claim || (agenda.may_be_more && 4 * free >= options.slots) ||
           (agenda.is_woken && now >= agenda.last_claim + woken_each);
}

bool Keeper::waitForWork() {
    detail::UniqueLock lock(mutex);
    for (;;) {
        const Clock::time_point now = threads.now();
        if (life.is_stopping) {
            endRuns(now);
            if (held.empty() && declined.empty()) return false;
        }
        const auto next = nextTime(now);
        if (!next) return true;
        threads.wait(lock, changed, next);
    }
}

void Keeper::endRuns(Clock::time_point now) {
    if (!life.is_draining) {
        life.is_draining = true;
        life.drain_end = now + options.drain_timeout;
        for (const auto& [thread_id, one] : held) {
            to_end.push_back({one->control, false});
            if (!one->is_waiting || one->is_done) continue;
            one->release.outcome = WorkOutcome::again;
            finish(*one);
        }
    }
    if (life.is_abandoning || now < life.drain_end) return;
    life.is_abandoning = true;
    for (const auto& [thread_id, one] : held) to_end.push_back({one->control, true});
}

void Keeper::giveBack() {
    std::vector<Release> releases;
    {
        const detail::LockGuard lock(mutex);
        if (threads.now() < agenda.next_release) return;
        releases = declined;
        for (auto one = held.begin(); one != held.end();) {
            const bool is_forgotten = one->second->is_done && one->second->is_lost;
            if (one->second->is_done && !is_forgotten) releases.push_back(one->second->release);
            if (is_forgotten) --done;
            one = is_forgotten ? held.erase(one) : std::next(one);
        }
    }
    if (releases.empty()) return;
    const bool is_back = callQueue([&] { (void)queue.release(releases); });
    const detail::LockGuard lock(mutex);
    agenda.next_release = threads.now() + std::max(pause, released_each);
    if (!is_back) return;
    declined.clear();
    // Their room may be for others of the same queue.
    if (agenda.is_limited) agenda.next_claim = std::min(agenda.next_claim, agenda.last_claim + woken_each);
    for (const Release& release : releases) {
        const auto one = held.find(release.thread_id);
        if (one == held.end() || one->second->claim.epoch != release.epoch) continue;
        held.erase(one);
        --done;
    }
}

void Keeper::forgetKeys() {
    {
        const detail::LockGuard lock(mutex);
        if (life.is_draining || threads.now() < agenda.next_forgetting) return;
    }
    std::size_t forgotten = 0;
    (void)callQueue([&] { forgotten = queue.forgetKeys(options.keys_kept); });
    const detail::LockGuard lock(mutex);
    agenda.next_forgetting = threads.now() + (forgotten < forgotten_at_once ? Clock::duration(forgetting_each)
                                                                            : Clock::duration(std::chrono::seconds(1)));
}

}  // namespace stategraph::workers
