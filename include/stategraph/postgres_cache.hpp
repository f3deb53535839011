#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>
#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// The options of a PostgresCache.
struct PostgresCacheOptions {
    /// The schema of the tables: any name of 1 to 63 bytes. It may be the schema of a PostgresSaver and of a
    /// PostgresStore.
    std::string schema = "stategraph";
    /// Call `PostgresCache::setUp` when opening. Off: a schema without a cache's tables is an error that says so.
    bool set_up = false;
    /// The cache holds at most this many bytes of values and bookkeeping (an estimate), of all processes together; at
    /// least 1. A `set` that would pass the limit of its own object removes the entries written longest ago, until a
    /// tenth is free; a value that is larger than that by itself is not kept. Sets of other objects at the same moment
    /// may pass the limit by what they write.
    std::uint64_t bytes_max = std::uint64_t{1} << 30U;
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
    /// Provides the time in tests (IdSource::now). None: the system's clock does.
    std::shared_ptr<IdSource> clock = {};
};

/// Keeps results in a PostgreSQL database, where all processes of all computers share them.
///
/// A get or a set is one round trip. The tables are unlogged: a crash of the server empties the cache, and a standby
/// does not have it. If two processes set one entry at the same time, one of the two is kept. Times come from the clock
/// of the process that calls. Namespaces and keys are kept as their SHA-256.
///
/// A call whose connection breaks makes a new one and is made once more. Errors are SaverError and
/// CorruptCheckpointError, as PostgresSaver's; those of the constructor InvalidArgumentError too. After fork() the
/// child must not use an object that its parent made. Link `stategraph::postgres`.
class PostgresCache final : public BaseCache {
public:
    /// `conninfo` is libpq's, as PostgresSaver's. Cost: a connection and two round trips.
    explicit PostgresCache(const std::string& conninfo, const PostgresCacheOptions& options = {});
    ~PostgresCache() override;

    /// Creates the schema and the cache's tables if they do not exist, as PostgresStore::setUp does.
    static void setUp(const std::string& conninfo, const PostgresCacheOptions& options = {});

    std::optional<std::string> get(std::string_view ns, std::string_view key) override;
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds> ttl) override;
    void remove(std::string_view ns, std::string_view key) override;
    void clear(std::string_view ns) override;
    void clear() override;

    /// The bytes that count towards the limit: the entries of all processes.
    std::uint64_t storedBytes() const;
    /// The statistics of this object. It takes no lock: numbers that are read while other threads use the cache need
    /// not be of the same moment.
    CacheStats stats() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
