#include <stategraph/rocksdb_cache.hpp>

#include <algorithm>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/id_source.hpp>

#include "src/value/bytes.hpp"
#include "src/value/times.hpp"
#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/store/cache_counts.hpp"

// Rows:
//   "e" size(ns) ns key    -> expires number value    the entry; when it expires, in microseconds since 1970 (0: never), its number
//   "n" number             -> size row                by number, which ascends with each write: the entry's size in bytes and its row
// Sizes and numbers are 8 bytes, big endian. Both rows of an entry are written and removed together.
namespace stategraph {
namespace {

constexpr std::string_view cache_format_key = "stategraph.cache";
constexpr std::size_t head_size = 16;

std::string spaceOf(std::string_view ns) {
    std::string row = "e";
    detail::appendBigEndian(row, ns.size());
    return row.append(ns);
}
std::string rowOf(std::string_view ns, std::string_view key) { return spaceOf(ns).append(key); }
std::string numberRow(std::uint64_t number) {
    std::string row = "n";
    detail::appendBigEndian(row, number);
    return row;
}

}  // namespace

struct RocksDBCache::Impl {
    Impl(const std::string& folder, const RocksDBCacheOptions& chosen)
        : options(checked(chosen)),
          database(folder, {.format = {.key = cache_format_key, .version = 1},
                            .drop_damaged_log = true,
                            .owner_only = options.owner_only}) {
        checkpoint::Cursor rows = numbers();
        for (rows.seekToFirst(); rows.valid(); rows.next()) {
            if (rows.key().size() != 9 || rows.value().size() < 8) {
                database.errors().failDamaged("it has a row that cannot be read; delete the folder of this cache");
            }
            next_number = detail::loadBigEndian(rows.key().substr(1, 8)) + 1;
            bytes += detail::loadBigEndian(rows.value().substr(0, 8));
        }
    }

    static const RocksDBCacheOptions& checked(const RocksDBCacheOptions& options) {
        if (options.bytes_max < 1)
            throw InvalidArgumentError("RocksDBCacheOptions::bytes_max is 0; it must be at least 1");
        return options;
    }

    std::int64_t now() const { return times::nowUs(options.clock ? *options.clock : IdSource::system()); }
    checkpoint::Cursor rowsOf(const std::string& prefix) { return {database, prefix, detail::prefixEnd(prefix)}; }
    checkpoint::Cursor numbers() { return rowsOf("n"); }
    std::optional<std::string> read(const std::string& row) { return database.get(row, "read an entry"); }
    // Notes in the batch that an entry is removed. Returns how many bytes that frees.
    std::uint64_t drop(const std::string& row, std::string_view stored, rocksdb::WriteBatch& batch) const
        SG_REQUIRES(mutex) {
        batch.Delete(row);
        if (stored.size() < head_size) return 0;
        batch.Delete(numberRow(detail::loadBigEndian(stored.substr(8, 8))));
        return sizeOf(row, stored);
    }
    static std::uint64_t sizeOf(std::string_view row, std::string_view stored) {
        return 2 * row.size() + stored.size() + 17;
    }
    void write(rocksdb::WriteBatch& batch, std::uint64_t freed, std::uint64_t added) SG_REQUIRES(mutex) {
        database.write(batch, false, "write to it");
        bytes = bytes + added - std::min(freed, bytes + added);
    }

    void dropRow(const std::string& row) {
        const detail::LockGuard lock(mutex);
        const auto stored = read(row);
        if (!stored) return;
        rocksdb::WriteBatch batch;
        const std::uint64_t freed = drop(row, *stored, batch);
        write(batch, freed, 0);
    }
    void dropExpired(const std::string& row) {
        const detail::LockGuard lock(mutex);
        const auto stored = read(row);  // the entry may have been replaced by a new one
        if (!stored || stored->size() < head_size || !isOver(*stored)) return;
        rocksdb::WriteBatch batch;
        const std::uint64_t freed = drop(row, *stored, batch);
        write(batch, freed, 0);
    }
    bool isOver(std::string_view stored) const {
        const std::uint64_t expires = detail::loadBigEndian(stored.substr(0, 8));
        return expires != 0 && static_cast<std::uint64_t>(now()) >= expires;
    }
    void dropAll(const std::string& prefix) {
        const detail::LockGuard lock(mutex);
        checkpoint::Cursor rows = rowsOf(prefix);
        rows.seekToFirst();
        while (rows.valid()) {
            rocksdb::WriteBatch batch;
            std::uint64_t freed = 0;
            for (int i = 0; i < 1000 && rows.valid(); ++i, rows.next())
                freed += drop(std::string(rows.key()), rows.value(), batch);
            write(batch, freed, 0);
        }
    }
    // Notes in the batch that the oldest entries are removed, until no more than `left` bytes stay.
    std::uint64_t makeRoom(std::uint64_t left, std::uint64_t already_freed, std::string_view spared,
                           rocksdb::WriteBatch& batch) SG_REQUIRES(mutex) {
        std::uint64_t freed = 0;
        checkpoint::Cursor rows = numbers();
        for (rows.seekToFirst(); rows.valid() && bytes > left + freed + already_freed; rows.next()) {
            const std::string_view value = rows.value();
            if (value.size() < 8 || value.substr(8) == spared) continue;
            batch.Delete(checkpoint::slice(rows.key()));
            batch.Delete(checkpoint::slice(value.substr(8)));
            freed += detail::loadBigEndian(value.substr(0, 8));
        }
        return freed;
    }

    const RocksDBCacheOptions options;
    checkpoint::Database database;
    mutable detail::Mutex mutex;  // guards writes
    std::uint64_t next_number SG_GUARDED_BY(mutex) = 1;
    std::uint64_t bytes SG_GUARDED_BY(mutex) = 0;
    stores::CacheCounts counts;
};

RocksDBCache::RocksDBCache(const std::string& path, const RocksDBCacheOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {}
RocksDBCache::~RocksDBCache() = default;

std::optional<std::string> RocksDBCache::get(std::string_view ns, std::string_view key) {
    const std::string row = rowOf(ns, key);
    auto stored = impl_->read(row);
    const bool is_whole = stored && stored->size() >= head_size;
    if (!is_whole || impl_->isOver(*stored)) {
        impl_->counts.missed();
        if (!stored) return {};
        if (is_whole) {
            impl_->dropExpired(row);
        } else {
            impl_->dropRow(row);
        }
        return {};
    }
    impl_->counts.found();
    stored->erase(0, head_size);
    return stored;
}

void RocksDBCache::set(std::string_view ns, std::string_view key, std::string_view value,
                       std::optional<std::chrono::milliseconds> ttl) {
    const std::string row = rowOf(ns, key);
    std::uint64_t expires = 0;
    if (ttl) expires = static_cast<std::uint64_t>(times::expiryUs(impl_->now(), *ttl).value_or(0));
    const detail::LockGuard lock(impl_->mutex);
    rocksdb::WriteBatch batch;
    std::uint64_t freed = 0;
    if (const auto before = impl_->read(row)) freed = impl_->drop(row, *before, batch);
    std::string stored;
    stored.reserve(head_size + value.size());
    detail::appendBigEndian(stored, expires);
    detail::appendBigEndian(stored, impl_->next_number);
    stored += value;
    const std::uint64_t size = Impl::sizeOf(row, stored);
    const std::uint64_t most = impl_->options.bytes_max;
    if (size > most - most / 10) {
        impl_->write(batch, freed, 0);
        return;
    }
    if (impl_->bytes + size > most + freed) freed += impl_->makeRoom(most - most / 10 - size, freed, row, batch);
    std::string number_value;
    detail::appendBigEndian(number_value, size);
    batch.Put(row, stored);
    batch.Put(numberRow(impl_->next_number), number_value.append(row));
    impl_->write(batch, freed, size);
    ++impl_->next_number;
    impl_->counts.kept();
}

void RocksDBCache::remove(std::string_view ns, std::string_view key) { impl_->dropRow(rowOf(ns, key)); }
void RocksDBCache::clear(std::string_view ns) { impl_->dropAll(spaceOf(ns)); }
void RocksDBCache::clear() { impl_->dropAll("e"); }

std::uint64_t RocksDBCache::storedBytes() const {
    const detail::LockGuard lock(impl_->mutex);
    return impl_->bytes;
}

CacheStats RocksDBCache::stats() const { return impl_->counts.stats(); }

}  // namespace stategraph
