#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/thread_hold.hpp>

#include "storage/postgres/postgres_pool.hpp"

namespace stategraph::checkpoint {

/// The threads that a saver's runs hold (postgres_hold_tables.hpp), and the session that says that the saver is alive.
/// A thread of this object has that session, opens it again when it is lost, and gives holds back. Safe from any
/// thread.
class PostgresThreadHolds : public std::enable_shared_from_this<PostgresThreadHolds> {
public:
    /// Connects nowhere yet.
    PostgresThreadHolds(const PostgresPoolSettings& settings, const std::string& quoted_schema);
    PostgresThreadHolds(const PostgresThreadHolds&) = delete;
    PostgresThreadHolds& operator=(const PostgresThreadHolds&) = delete;
    ~PostgresThreadHolds();

    /// As PostgresSaver::tryHold. The hold may outlive the saver, but not this object, which it owns too.
    std::unique_ptr<ThreadHold> tryHold(PostgresPool& pool, std::string_view thread_id);

    /// The epoch under which puts to the thread are made; none: it is not held.
    std::optional<std::int64_t> epochOf(std::string_view thread_id) const SG_EXCLUDES(mutex_);
    /// A put found that the epoch is not the thread's: takes the thread again if nobody else has it. Then a put is
    /// decided by the log alone. Returns false if somebody else has it. If the run has ended meanwhile, the thread is
    /// given back at once, and the put is made as one without a hold.
    bool holdAgain(PostgresConnection& connection, std::string_view thread_id) SG_EXCLUDES(mutex_);
    /// A put ended the hold in its statement.
    void noteEnded(std::string_view thread_id) noexcept SG_EXCLUDES(mutex_);

private:
    using Clock = std::chrono::steady_clock;
    class Hold;
    class Signal;
    struct Held {
        std::int64_t epoch = 0;  // 0: it is being asked for
        bool has_ended = false;
        bool is_taken_again = false;  // so that it is not known which of the two a put has ended
    };
    struct Tries {
        std::uint64_t begun = 0;
        std::uint64_t failed = 0;  // the number of the one that failed last
        std::string why = {};
    };
    using Ended = std::map<std::string, std::int64_t, std::less<>>;

    void giveBack(const std::string& thread_id) noexcept SG_EXCLUDES(mutex_);
    Clock::time_point awaitSession() SG_EXCLUDES(mutex_);
    void run() noexcept;
    void noteTry() SG_EXCLUDES(mutex_);
    void serve();
    void lockNumber(PostgresConnection& connection);
    void sendEnded(PostgresConnection& session) SG_EXCLUDES(mutex_);

    const PostgresPoolSettings settings_;
    const PostgresErrors errors_;
    const pid_t process_;
    const PostgresStatement hold_;        // thread, holder → epoch or null
    const PostgresStatement give_back_;   // threads, epochs
    const PostgresStatement lock_;        // holder
    const PostgresStatement new_number_;  // → a holder that no other object is
    const PostgresStatement tidy_;        // holder: removes holds of others that are gone
    const PostgresStatement note_start_;  // postgres_note_start
    std::atomic<std::uint64_t> round_trips_{0};
    std::atomic<std::int64_t> number_{0};  // the holder; 0: the session was not opened yet
    std::unique_ptr<Signal> signal_;
    Ended sending_;  // of the thread alone

    mutable detail::Mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Held, std::less<>> held_ SG_GUARDED_BY(mutex_);
    Ended ended_ SG_GUARDED_BY(mutex_);                  // to be given back
    std::uint64_t ends_ SG_GUARDED_BY(mutex_) = 0;       // how many were to be given back
    std::uint64_t ends_sent_ SG_GUARDED_BY(mutex_) = 0;  // how many of them were
    bool is_alive_ SG_GUARDED_BY(mutex_) = false;        // the session is there
    Clock::time_point came_ SG_GUARDED_BY(mutex_) = {};  // when it was opened first
    Tries tries_ SG_GUARDED_BY(mutex_) = {};             // to open the session
    bool is_ending_ SG_GUARDED_BY(mutex_) = false;
    std::thread thread_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::checkpoint
