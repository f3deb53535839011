#include "serve/run_table.hpp"

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

namespace stategraph::serve {

bool ActiveRun::hasEnded() const {
    const std::lock_guard lock(mutex_);
    return ended_;
}

std::exception_ptr ActiveRun::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

void ActiveRun::tell(std::shared_ptr<stategraph::detail::SubscriptionImpl> reader) {
    const std::lock_guard lock(mutex_);
    reader_ = std::move(reader);
}

void ActiveRun::end(std::exception_ptr error) noexcept {
    std::shared_ptr<stategraph::detail::SubscriptionImpl> reader;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        error_ = std::move(error);
        reader = std::move(reader_);
    }
    if (reader) stategraph::detail::wakeReader(*reader);
}

std::shared_ptr<ActiveRun> RunTable::add(const Key& key) {
    auto run = std::make_shared<ActiveRun>();
    const std::lock_guard lock(mutex_);
    if (is_closed_) throw InvalidUpdateError("the server is about to end, and begins no more runs");
    if (runs_.size() >= runs_max_)
        throw InvalidUpdateError("the server has as many runs under way as it may; try again later");
    if (!runs_.emplace(key, run).second) {
        throw ThreadBusyError("a run is under way on this thread; wait for its end, or cancel it",
                              {.thread_id = key.second});
    }
    return run;
}

std::unique_ptr<RunTable::Place> RunTable::reserve(const std::shared_ptr<Endpoint>& endpoint, const ThreadId& thread) {
    return std::make_unique<Place>(shared_from_this(), endpoint, thread);
}

RunTable::Place::Place(std::shared_ptr<RunTable> table, std::shared_ptr<Endpoint> endpoint, const ThreadId& thread)
    : table_(std::move(table)),
      endpoint_(std::move(endpoint)),
      thread_(thread),
      run_(table_->add({endpoint_.get(), thread_.toString()})) {}

RunTable::Place::~Place() {
    if (run_) table_->end({endpoint_.get(), thread_.toString()}, nullptr);
}

std::shared_ptr<ActiveRun> RunTable::Place::begin(const Begin& work,
                                                  std::shared_ptr<stategraph::detail::SubscriptionImpl> listener) {
    const Key key{endpoint_.get(), thread_.toString()};
    run_->tell(std::move(listener));
    RunConfig config = endpoint_->options().config;
    config.thread_id = thread_;
    config.hub = &endpoint_->hub();
    config.control = run_->control();
    spawn(table_->executor_, work(std::move(config)),
          [table = table_, key, endpoint = endpoint_](Outcome<void> outcome) { table->end(key, outcome.error()); });
    return std::move(run_);
}

std::shared_ptr<ActiveRun> RunTable::find(const Endpoint& endpoint, const ThreadId& thread) const {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find({&endpoint, thread.toString()});
    return found == runs_.end() ? nullptr : found->second;
}

std::size_t RunTable::size() const {
    const std::lock_guard lock(mutex_);
    return runs_.size();
}

void RunTable::drain() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const auto& [key, run] : runs_) run->control()->requestDrain("the server is about to end");
}

void RunTable::stop() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const auto& [key, run] : runs_) run->control()->requestStop();
}

bool RunTable::waitUntilEmpty(std::chrono::milliseconds patience) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return runs_.empty(); });
}

void RunTable::end(const Key& key, std::exception_ptr error) noexcept {
    std::shared_ptr<ActiveRun> run;
    {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(key);
        run = std::move(found->second);
        runs_.erase(found);
        changed_.notify_all();
    }
    run->end(std::move(error));
}

}  // namespace stategraph::serve
