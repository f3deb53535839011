#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/owned.hpp>

namespace stategraph {

class IdSource;

/// Keeps results of nodes for tasks with the same input (NodeOptions::cache), as bytes under a namespace (one node of
/// one graph) and a key of 16 bytes.
///
/// A cache may forget any entry at any time; the caller checks what it returns. Several threads call the methods at the
/// same time. An exception of `get`, `set` or `remove` never makes a run fail: the node is then executed, or its result
/// is not kept.
class BaseCache {
public:
    virtual ~BaseCache() = default;

    /// The entry; none if it does not exist or has expired.
    virtual std::optional<std::string> get(std::string_view ns, std::string_view key) = 0;
    /// Replaces an entry. It is gone after `ttl` from now; none: it stays.
    virtual void set(std::string_view ns, std::string_view key, std::string_view value,
                     std::optional<std::chrono::milliseconds> ttl) = 0;
    virtual void remove(std::string_view ns, std::string_view key) = 0;
    /// Removes all entries of a namespace.
    virtual void clear(std::string_view ns) = 0;
    /// Removes all entries.
    virtual void clear() = 0;
};

/// How a cache was used since it was created.
struct CacheStats {
    /// How often `get` found an entry, and how often none.
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    /// How often `set` kept an entry; a value that is too large is not kept.
    std::uint64_t stores = 0;
};

/// The options of a MemoryCache.
struct MemoryCacheOptions {
    /// The cache holds at most this many bytes of values, names and bookkeeping (an estimate); at least 1. The entries
    /// not read or written for longest make room; a value that is larger by itself is not kept.
    std::size_t bytes_max = 64U << 20U;
    /// Provides the time in tests (IdSource::now). None: the system's clock does.
    std::shared_ptr<IdSource> clock = {};
};

/// Keeps results in memory. The least recently used ones make room for new ones.
///
/// Cost: a lookup in two hash tables and a copy of the value, under one lock. Errors of the constructor:
/// InvalidArgumentError.
class MemoryCache final : public BaseCache {
public:
    explicit MemoryCache(const MemoryCacheOptions& options = {});
    ~MemoryCache() override;

    std::optional<std::string> get(std::string_view ns, std::string_view key) override;
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds> ttl) override;
    void remove(std::string_view ns, std::string_view key) override;
    void clear(std::string_view ns) override;
    void clear() override;

    /// The bytes that count towards the limit.
    std::size_t storedBytes() const;
    std::size_t entries() const;
    CacheStats stats() const;

private:
    struct Impl;
    detail::Owned<Impl> impl_;
};

}  // namespace stategraph
