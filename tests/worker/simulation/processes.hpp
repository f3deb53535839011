#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/saver.hpp>

#include "tests/worker/simulation/link.hpp"
#include "worker/lease_queue.hpp"
#include "worker/queue/lease_book.hpp"
#include "worker/threads.hpp"

// What a worker's process has, over a link to the server of the simulation in place of libpq and the operating system.
namespace simulation {

/// A PostgresSaver, and a LeasedSaver where it is given a book of leases.
class LinkedSaver final : public sg::BaseCheckpointSaver {
public:
    explicit LinkedSaver(Process& process, sg::checkpoint::LeaseBook* book = nullptr) : link_(process), book_(book) {}

    /// Called with each request, by the thread of the run.
    std::function<void()> before_put;
    /// Called with each request that is known to be stored.
    std::function<void(const sg::PutRequest&)> on_stored;

    void put(const sg::PutRequest& request) override {
        if (before_put) before_put();
        if (!book_) return putUnder(request, {});
        const sg::PutLease lease = book_->leaseOfPut(request);
        if (request.log.checkpoint_ns.empty()) book_->noteWritten(request.log.thread_id);
        putUnder(request, lease);
        book_->noteStored(request.log.thread_id, lease);
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        if (book_ && query.log.checkpoint_ns.empty() && book_->isNew(query.log.thread_id)) return std::nullopt;
        return link_.repeat([&](ModelServer& server) { return server.rows().getTuple(query); });
    }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        return link_.repeat([&](ModelServer& server) { return server.rows().list(query); });
    }
    void deleteThread(std::string_view) override { throw sg::SaverError("nobody deletes here"); }
    void copyThread(std::string_view, std::string_view) override { throw sg::SaverError("nobody copies here"); }
    std::size_t prune(const sg::PruneRequest&) override { throw sg::SaverError("nobody prunes here"); }
    /// Otherwise the executor's threads would call it, in an order that no seed decides.
    bool putIsSlow() const noexcept override { return false; }

private:
    // As PostgresSaver::Impl::put: what was lost is looked for, and then sent once more.
    void putUnder(const sg::PutRequest& request, const std::optional<sg::PutLease>& lease) {
        const auto store = [&](ModelServer& server) {
            server.put(request, lease);
            return true;
        };
        const auto isStored = [&] { return link_.once([&](ModelServer& server) { return server.isStored(request); }); };
        try {
            (void)link_.once(store);
        } catch (const Lost&) {
            if (!isStored()) {
                try {
                    (void)link_.once(store);
                } catch (const sg::ConcurrentUpdateError&) {
                    if (!isStored()) throw;
                }
            }
        }
        if (on_stored) on_stored(request);
    }

    Link link_;
    sg::checkpoint::LeaseBook* const book_;
};

/// A PostgresQueue and a LeasedSaver's leases. What a process that was killed calls, it believes to have done.
class LinkedQueue final : public sg::workers::LeaseQueue {
public:
    LinkedQueue(Process& process, sg::checkpoint::LeaseBook& book) : link_(process), book_(book) {}

    sg::DueQueues dueQueues(std::string_view, std::string_view, std::size_t) override { return {}; }
    std::vector<sg::Claim> claim(const sg::ClaimRequest& request, std::vector<std::string>&) override {
        if (link_.process().is_dead) return {};
        return link_.repeat([&](ModelServer& server) { return server.claim(request); });
    }
    std::vector<std::string> begin(std::span<const sg::HeldLease> held) override {
        if (link_.process().is_dead) return {};
        return link_.repeat([&](ModelServer& server) { return server.begin(held); });
    }
    std::int64_t enlist(std::int64_t, const sg::QueueWorker&, std::span<const sg::ClaimedGraph>,
                        std::chrono::milliseconds) override {
        return 1;
    }
    void leave(std::int64_t) override {}
    std::vector<sg::Renewed> renew(std::span<const sg::HeldLease> held, std::chrono::milliseconds lease) override {
        if (link_.process().is_dead) return {};
        return link_.repeat([&](ModelServer& server) { return server.renew(held, lease); });
    }
    std::vector<std::string> release(std::span<const sg::Release> releases) override {
        if (link_.process().is_dead) return {};
        return link_.repeat([&](ModelServer& server) {
            auto released = server.release(releases);
            for (const sg::Release& each : releases)
                link_.process().network().say("release " + each.thread_id + " epoch " + std::to_string(each.epoch) +
                                              " outcome " + std::to_string(static_cast<int>(each.outcome)) + " " +
                                              each.error);
            return released;
        });
    }
    std::size_t forgetKeys(std::chrono::milliseconds kept) override {
        if (link_.process().is_dead) return 0;
        return link_.repeat([&](ModelServer& server) { return server.forgetKeys(kept); });
    }
    void hold(std::string_view thread_id, const sg::PutLease& lease) override { book_.hold(thread_id, lease); }
    void holdNew(std::string_view thread_id, const sg::PutLease& lease) override { book_.holdNew(thread_id, lease); }
    void drop(std::string_view thread_id, std::int64_t epoch) override { book_.drop(thread_id, epoch); }

private:
    Link link_;
    sg::checkpoint::LeaseBook& book_;
};

/// The threads of a process and its clock that never jumps.
class ScheduledThreads final : public sg::workers::Threads {
public:
    explicit ScheduledThreads(Process& process) : process_(process), scheduler_(process.scheduler()) {}

    Clock::time_point now() override { return Clock::time_point(std::chrono::hours(1000) + scheduler_.now()); }
    std::function<Clock::time_point()> clock() const override {
        return [&scheduler = scheduler_] { return Clock::time_point(std::chrono::hours(1000) + scheduler.now()); };
    }
    // Only one thread runs, so nothing happens between the unlocking and the wait.
    void wait(sg::detail::UniqueLock& lock, std::condition_variable& changed,
              std::optional<Clock::time_point> until) override SG_NO_THREAD_SAFETY_ANALYSIS {
        lock.unlock();
        const auto place = waiting_.insert(waiting_.end(), {&changed, scheduler_.current()});
        std::optional<Time> time;
        if (until) time = scheduler_.now() + std::chrono::ceil<Time>(*until - now());
        scheduler_.suspend(time);
        waiting_.erase(place);
        lock.lock();
    }
    void notify(std::condition_variable& changed) noexcept override {
        for (const auto& [waits_for, fiber] : waiting_) {
            if (waits_for == &changed) scheduler_.wake(fiber);
        }
    }
    void open(std::size_t) override {}
    void beside(std::function<void()> loop) override { begin(std::move(loop)); }
    // The saver answers each call before it returns, so a task is run by the thread that begins it.
    void run(sg::Task<> task) override {
        begin([given = std::make_shared<sg::Task<>>(std::move(task))] { sg::syncWait(std::move(*given)); });
    }
    void join() noexcept override {
        joins_ = scheduler_.current();
        while (running_ > 0) scheduler_.suspend();
    }
    unsigned seed() override { return static_cast<unsigned>(scheduler_.chance.bits()); }

private:
    void begin(std::function<void()> call) {
        ++running_;
        scheduler_.start(
            [this, call = std::move(call)] {
                call();
                if (--running_ == 0 && joins_) scheduler_.wake(joins_);
            },
            &process_.freeze);
    }

    Process& process_;
    Scheduler& scheduler_;
    std::list<std::pair<std::condition_variable*, Fiber*>> waiting_;
    Fiber* joins_ = nullptr;
    int running_ = 0;
};

}  // namespace simulation
