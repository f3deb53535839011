#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/postgres/postgres_joiner.hpp"
#include "storage/postgres/postgres_notifier.hpp"
#include "storage/postgres/postgres_pool.hpp"
#include "storage/postgres/postgres_statements.hpp"
#include "storage/postgres/postgres_tables.hpp"
#include "storage/postgres/postgres_thread_holds.hpp"
#include "storage/saver/call_threads.hpp"
#include "storage/saver/retention.hpp"

// What the PostgreSQL saver's files share. postgres_tables.hpp defines the rows. A call stores or removes rows in a
// single statement, which is a transaction (a prune uses one transaction for each thread), and reads them in a single
// statement too.
namespace stategraph::checkpoint {

/// Calls `call`, and adds the log to its errors.
template <class Call>
auto ofPostgresLog(const LogName& log, Call&& call) {
    try {
        return call();
    } catch (Error& error) {
        error.addContext({.thread_id = std::string(log.thread_id), .checkpoint_ns = std::string(log.checkpoint_ns)});
        throw;
    }
}

/// Throws LeaseLostError, because the epoch is no longer the thread's.
[[noreturn]] void refuseLease(std::int64_t epoch);
/// The same, for a thread that was held outside the queue.
[[noreturn]] void refuseHold(std::int64_t epoch);
/// Throws ConcurrentUpdateError, because an input that was to be taken does not exist.
[[noreturn]] void refuseInput(std::int64_t number);

/// Throws InvalidArgumentError for invalid options.
const PostgresSaverOptions& checkedOptions(const PostgresSaverOptions& options);
/// Throws if the schema does not have the tables of this library's version.
void checkPostgresFormat(PostgresConnection& connection);
/// Creates them, if they do not exist.
void setUpPostgres(PostgresConnection& connection);

}  // namespace stategraph::checkpoint

namespace stategraph {

struct PostgresSaver::Impl {
    Impl(const std::string& conninfo, const PostgresSaverOptions& options)
        : pool(checkpoint::poolSettings(conninfo, options)),
          schema(options.schema),
          quoted_schema(checkpoint::quotedName(options.schema)),
          statements(options.schema),
          holds(std::make_shared<checkpoint::PostgresThreadHolds>(pool.settings(), quoted_schema)),
          joiner(pool, statements, options.join_puts),
          read_only(options.read_only),
          commits_ahead(options.commits_ahead),
          threads(std::make_unique<checkpoint::CallThreads>(options.async_threads)) {}

    /// Looks at the schema, or sets it up, before anything else is called.
    void open(bool set_up);
    /// Throws SaverError if it was opened for reading only.
    void checkWritable() const;
    /// `lease` may be null.
    void checkAndPut(const PutRequest& request, const PutLease* lease);
    /// Throws what is wrong with a request before it is sent.
    void checkRequest(const PutRequest& request) const;
    void put(const PutRequest& request, const PutLease* lease);
    /// Notifies others of a request that is stored.
    void tellStored(const PutRequest& request, const PutLease* lease) const noexcept;
    /// Notifies others of what was stored.
    void tellOthers(PostgresNotice notice, std::string_view name = {}) const noexcept {
        if (notifier) notifier->note(notice, name);
    }
    /// Stores what was not stored together with others. `reconnects`: waits for a server that restarts, if the
    /// connection was or is lost.
    enum class Reconnect : bool { once, for_a_while };
    void putAlone(const checkpoint::PostgresPut& put, checkpoint::PostgresJoiner::Outcome outcome,
                  Reconnect reconnect = Reconnect::for_a_while);
    class LaterPut;
    void beginPut(const PutRequest& request, const PutLease* lease, PutCompletion& completion) noexcept;
    void putLater(const checkpoint::PostgresPut& put, checkpoint::PostgresJoiner::Outcome outcome);
    void deleteThread(std::string_view thread_id, const std::int64_t* epoch);
    std::size_t pruneThread(const std::string& thread_id, const PruneRequest& request);

    checkpoint::PostgresPool pool;
    const std::string schema;
    const std::string quoted_schema;
    const checkpoint::PostgresStatements statements;
    std::shared_ptr<checkpoint::PostgresThreadHolds> holds;
    checkpoint::PostgresJoiner joiner;
    const bool read_only;
    const std::size_t commits_ahead;
    std::atomic<bool> is_closing{false};
    std::unique_ptr<checkpoint::PostgresNotifier> notifier;  // null: nothing is sent
    std::unique_ptr<checkpoint::Retention> retention;
    // Of asynchronous calls. The time is that at which one of them gave up to reconnect, as a count of the clock.
    std::unique_ptr<checkpoint::CallThreads> threads;
    std::atomic<std::chrono::steady_clock::rep> gave_up{0};
};

}  // namespace stategraph
