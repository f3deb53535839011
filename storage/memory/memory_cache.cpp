#include <stategraph/cache.hpp>

#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/id_source.hpp>

#include "src/value/times.hpp"

namespace stategraph {
namespace {

// The size of an entry in addition to its bytes: nodes of a list and a table, and three string objects.
constexpr std::size_t entry_cost_bytes = 224;

}  // namespace

struct MemoryCache::Impl {
    struct Entry {
        std::string ns;
        std::string key;
        std::string value;
        std::int64_t expires_unix_us;  // 0 means never
        std::size_t size() const noexcept { return ns.size() + 2 * key.size() + value.size() + entry_cost_bytes; }
    };
    using Entries = std::list<Entry>;
    using ByKey = std::unordered_map<std::string, Entries::iterator>;

    explicit Impl(const MemoryCacheOptions& chosen) : options(chosen) {
        if (options.bytes_max < 1)
            throw InvalidArgumentError("MemoryCacheOptions::bytes_max is 0; it must be at least 1");
    }

    std::int64_t now() const { return times::nowUs(options.clock ? *options.clock : IdSource::system()); }

    void erase(Entries::iterator entry) SG_REQUIRES(mutex) {
        const auto space = by_ns.find(entry->ns);
        space->second.erase(entry->key);
        if (space->second.empty()) by_ns.erase(space);
        bytes -= entry->size();
        entries.erase(entry);
    }
    Entries::iterator find(std::string_view ns, std::string_view key) SG_REQUIRES(mutex) {
        const auto space = by_ns.find(std::string(ns));
        if (space == by_ns.end()) return entries.end();
        const auto found = space->second.find(std::string(key));
        return found == space->second.end() ? entries.end() : found->second;
    }

    const MemoryCacheOptions options;
    detail::Mutex mutex;
    Entries entries SG_GUARDED_BY(mutex);  // the most recently used first
    std::unordered_map<std::string, ByKey> by_ns SG_GUARDED_BY(mutex);
    std::size_t bytes SG_GUARDED_BY(mutex) = 0;
    CacheStats stats SG_GUARDED_BY(mutex);
};

MemoryCache::MemoryCache(const MemoryCacheOptions& options) : impl_(new Impl(options)) {}
MemoryCache::~MemoryCache() = default;

std::optional<std::string> MemoryCache::get(std::string_view ns, std::string_view key) {
    const detail::LockGuard lock(impl_->mutex);
    const auto found = impl_->find(ns, key);
    if (found == impl_->entries.end()) {
        ++impl_->stats.misses;
        return {};
    }
    if (found->expires_unix_us != 0 && impl_->now() >= found->expires_unix_us) {
        impl_->erase(found);
        ++impl_->stats.misses;
        return {};
    }
    ++impl_->stats.hits;
    impl_->entries.splice(impl_->entries.begin(), impl_->entries, found);
    return found->value;
}

void MemoryCache::set(std::string_view ns, std::string_view key, std::string_view value,
                      std::optional<std::chrono::milliseconds> ttl) {
    const detail::LockGuard lock(impl_->mutex);
    if (const auto before = impl_->find(ns, key); before != impl_->entries.end()) impl_->erase(before);
    Impl::Entry entry{std::string(ns), std::string(key), std::string(value), 0};
    const std::size_t size = entry.size();
    if (size > impl_->options.bytes_max) return;
    if (ttl) entry.expires_unix_us = times::expiryUs(impl_->now(), *ttl).value_or(0);
    while (impl_->bytes + size > impl_->options.bytes_max) impl_->erase(std::prev(impl_->entries.end()));
    impl_->entries.push_front(std::move(entry));
    impl_->bytes += size;
    try {
        impl_->by_ns[std::string(ns)].insert_or_assign(std::string(key), impl_->entries.begin());
    } catch (...) {
        if (const auto space = impl_->by_ns.find(std::string(ns)); space != impl_->by_ns.end() && space->second.empty())
            impl_->by_ns.erase(space);
        impl_->entries.pop_front();
        impl_->bytes -= size;
        throw;
    }
    ++impl_->stats.stores;
}

void MemoryCache::remove(std::string_view ns, std::string_view key) {
    const detail::LockGuard lock(impl_->mutex);
    if (const auto found = impl_->find(ns, key); found != impl_->entries.end()) impl_->erase(found);
}

void MemoryCache::clear(std::string_view ns) {
    const detail::LockGuard lock(impl_->mutex);
    const auto space = impl_->by_ns.find(std::string(ns));
    if (space == impl_->by_ns.end()) return;
    for (const auto& [key, entry] : space->second) {
        impl_->bytes -= entry->size();
        impl_->entries.erase(entry);
    }
    impl_->by_ns.erase(space);
}

void MemoryCache::clear() {
    const detail::LockGuard lock(impl_->mutex);
    impl_->by_ns.clear();
    impl_->entries.clear();
    impl_->bytes = 0;
}

std::size_t MemoryCache::storedBytes() const {
    const detail::LockGuard lock(impl_->mutex);
    return impl_->bytes;
}

std::size_t MemoryCache::entries() const {
    const detail::LockGuard lock(impl_->mutex);
    return impl_->entries.size();
}

CacheStats MemoryCache::stats() const {
    const detail::LockGuard lock(impl_->mutex);
    return impl_->stats;
}

}  // namespace stategraph
