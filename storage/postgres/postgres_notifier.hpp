#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/postgres_listener.hpp>
#include <stategraph/postgres_saver.hpp>

#include "storage/postgres/postgres_pool.hpp"

namespace stategraph::checkpoint {

/// Throws InvalidArgumentError for invalid options.
void checkPostgresNotify(const PostgresNotifyOptions& options);

/// Sends a saver's notifications from a thread of its own, as long as this object exists. NOTIFY takes a lock of the
/// whole database until its transaction has ended, so each statement has all notifications of an interval, and no
/// statement of the saver's has one. What cannot be sent is dropped. Safe from any thread.
class PostgresNotifier {
public:
    /// The pool must outlive this object. Errors: std::system_error if no thread can be started.
    PostgresNotifier(PostgresPool& pool, const PostgresNotifyOptions& options);
    PostgresNotifier(const PostgresNotifier&) = delete;
    PostgresNotifier& operator=(const PostgresNotifier&) = delete;
    /// Sends what waits, once, unless the server does not answer.
    ~PostgresNotifier();

    /// Notes something to be sent if the options ask for it. Cost: a search among those that wait, at most 1,000.
    void note(PostgresNotice notice, std::string_view name) noexcept SG_EXCLUDES(mutex_);
    std::uint64_t sent() const noexcept { return sent_; }

private:
    void run() noexcept;
    void send(const std::set<std::string>& texts) noexcept;

    PostgresPool& pool_;
    const PostgresNotifyOptions options_;
    const std::string channel_;
    std::atomic<std::uint64_t> sent_{0};
    detail::Mutex mutex_;
    std::condition_variable changed_;
    std::set<std::string> waiting_ SG_GUARDED_BY(mutex_);
    bool is_ending_ SG_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

}  // namespace stategraph::checkpoint
