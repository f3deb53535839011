#include <stategraph/sqlite_cache.hpp>

#include <algorithm>

#include <stategraph/error.hpp>
#include <stategraph/id_source.hpp>

#include "src/value/times.hpp"
#include "storage/sqlite/sqlite_database.hpp"
#include "storage/sqlite/sqlite_tables.hpp"
#include "storage/store/cache_counts.hpp"

// Every change of entries changes their counts in the same transaction.
namespace stategraph {
namespace {

using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

constexpr const char* select_entry = "SELECT expires, value FROM cache WHERE ns=? AND key=?";
constexpr const char* delete_over =
    "DELETE FROM cache WHERE ns=? AND key=? AND expires<>0 AND expires<=? RETURNING size";
constexpr const char* delete_entry = "DELETE FROM cache WHERE ns=? AND key=? RETURNING size";
constexpr const char* put_entry =
    "INSERT INTO cache VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET expires=excluded.expires, "
    "number=excluded.number, size=excluded.size, value=excluded.value";
constexpr const char* select_oldest = "SELECT number, size FROM cache ORDER BY number";
constexpr const char* delete_oldest = "DELETE FROM cache WHERE number<=?";
constexpr const char* select_counts = "SELECT bytes, next FROM cache_counts";
constexpr const char* put_counts = "UPDATE cache_counts SET bytes=?, next=?";
constexpr const char* free_bytes = "UPDATE cache_counts SET bytes=max(0, bytes-?)";
constexpr const char* free_space =
    "UPDATE cache_counts SET bytes=max(0, bytes-(SELECT coalesce(sum(size), 0) FROM cache WHERE ns=?))";
constexpr const char* delete_space = "DELETE FROM cache WHERE ns=?";
constexpr const char* delete_all = "DELETE FROM cache";

constexpr const char* work_write = "write an entry";
constexpr std::uint64_t entry_cost_bytes = 64;

std::uint64_t sizeOf(std::string_view ns, std::string_view key, std::string_view value) {
    return 2 * (ns.size() + key.size()) + value.size() + entry_cost_bytes;
}

const SqliteCacheOptions& checked(const SqliteCacheOptions& options) {
    if (options.bytes_max < 1) throw InvalidArgumentError("SqliteCacheOptions::bytes_max is 0; it must be at least 1");
    return options;
}

struct Counts {
    std::uint64_t bytes = 0;
    std::int64_t next = 0;
};

Counts readCounts(SqliteConnection& connection) {
    SqliteQuery query(connection, select_counts, "read the size of the cache");
    if (!query.step())
        connection.errors().failUnreadable("is damaged: the counts of its cache are gone; restore it from a copy");
    return {static_cast<std::uint64_t>(query.number(0)), query.number(1)};
}

// Removes the entries that were written longest ago, until no more than `left` of `bytes` stay. Returns how many bytes
// that frees.
std::uint64_t makeRoom(SqliteConnection& connection, std::uint64_t bytes, std::uint64_t left) {
    std::uint64_t freed = 0;
    std::int64_t last = 0;
    {
        SqliteQuery query(connection, select_oldest, work_write);
        while (bytes > left + freed && query.step()) {
            last = query.number(0);
            freed += static_cast<std::uint64_t>(query.number(1));
        }
    }
    SqliteQuery(connection, delete_oldest, work_write).bindNumber(last).finish();
    return freed;
}

// Removes the entry that a statement names, whose only result is the entry's size.
void drop(SqliteConnection& connection, SqliteQuery& removal) {
    std::int64_t freed = 0;
    while (removal.step()) freed += removal.number(0);
    if (freed > 0) SqliteQuery(connection, free_bytes, work_write).bindNumber(freed).finish();
}

}  // namespace

struct SqliteCache::Impl {
    Impl(const std::string& path, const SqliteCacheOptions& chosen)
        : options(checked(chosen)),
          database(path, {.busy_timeout = options.busy_timeout,
                          .readers_max = 4,
                          .owner_only = options.owner_only,
                          .part = {.name = "cache",
                                   .format = checkpoint::sqlite_cache_format,
                                   .tables = checkpoint::sqlite_cache_tables}}) {}

    std::int64_t now() const { return times::nowUs(options.clock ? *options.clock : IdSource::system()); }

    // Returns true if the entry is kept.
    bool put(SqliteConnection& connection, std::string_view ns, std::string_view key, std::string_view value,
             std::int64_t expires) const {
        {
            SqliteQuery removal(connection, delete_entry, work_write);
            drop(connection, removal.bind(ns).bind(key));
        }
        const std::uint64_t size = sizeOf(ns, key, value);
        const std::uint64_t most = options.bytes_max;
        if (size > most - most / 10) return false;
        Counts counts = readCounts(connection);
        if (counts.bytes + size > most)
            counts.bytes -= std::min(counts.bytes, makeRoom(connection, counts.bytes, most - most / 10 - size));
        SqliteQuery query(connection, put_entry, work_write);
        query.bind(ns).bind(key).bindNumber(expires).bindNumber(counts.next);
        query.bindNumber(static_cast<std::int64_t>(size)).bind(value).finish();
        SqliteQuery(connection, put_counts, work_write)
            .bindNumber(static_cast<std::int64_t>(counts.bytes + size))
            .bindNumber(counts.next + 1)
            .finish();
        return true;
    }

    const SqliteCacheOptions options;
    mutable SqliteDatabase database;
    stores::CacheCounts counts;
};

SqliteCache::SqliteCache(const std::string& path, const SqliteCacheOptions& options)
    : impl_(std::make_unique<Impl>(path, options)) {}
SqliteCache::~SqliteCache() = default;

std::optional<std::string> SqliteCache::get(std::string_view ns, std::string_view key) {
    std::int64_t expires = 0;
    std::optional<std::string> value;
    {
        SqliteDatabase::Reading reading(impl_->database);
        SqliteQuery query(reading.connection(), select_entry, "read an entry");
        if (query.bind(ns).bind(key).step()) {
            expires = query.number(0);
            value = query.bytes(1);
        }
    }
    const std::int64_t now = expires == 0 ? 0 : impl_->now();
    if (value && (expires == 0 || now < expires)) {
        impl_->counts.found();
        return value;
    }
    impl_->counts.missed();
    if (value) {
        impl_->database.write(false, [&](SqliteConnection& connection) {
            SqliteQuery removal(connection, delete_over, work_write);  // the entry may have been replaced by a new one
            drop(connection, removal.bind(ns).bind(key).bindNumber(now));
        });
    }
    return std::nullopt;
}

void SqliteCache::set(std::string_view ns, std::string_view key, std::string_view value,
                      std::optional<std::chrono::milliseconds> ttl) {
    const std::int64_t expires = ttl ? times::expiryUs(impl_->now(), *ttl).value_or(0) : 0;
    bool is_kept = false;
    impl_->database.write(
        false, [&](SqliteConnection& connection) { is_kept = impl_->put(connection, ns, key, value, expires); });
    if (is_kept) impl_->counts.kept();
}

void SqliteCache::remove(std::string_view ns, std::string_view key) {
    impl_->database.write(false, [&](SqliteConnection& connection) {
        SqliteQuery removal(connection, delete_entry, work_write);
        drop(connection, removal.bind(ns).bind(key));
    });
}

void SqliteCache::clear(std::string_view ns) {
    impl_->database.write(false, [&](SqliteConnection& connection) {
        SqliteQuery(connection, free_space, work_write).bind(ns).finish();
        SqliteQuery(connection, delete_space, work_write).bind(ns).finish();
    });
}

void SqliteCache::clear() {
    impl_->database.write(false, [&](SqliteConnection& connection) {
        SqliteQuery(connection, delete_all, work_write).finish();
        const Counts counts = readCounts(connection);
        SqliteQuery(connection, put_counts, work_write).bindNumber(0).bindNumber(counts.next).finish();
    });
}

std::uint64_t SqliteCache::storedBytes() const {
    SqliteDatabase::Reading reading(impl_->database);
    return readCounts(reading.connection()).bytes;
}

CacheStats SqliteCache::stats() const { return impl_->counts.stats(); }

}  // namespace stategraph
