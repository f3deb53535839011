#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/cache.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/store.hpp>

namespace stategraph {

/// The options of a StoreCache.
struct StoreCacheOptions {
    /// Where the store keeps the entries: a namespace of their own, of at most 30 labels.
    StoreNamespace ns = {"cache"};
    /// The cache holds about this many bytes of namespaces, keys, values and bookkeeping, of all processes together; at
    /// least 64 KiB. The entries are in 64 parts of equal size. A part that is full removes those that were written
    /// longest ago; between two of these removals each object may write an eighth more. An entry that is larger than a
    /// part by itself is not kept, and a part holds at most 4,096 entries.
    std::uint64_t bytes_max = std::uint64_t{1} << 30U;
};

/// Keeps results in a store: in memory, RocksDB, SQLite, PostgreSQL, or one of your own. They outlive the process and
/// are shared between processes as the store's items are, and are encrypted if the store is (StoreOptions::cipher).
///
/// An entry is one item, which is never embedded and whose time to live a `get` does not extend; the store's clock
/// decides when it is over. Cost: a `get` is one get of the store, a `set` one put. The first `set` of an object in
/// each part, and one in an eighth of a part's bytes, read that part too. `clear` reads what it removes. Errors:
/// InvalidArgumentError without a store or with a `bytes_max` that is too small; otherwise the store's.
class StoreCache final : public BaseCache {
public:
    explicit StoreCache(std::shared_ptr<BaseStore> store, StoreCacheOptions options = {});
    ~StoreCache() override;

    std::optional<std::string> get(std::string_view ns, std::string_view key) override;
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds> ttl) override;
    void remove(std::string_view ns, std::string_view key) override;
    void clear(std::string_view ns) override;
    void clear() override;

    /// The statistics of this object. It takes no lock: numbers that are read while other threads use the cache need
    /// not be of the same moment.
    CacheStats stats() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
