#include "serve/run_table.hpp"

#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

namespace stategraph::serve {

bool ActiveRun::hasEnded() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return ended_;
}

bool ActiveRun::hasFailed() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return ended_ && error_ != nullptr;
}

std::exception_ptr ActiveRun::error() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return error_;
}

void ActiveRun::tell(std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers) {
    const stategraph::detail::LockGuard lock(mutex_);
    readers_ = std::move(readers);
}

void ActiveRun::end(std::exception_ptr error) noexcept {
    std::vector<std::shared_ptr<stategraph::detail::SubscriptionImpl>> readers;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        ended_ = true;
        error_ = std::move(error);
        readers = std::move(readers_);
    }
    for (const auto& reader : readers) stategraph::detail::wakeReader(*reader);
}

std::exception_ptr RunTable::notBegun() {
    return std::make_exception_ptr(NotNowError("the server could not begin the run; try again later"));
}

std::shared_ptr<ActiveRun> RunTable::add(const Key& key, std::shared_ptr<Replay> replay, std::string owner) {
    auto run = std::make_shared<ActiveRun>(std::move(replay), std::move(owner));
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_closed_) throw NotNowError("the server is ending, and begins no more runs");
    if (runs_.size() >= runs_max_)
        throw NotNowError("the server has as many runs under way as its limit allows; try again later");
    if (const auto [other, is_free] = runs_.emplace(key, run); !is_free) {
        if (other->second->control()->stopRequested())
            throw ThreadStoppingError("the run on this thread is being stopped; try again", {.thread_id = key.second});
        throw ThreadBusyError("a run is under way on this thread; wait for its end, or cancel it",
                              {.thread_id = key.second});
    }
    return run;
}

std::unique_ptr<RunTable::Place> RunTable::reserve(const std::shared_ptr<Endpoint>& endpoint, const ThreadId& thread,
                                                   std::shared_ptr<Replay> replay, std::string owner) {
    return std::make_unique<Place>(shared_from_this(), endpoint, thread, std::move(replay), std::move(owner));
}

RunTable::Place::Place(std::shared_ptr<RunTable> table, std::shared_ptr<Endpoint> endpoint, const ThreadId& thread,
                       std::shared_ptr<Replay> replay, std::string owner)
    : table_(std::move(table)),
      endpoint_(std::move(endpoint)),
      thread_(thread),
      key_(endpoint_.get(), thread_.toString()),
      run_(table_->add(key_, std::move(replay), std::move(owner))) {}

RunTable::Place::~Place() {
    if (!run_) return;
    if (run_->replay()) run_->replay()->end(Replay::State::not_begun);
    table_->end(key_, table_->not_begun_);
}

std::shared_ptr<ActiveRun> RunTable::Place::begin(const Begin& work, RunConfig config, std::function<void()> then) {
    config.thread_id = thread_;
    config.hub = &endpoint_->hub();
    config.control = run_->control();
    spawn(table_->executor_, work(std::move(config)),
          [table = table_, key = key_, endpoint = endpoint_, then = std::move(then)](Outcome<void> outcome) {
              table->end(key, outcome.error());
              if (then) then();
          });
    if (run_->replay()) run_->replay()->release();
    return std::move(run_);
}

std::shared_ptr<ActiveRun> RunTable::find(const Endpoint& endpoint, const ThreadId& thread) const {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = runs_.find({&endpoint, thread.toString()});
    return found == runs_.end() ? nullptr : found->second;
}

std::size_t RunTable::size() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return runs_.size();
}

bool RunTable::isFull() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return runs_.size() >= runs_max_;
}

void RunTable::whenFree(std::function<void()> call) {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (runs_.size() >= runs_max_) return waiting_.push_back(std::move(call));
    }
    call();
}

void RunTable::drain() noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    is_closed_ = true;
    for (const auto& [key, run] : runs_) {
        try {
            run->control()->requestDrain("the server is about to end");
        } catch (const std::bad_alloc&) {
            run->control()->requestStop();
        }
    }
}

void RunTable::stop() noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    is_closed_ = true;
    for (const auto& [key, run] : runs_) run->control()->requestStop();
}

bool RunTable::waitUntilEmpty(std::chrono::milliseconds patience) const {
    stategraph::detail::UniqueLock lock(mutex_);
    return changed_.wait_for(lock.native(), patience, [this]() SG_REQUIRES(mutex_) { return runs_.empty(); });
}

void RunTable::end(const Key& key, std::exception_ptr error) noexcept {
    std::shared_ptr<ActiveRun> run;
    std::vector<std::function<void()>> waiting;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        const auto found = runs_.find(key);
        if (found == runs_.end()) return;
        run = std::move(found->second);
        runs_.erase(found);
        waiting.swap(waiting_);
        changed_.notify_all();
    }
    run->end(std::move(error));
    for (const auto& call : waiting) call();
}

}  // namespace stategraph::serve
