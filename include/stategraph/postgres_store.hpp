#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/store.hpp>

namespace stategraph {

/// The options of a PostgresStore.
struct PostgresStoreOptions {
    /// The schema of the tables: any name of 1 to 63 bytes. It may be the schema of a PostgresSaver.
    std::string schema = "stategraph";
    /// Call `PostgresStore::setUp` when opening. Off: a schema without a store's tables is an error that says so.
    bool set_up = false;
    /// Open for reading only; puts and sweep() then throw StoreError, and reads do not refresh times to live. A standby
    /// server can be read in this way.
    bool read_only = false;
    /// Whether a put returns only when it is on the server's disk (synchronous_commit=on). Off: a put survives the
    /// death of this process; a crash of the server loses at most the newest ones, of about half a second.
    bool sync = false;
    /// There are at most this many connections, each for one call at a time; the limits of this and of the options
    /// below are those of PostgresSaverOptions.
    std::size_t connections_max = 8;
    /// How long a call waits for a free connection.
    std::chrono::milliseconds connection_wait = std::chrono::seconds(10);
    /// How long opening one connection may take.
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
    /// How long one statement may take.
    std::chrono::milliseconds statement_timeout = std::chrono::seconds(30);
    /// How long a call whose connection broke tries to open another one.
    std::chrono::milliseconds reconnect_for = std::chrono::seconds(5);
    /// Turn it off for connections through a pooler in transaction mode.
    bool prepared_statements = true;
};

/// Keeps items in a PostgreSQL database (12 or newer), which any number of processes of any number of computers read
/// and write at once.
///
/// One batch of puts is one transaction, which locks its items, reads and writes them: two processes that put one item
/// at the same time do so one after the other. Times come from the clock of the process that calls.
///
/// Cost in round trips: a get 1; a batch of puts 3; a search or a listing 2, and 1 more for each page of rows that it
/// walks (up to 1,024 rows or 4 MiB), a listing for each namespace that is not on the page. On a server older than 13 a
/// page costs as much as all rows after it.
///
/// A call whose connection breaks makes a new one, and reads once more. A put first looks whether it was stored, and is
/// made once more if it was not; a StoreError says if that could not be found out. Other errors are those of
/// PostgresSaver, as StoreError and CorruptStoreError. After fork() the child must not use an object that its parent
/// made: each call throws StoreError there. Link `stategraph::postgres`.
class PostgresStore final : public BaseStore {
public:
    /// `conninfo` is libpq's, as PostgresSaver's. Cost: a connection and two round trips.
    explicit PostgresStore(const std::string& conninfo, const StoreOptions& options = {},
                           const PostgresStoreOptions& database = {});
    ~PostgresStore() override;

    /// Creates the schema and the store's tables if they do not exist. Several processes may call it at the same time.
    /// It needs permission to create objects in the database, or in the schema if that exists. It uses `schema` and the
    /// timeouts of the options. Errors: as opening.
    static void setUp(const std::string& conninfo, const PostgresStoreOptions& database = {});

    std::size_t sweep() override;

    /// How many requests this object has sent and waited for, those of opening connections included.
    std::uint64_t roundTrips() const noexcept;

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
