#include "checkpoint/retention.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {
namespace {

// Waiting longer makes no difference to anyone, and clocks cannot count any number of milliseconds.
constexpr std::int64_t wait_max_ms = std::int64_t{365} * 24 * 60 * 60 * 1000;

std::int64_t nowUnixMs() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void checkAge(const char* option, const std::optional<std::int64_t>& age_ms) {
    if (age_ms && *age_ms < 0) {
        throw InvalidArgumentError(std::string("retention: ") + option + " is " + std::to_string(*age_ms) +
                                   "; it is an age in milliseconds and cannot be negative");
    }
}

}  // namespace

void checkRetention(const RetentionOptions& options) {
    if (!options.keep_last && !options.older_than_ms && !options.threads_unused_ms) {
        throw InvalidArgumentError("retention: none of keep_last, older_than_ms and threads_unused_ms is given; say what may be dropped");
    }
    if (options.keep_last && *options.keep_last < 1) {
        throw InvalidArgumentError("retention: keep_last is 0, but a log's newest checkpoint is never dropped; use at least 1");
    }
    checkAge("older_than_ms", options.older_than_ms);
    checkAge("threads_unused_ms", options.threads_unused_ms);
    if (options.every_ms < 1) {
        throw InvalidArgumentError("retention: every_ms is " + std::to_string(options.every_ms) + "; use at least 1");
    }
}

PruneRequest pruneAt(const RetentionOptions& options, std::int64_t now_unix_ms) {
    const auto dateOf = [&](const std::optional<std::int64_t>& age_ms) {
        return age_ms ? std::optional<std::int64_t>(now_unix_ms - *age_ms) : std::nullopt;
    };
    return {.thread_id = {},
            .keep_last = options.keep_last,
            .older_than_unix_ms = dateOf(options.older_than_ms),
            .threads_unused_since_unix_ms = dateOf(options.threads_unused_ms),
            .rewrite = Rewrite::when_it_pays};
}

Retention::Retention(BaseCheckpointSaver& saver, const RetentionOptions& options) : saver_(saver), options_(options) {
    checkRetention(options);
    try {
        thread_ = std::thread([this]() noexcept { run(); });
    } catch (const std::system_error& error) {
        throw SaverError(std::string("retention: cannot start its thread: ") + error.what());
    }
}

Retention::~Retention() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    stop_.notify_all();
    thread_.join();
}

RetentionReport Retention::report() const {
    const std::lock_guard lock(mutex_);
    return report_;
}

void Retention::run() noexcept {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        lock.unlock();
        pruneOnce();
        lock.lock();
        stop_.wait_for(lock, std::chrono::milliseconds(std::min(options_.every_ms, wait_max_ms)), [this] { return is_stopping_; });
    }
}

void Retention::pruneOnce() noexcept {
    std::size_t dropped = 0;
    std::vector<DamagedThread> damaged;
    std::exception_ptr error;
    try {
        PruneRequest request = pruneAt(options_, nowUnixMs());
        request.damaged = &damaged;
        dropped = saver_.prune(request);
    } catch (...) {
        error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ++report_.runs;
    report_.dropped_commits += dropped;
    report_.last_run_unix_ms = nowUnixMs();
    report_.damaged = std::move(damaged);
    if (!error) return;
    ++report_.failed_runs;
    try {
        report_.last_error = detail::describe(error);
    } catch (...) {
        report_.last_error.assign("out of memory");  // short enough to need none
    }
}

}  // namespace stategraph::checkpoint
