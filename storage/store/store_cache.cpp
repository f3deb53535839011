#include <stategraph/store_cache.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "storage/store/check.hpp"

// Where an entry is: namespace [options.ns…, part, hash of its namespace], key: hash of its key. The value is
// {"entry": [namespace, key, value]}, three byte strings, so that equal hashes mix nothing up.
namespace stategraph {
namespace {

constexpr std::uint64_t parts = 64;
constexpr std::uint64_t entries_of_part = 4096;
constexpr std::uint64_t bytes_least = 64U << 10U;
// The size of the rows of an item in addition to its bytes.
constexpr std::uint64_t row_cost_bytes = 256;

std::string hex(std::uint64_t number, int digits) {
    std::string text;
    for (int digit = digits - 1; digit >= 0; --digit) text += "0123456789abcdef"[(number >> (4 * digit)) & 15U];
    return text;
}

std::string hexHash(std::string_view bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return hex(hash.high64, 16) + hex(hash.low64, 16);
}

struct Entry {
    std::string_view ns = {};
    std::string_view key = {};
    std::string_view value = {};
};

Value valueOf(const Entry& entry) {
    std::string bytes;
    Encoder out(bytes);
    out.map(1);
    out.text("entry");
    out.array(3);
    for (const std::string_view part : {entry.ns, entry.key, entry.value}) out.bytes(part);
    return Value::fromCbor(std::move(bytes));
}

// The views are valid as long as the value is.
Entry entryOf(const Value& value) {
    Decoder in(value.bytes());
    if (in.map() != 1 || in.text() != "entry" || in.array() != 3)
        throw WrongTypeError("expected an entry of a StoreCache");
    Entry entry;
    entry.ns = in.bytes();
    entry.key = in.bytes();
    entry.value = in.bytes();
    return entry;
}

}  // namespace

struct StoreCache::Impl {
    struct Place {
        std::uint64_t part;
        StoreNamespace ns;
        std::string key;
    };

    Impl(std::shared_ptr<BaseStore> in, StoreCacheOptions chosen) : store(std::move(in)), options(std::move(chosen)) {
        if (!store) throw InvalidArgumentError("StoreCache: the store is null; give it the store that keeps entries");
        if (options.bytes_max < bytes_least) {
            throw InvalidArgumentError("StoreCacheOptions::bytes_max is " + std::to_string(options.bytes_max) +
                                       "; it must be at least 65536");
        }
        stores::checkNamespace(options.ns);
        stores::checkNamespace(placeOf("", "").ns);
        part_bytes = std::min(options.bytes_max / parts, std::uint64_t{store_limits::value_bytes_max} - 1024);
        // The first set of each part looks what earlier processes have left there.
        for (auto& bytes : written) bytes = part_bytes;
    }

    StoreNamespace partSpace(std::uint64_t part) const {
        StoreNamespace ns = options.ns;
        ns.push_back(hex(part, 2));
        return ns;
    }
    Place placeOf(std::string_view ns, std::string_view key) const {
        const std::string hash = hexHash(key);
        Place place{.part = XXH3_64bits(hash.data(), hash.size()) % parts, .ns = {}, .key = hash};
        place.ns = partSpace(place.part);
        place.ns.push_back(hexHash(ns));
        return place;
    }

    std::uint64_t sizeOf(const Entry& entry) const {
        return std::max(entry.ns.size() + entry.key.size() + entry.value.size() + row_cost_bytes,
                        part_bytes / entries_of_part);
    }

    StoreResult find(StoreNamespace ns, std::size_t limit) const {
        SearchQuery query{.namespace_prefix = std::move(ns), .limit = limit, .refresh_ttl = false};
        return std::move(store->batch({StoreOp(std::move(query))}).front());
    }

    void removeAll(std::vector<StoreOp>& removals) const {
        for (std::size_t done = 0; done < removals.size(); done += store_limits::batch_max)
            (void)store->batch(
                std::span(removals).subspan(done, std::min(removals.size() - done, store_limits::batch_max)));
    }

    // Removes the entries of a part that were written longest ago until an eighth is free, and those that cannot be
    // read.
    void trim(std::uint64_t part) const {
        StoreResult found = find(partSpace(part), store_limits::limit_max);
        std::vector<StoreOp> removals;
        for (DamagedItem& item : found.damaged) removals.emplace_back(PutOp{std::move(item.ns), std::move(item.key)});
        std::ranges::stable_sort(found.items, {}, &StoreItem::updated_at);
        std::uint64_t left = 0;
        for (const SearchItem& item : found.items) left += sizeOf({.value = item.value.bytes()});
        if (left > part_bytes) {
            for (SearchItem& item : found.items) {
                if (left <= part_bytes - part_bytes / 8) break;
                left -= sizeOf({.value = item.value.bytes()});
                removals.emplace_back(PutOp{std::move(item.ns), std::move(item.key)});
            }
        }
        removeAll(removals);
    }

    // A page of a search holds values too, so it is short.
    void clear(const StoreNamespace& ns) const {
        for (;;) {
            StoreResult found = find(ns, 64);
            std::vector<StoreOp> removals;
            for (DamagedItem& item : found.damaged)
                removals.emplace_back(PutOp{std::move(item.ns), std::move(item.key)});
            for (SearchItem& item : found.items) removals.emplace_back(PutOp{std::move(item.ns), std::move(item.key)});
            if (removals.empty()) return;
            removeAll(removals);
        }
    }

    const std::shared_ptr<BaseStore> store;
    const StoreCacheOptions options;
    std::uint64_t part_bytes = 0;
    // What this object has written in each part since it was trimmed.
    std::array<std::atomic<std::uint64_t>, parts> written;
    std::atomic<std::uint64_t> hits = 0;
    std::atomic<std::uint64_t> misses = 0;
    std::atomic<std::uint64_t> stores_kept = 0;
};

StoreCache::StoreCache(std::shared_ptr<BaseStore> store, StoreCacheOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options))) {}
StoreCache::~StoreCache() = default;

std::optional<std::string> StoreCache::get(std::string_view ns, std::string_view key) {
    Impl::Place place = impl_->placeOf(ns, key);
    if (const auto item = impl_->store->get(std::move(place.ns), std::move(place.key), false)) {
        const Entry entry = entryOf(item->value);
        if (entry.ns == ns && entry.key == key) {
            impl_->hits.fetch_add(1, std::memory_order_relaxed);
            return std::string(entry.value);
        }
    }
    impl_->misses.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
}

void StoreCache::set(std::string_view ns, std::string_view key, std::string_view value,
                     std::optional<std::chrono::milliseconds> ttl) {
    const Entry entry{.ns = ns, .key = key, .value = value};
    const std::uint64_t size = impl_->sizeOf(entry);
    if (size > impl_->part_bytes) return remove(ns, key);
    Impl::Place place = impl_->placeOf(ns, key);
    PutOptions options{.ttl = std::chrono::milliseconds(0), .index = std::vector<std::string>()};
    if (ttl && *ttl <= store_limits::ttl_max) options.ttl = *ttl;
    impl_->store->put(std::move(place.ns), std::move(place.key), valueOf(entry), std::move(options));
    impl_->stores_kept.fetch_add(1, std::memory_order_relaxed);
    std::atomic<std::uint64_t>& written = impl_->written[place.part];
    if (written.fetch_add(size, std::memory_order_relaxed) + size < impl_->part_bytes / 8) return;
    written = 0;
    impl_->trim(place.part);
}

void StoreCache::remove(std::string_view ns, std::string_view key) {
    Impl::Place place = impl_->placeOf(ns, key);
    impl_->store->remove(std::move(place.ns), std::move(place.key));
}

void StoreCache::clear(std::string_view ns) {
    for (std::uint64_t part = 0; part < parts; ++part) {
        StoreNamespace space = impl_->partSpace(part);
        space.push_back(hexHash(ns));
        impl_->clear(space);
    }
}

void StoreCache::clear() { impl_->clear(impl_->options.ns); }

CacheStats StoreCache::stats() const {
    return {.hits = impl_->hits.load(std::memory_order_relaxed),
            .misses = impl_->misses.load(std::memory_order_relaxed),
            .stores = impl_->stores_kept.load(std::memory_order_relaxed)};
}

}  // namespace stategraph
