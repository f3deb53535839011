#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>
#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// The options of a SqliteCache.
struct SqliteCacheOptions {
    /// The cache holds at most this many bytes of namespaces, keys, values and bookkeeping (an estimate), of all
    /// processes together; at least 1. A `set` that would pass the limit of its own object removes the entries written
    /// longest ago, until a tenth is free; a value that is larger than that by itself is not kept.
    std::uint64_t bytes_max = std::uint64_t{1} << 30U;
    /// How long a write waits for the writes of other processes before it is a SaverError; at least 0.
    std::chrono::milliseconds busy_timeout = std::chrono::seconds(10);
    /// Provides the time in tests (IdSource::now). None: the system's clock does.
    std::shared_ptr<IdSource> clock = {};
    /// Is the same option as SqliteSaverOptions::owner_only.
    bool owner_only = true;
};

/// Keeps results in a SQLite file, so that they outlive the process and all processes of one computer share them. It
/// may be the file of a SqliteSaver and of a SqliteStore: each has tables of its own, and the writes of one wait for
/// those of the others.
///
/// Nothing is synced: a failure of the machine loses the last entries. A write that fails throws SaverError, and the
/// first one after the obstacle is gone succeeds. Errors of the constructor: InvalidArgumentError, SaverError,
/// CorruptCheckpointError, with the path, as those of SqliteSaver. What fork() forbids is the same too. Link
/// `stategraph::sqlite`.
class SqliteCache final : public BaseCache {
public:
    explicit SqliteCache(const std::string& path, const SqliteCacheOptions& options = {});
    ~SqliteCache() override;

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
