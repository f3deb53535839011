#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/postgres_saver.hpp>

#include "storage/postgres/postgres_one_put.hpp"
#include "storage/postgres/postgres_pool.hpp"
#include "storage/postgres/postgres_statements.hpp"

namespace stategraph::checkpoint {

/// Throws InvalidArgumentError for options that cannot be.
void checkPostgresJoin(const PostgresJoinOptions& options);

/// Joins puts of threads of this process in one statement. A put that comes while fewer statements are under way than
/// may be is sent at once, by its own thread. One that comes later waits for one of them to end, and then goes with all
/// others that wait: the more there is to do, the more a statement has. A thread that waits for its put executes at
/// most one statement; a put for which no thread waits (Later) is executed by one that its owner provides.
///
/// A put is never with another one of its log. Puts with `sync` and without are not joined with each other.
/// Safe from any thread.
class PostgresJoiner {
public:
    /// All of them must outlive it.
    PostgresJoiner(PostgresPool& pool, const PostgresStatements& statements, const PostgresJoinOptions& options)
        : pool_(pool), statements_(statements), options_(options) {}

    enum class Outcome : std::uint8_t {
        stored,
        /// Nothing was stored. A statement for it alone finds out why, or stores it.
        alone,
        /// The connection was lost: whether it was stored is not known.
        lost,
    };
    /// Returns when the statement with this put has ended. Errors: SaverError if this thread was to execute it and got
    /// no connection.
    Outcome store(const PostgresPut& put);

    class Waiting;
    /// A put for which no thread waits.
    class Later {
    public:
        /// It is to execute the next statement: has a thread call `lead`. Must not call it itself.
        virtual void leads() noexcept = 0;
        /// Called once, on the thread that executed its statement; may destroy this.
        virtual void ended(Outcome outcome) noexcept = 0;
        /// Called instead, if it was to execute the statement and got no connection.
        virtual void failed(std::exception_ptr failure) noexcept = 0;

        std::unique_ptr<Waiting> waiting;  // for the joiner

    protected:
        Later() noexcept;
        ~Later();
    };
    /// Returns false if no joined statement can store it. Otherwise `later` learns of its end, and both must exist
    /// until then. Errors: std::bad_alloc.
    bool storeLater(const PostgresPut& put, Later& later);
    void lead(Later& later) noexcept;

    /// How many puts were stored together with others.
    std::uint64_t joined() const noexcept { return joined_; }

private:
    class Turn;

    bool mayJoin(const PostgresPut& put) const noexcept;
    bool beginOrWait(Waiting& own) SG_EXCLUDES(mutex_);

    Outcome lead(Waiting& own);
    void execute(PostgresConnection& connection, Turn& turn);
    bool isUnderWay(const Waiting& put) const SG_REQUIRES(mutex_);
    void note(const Waiting& put, int change) SG_REQUIRES(mutex_);
    Waiting* nextLeader() SG_REQUIRES(mutex_);

    PostgresPool& pool_;
    const PostgresStatements& statements_;
    const PostgresJoinOptions options_;
    std::atomic<std::uint64_t> joined_{0};

    mutable detail::Mutex mutex_;
    std::size_t leaders_ SG_GUARDED_BY(mutex_) = 0;
    // One for each put that waits; the oldest is the first.
    std::vector<Waiting*> queue_ SG_GUARDED_BY(mutex_);
    // How many puts are under way, by a hash of the log's name. Two logs with one hash wait for each other, and nothing
    // else.
    std::array<std::uint16_t, 1024> under_way_ SG_GUARDED_BY(mutex_) = {};
};

}  // namespace stategraph::checkpoint
