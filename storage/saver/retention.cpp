#include "storage/saver/retention.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>

#include <unistd.h>

#include <stategraph/error.hpp>

#include "src/value/times.hpp"

namespace stategraph::checkpoint {
namespace {

// Longer waits make no difference, and clocks cannot count any number of milliseconds.
constexpr std::chrono::milliseconds wait_max = std::chrono::hours(365 * 24);

void checkAge(const char* option, const std::optional<std::chrono::milliseconds>& age) {
    if (age && age->count() < 0) {
        throw InvalidArgumentError(std::string("retention: ") + option + " is " + times::textOf(*age) +
                                   "; it is an age and cannot be negative");
    }
}

}  // namespace

void checkRetention(const RetentionOptions& options) {
    if (!options.keep_last && !options.older_than && !options.threads_unused_for) {
        throw InvalidArgumentError(
            "retention: none of keep_last, older_than and threads_unused_for is given; say what may be dropped");
    }
    if (options.keep_last && *options.keep_last < 1) {
        throw InvalidArgumentError(
            "retention: keep_last is 0, but a log's newest checkpoint is never dropped; use at least 1");
    }
    checkAge("older_than", options.older_than);
    checkAge("threads_unused_for", options.threads_unused_for);
    if (options.every.count() < 1) {
        throw InvalidArgumentError("retention: every is " + times::textOf(options.every) + "; use at least 1 ms");
    }
}

PruneRequest pruneAt(const RetentionOptions& options, std::chrono::system_clock::time_point now) {
    const auto dateOf = [&](const std::optional<std::chrono::milliseconds>& age) {
        return age ? std::optional(times::before(now, *age)) : std::nullopt;
    };
    return {.thread_id = {},
            .keep_last = options.keep_last,
            .older_than = dateOf(options.older_than),
            .threads_unused_since = dateOf(options.threads_unused_for),
            .rewrite = Rewrite::when_it_pays};
}

Retention::Retention(BaseCheckpointSaver& saver, const RetentionOptions& options)
    : saver_(saver), options_(options), process_(::getpid()) {
    checkRetention(options);
    try {
        thread_ = std::thread([this]() noexcept { run(); });
    } catch (const std::system_error& error) {
        throw SaverError(std::string("retention: cannot start its thread: ") + error.what());
    }
}

Retention::~Retention() {
    {
        const detail::LockGuard lock(mutex_);
        is_stopping_ = true;
    }
    stop_.notify_all();
    thread_.join();
}

bool Retention::isOwnProcess() const noexcept { return process_ == ::getpid(); }

void endRetention(std::unique_ptr<Retention>& retention) noexcept {
    if (retention != nullptr && !retention->isOwnProcess()) (void)retention.release();
    retention.reset();
}

RetentionReport Retention::report() const {
    const detail::LockGuard lock(mutex_);
    return report_;
}

void Retention::run() noexcept {
    detail::UniqueLock lock(mutex_);
    while (!is_stopping_) {
        lock.unlock();
        pruneOnce();
        lock.lock();
        stop_.wait_for(lock.native(), std::min(options_.every, wait_max),
                       [this]() SG_REQUIRES(mutex_) { return is_stopping_; });
    }
}

void Retention::pruneOnce() noexcept {
    std::size_t dropped = 0;
    std::vector<DamagedThread> damaged;
    std::exception_ptr error;
    try {
        PruneRequest request = pruneAt(options_, std::chrono::system_clock::now());
        request.damaged = &damaged;
        dropped = saver_.prune(request);
    } catch (...) {
        error = std::current_exception();
    }
    const detail::LockGuard lock(mutex_);
    ++report_.runs;
    report_.dropped_commits += dropped;
    report_.last_run_at = std::chrono::system_clock::now();
    report_.damaged = std::move(damaged);
    if (!error) return;
    ++report_.failed_runs;
    try {
        report_.last_error = detail::describe(error);
    } catch (...) {
        report_.last_error.assign("out of memory");  // this text is short enough to need no memory
    }
}

}  // namespace stategraph::checkpoint
