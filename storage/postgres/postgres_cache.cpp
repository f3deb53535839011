#include <stategraph/postgres_cache.hpp>

#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/id_source.hpp>

#include "src/value/times.hpp"
#include "storage/postgres/postgres_parts.hpp"
#include "storage/postgres/postgres_pool.hpp"
#include "storage/postgres/postgres_tables.hpp"
#include "storage/store/cache_counts.hpp"

namespace stategraph {
namespace {

using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresPool;
using checkpoint::PostgresPoolSettings;
using checkpoint::PostgresResult;
using checkpoint::PostgresStatement;

// The size of two hashes, of a row's fields, and of its places in two indexes.
constexpr std::uint64_t entry_cost_bytes = 256;
constexpr const char* work_write = "write an entry";

PostgresPoolSettings checkedSettings(const std::string& conninfo, const PostgresCacheOptions& options) {
    PostgresPoolSettings settings = checkpoint::poolSettings(conninfo, options);
    checkpoint::checkPostgresSettings(settings);
    if (options.bytes_max < 1)
        throw InvalidArgumentError("PostgresCacheOptions::bytes_max is 0; it must be at least 1");
    return settings;
}

struct PostgresCacheStatements {
    explicit PostgresCacheStatements(const std::string& schema) {
        using checkpoint::bigint_type;
        using checkpoint::bytea_type;
        const std::string quoted = checkpoint::quotedName(schema);
        const auto statement = [&](const char* name, const char* sql, std::vector<Oid> types = {}) {
            return PostgresStatement{name, checkpoint::inSchema(sql, quoted), std::move(types)};
        };
        get = statement("cache_get", "SELECT expires, value FROM {S}.cache WHERE ns = sha256($1) AND key = sha256($2)",
                        {bytea_type, bytea_type});
        set = statement("cache_set", "SELECT {S}.cache_set(sha256($1), sha256($2), $3, $4, $5, $6)",
                        {bytea_type, bytea_type, bigint_type, bigint_type, bytea_type, bigint_type});
        trim = statement("cache_trim", "SELECT {S}.cache_trim($1)", {bigint_type});
        remove = statement("cache_remove", "SELECT {S}.cache_remove(sha256($1), sha256($2), $3)",
                           {bytea_type, bytea_type, bigint_type});
        clear = statement("cache_clear", "SELECT {S}.cache_clear(sha256($1))", {bytea_type});
        clear_all = statement("cache_clear_all", "SELECT {S}.cache_clear(NULL)");
        count = statement("cache_bytes", "SELECT coalesce(sum(bytes), 0)::bigint FROM {S}.cache_counts");
    }

    PostgresStatement get;        // namespace, key; rows (expires, value)
    PostgresStatement set;        // namespace, key, expires, size, value, limit; a row: kept, or null: no room
    PostgresStatement trim;       // takes the number of bytes that may stay
    PostgresStatement remove;     // namespace, key, and the time if it is to be over then
    PostgresStatement clear;      // namespace
    PostgresStatement clear_all;  // all namespaces
    PostgresStatement count;      // gives one row with the bytes
};

}  // namespace

struct PostgresCache::Impl {
    Impl(const PostgresPoolSettings& settings, const PostgresCacheOptions& chosen)
        : options(chosen), pool(settings), statements(settings.schema) {}

    std::int64_t now() const { return times::nowUs(options.clock ? *options.clock : IdSource::system()); }
    PostgresResult run(const PostgresStatement& statement, const PostgresParameters& parameters, const char* work) {
        return pool.repeat([&](PostgresConnection& connection) { return connection.run(statement, parameters, work); });
    }

    const PostgresCacheOptions options;
    PostgresPool pool;
    const PostgresCacheStatements statements;
    stores::CacheCounts counts;
};

PostgresCache::PostgresCache(const std::string& conninfo, const PostgresCacheOptions& options)
    : impl_(std::make_unique<Impl>(checkedSettings(conninfo, options), options)) {
    impl_->pool.repeat([&](PostgresConnection& connection) {
        if (options.set_up) return checkpoint::setUpPostgresPart(connection, checkpoint::postgres_cache_part);
        checkpoint::checkPostgresPart(connection, checkpoint::postgres_cache_part);
    });
}
PostgresCache::~PostgresCache() = default;

void PostgresCache::setUp(const std::string& conninfo, const PostgresCacheOptions& options) {
    PostgresPool pool(checkedSettings(conninfo, options));
    pool.repeat([](PostgresConnection& connection) {
        checkpoint::setUpPostgresPart(connection, checkpoint::postgres_cache_part);
    });
}

std::optional<std::string> PostgresCache::get(std::string_view ns, std::string_view key) {
    PostgresParameters entry;
    entry.bytes(ns).bytes(key);
    const PostgresResult row = impl_->run(impl_->statements.get, entry, "read an entry");
    const std::int64_t expires = row.rows() == 0 ? 0 : row.number(0, 0);
    const std::int64_t now = expires == 0 ? 0 : impl_->now();
    if (row.rows() == 1 && (expires == 0 || now < expires)) {
        impl_->counts.found();
        return row.copy(0, 1);
    }
    impl_->counts.missed();
    if (row.rows() == 1) (void)impl_->run(impl_->statements.remove, entry.number(now), work_write);
    return std::nullopt;
}

void PostgresCache::set(std::string_view ns, std::string_view key, std::string_view value,
                        std::optional<std::chrono::milliseconds> ttl) {
    const std::int64_t expires = ttl ? times::expiryUs(impl_->now(), *ttl).value_or(0) : 0;
    const std::uint64_t size = value.size() + entry_cost_bytes;
    const std::uint64_t most = impl_->options.bytes_max;
    if (size > most - most / 10) return remove(ns, key);
    PostgresParameters entry;
    entry.bytes(ns).bytes(key).number(expires).limit(size).bytes(value).limit(most);
    const auto store = [&] { return impl_->run(impl_->statements.set, entry, work_write); };
    PostgresResult row = store();
    if (row.isNull(0, 0)) {
        PostgresParameters left;
        left.limit(most - most / 10 - size);
        (void)impl_->run(impl_->statements.trim, left, work_write);
        row = store();
    }
    if (!row.isNull(0, 0) && row.flag(0, 0)) impl_->counts.kept();
}

void PostgresCache::remove(std::string_view ns, std::string_view key) {
    PostgresParameters entry;
    (void)impl_->run(impl_->statements.remove, entry.bytes(ns).bytes(key).null(), work_write);
}

void PostgresCache::clear(std::string_view ns) {
    PostgresParameters space;
    (void)impl_->run(impl_->statements.clear, space.bytes(ns), work_write);
}

void PostgresCache::clear() { (void)impl_->run(impl_->statements.clear_all, {}, work_write); }

std::uint64_t PostgresCache::storedBytes() const {
    return static_cast<std::uint64_t>(
        impl_->run(impl_->statements.count, {}, "read the size of the cache").number(0, 0));
}

CacheStats PostgresCache::stats() const { return impl_->counts.stats(); }

}  // namespace stategraph
