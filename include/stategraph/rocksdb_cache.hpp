#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>
#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// The options of a RocksDBCache.
struct RocksDBCacheOptions {
    /// The cache holds at most this many bytes of keys and values, as they are before RocksDB packs them; at least 1.
    /// The entries written longest ago make room, until a tenth is free; one that is larger than that by itself is not
    /// kept.
    std::uint64_t bytes_max = std::uint64_t{1} << 30U;
    /// Provides the time in tests (IdSource::now). None: the system's clock does.
    std::shared_ptr<IdSource> clock = {};
    /// Is the same option as RocksDBSaverOptions::owner_only.
    bool owner_only = true;
};

/// Keeps results in a RocksDB database of its own (a folder), so that they outlive the process.
///
/// One object of one process at a time may have it open, however the path is spelt. A failed write throws SaverError,
/// and the next one succeeds once the cause is removed. Nothing is synced: a failure of the machine loses the last
/// entries. Opening reads one small row for each entry. Errors of the constructor: InvalidArgumentError, SaverError
/// (missing rights, locked, a folder of something else, a saver's too), CorruptCheckpointError, with the path; a cache
/// that is damaged can be deleted. Link `stategraph::rocksdb`.
class RocksDBCache final : public BaseCache {
public:
    explicit RocksDBCache(const std::string& path, const RocksDBCacheOptions& options = {});
    ~RocksDBCache() override;

    std::optional<std::string> get(std::string_view ns, std::string_view key) override;
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds> ttl) override;
    void remove(std::string_view ns, std::string_view key) override;
    void clear(std::string_view ns) override;
    void clear() override;

    /// The bytes that count towards the limit.
    std::uint64_t storedBytes() const;
    /// The statistics of this process. It takes no lock: numbers that are read while other threads use the cache need
    /// not be of the same moment.
    CacheStats stats() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
