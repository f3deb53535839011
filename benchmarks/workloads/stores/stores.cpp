// Items of a store are put, read and searched in memory, on RocksDB, on SQLite and, if STATEGRAPH_BENCH_POSTGRES names
// a server, on PostgreSQL. The floor of a put or a read is one prepared statement, or one call, for a row of the same
// size.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <stategraph/memory_store.hpp>
#include <stategraph/rocksdb_store.hpp>
#if STATEGRAPH_HAS_SQLITE
#include <sqlite3.h>

#include <stategraph/sqlite_store.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <libpq-fe.h>

#include <stategraph/postgres_store.hpp>
#endif

#include "benchmarks/support/bare_postgres.hpp"
#include "benchmarks/support/bare_rocksdb.hpp"
#include "benchmarks/support/figures.hpp"
#include "benchmarks/support/temp_folder.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr std::size_t users = 100;
constexpr std::size_t items_of_user = 100;

struct Place {
    sg::StoreNamespace ns;
    std::string key;
};
Place placeOf(std::size_t n) {
    return {{"users", "user" + std::to_string(n / items_of_user % users), "facts"},
            "fact" + std::to_string(n % items_of_user)};
}
/// Returns the items in no particular order, each of them equally often.
std::size_t nthOf(std::size_t n) { return n * 7919 % (users * items_of_user); }

sg::Value valueOf(std::size_t n) {
    return std::map<std::string, std::string>{{"text", randomText(200, static_cast<unsigned>(n % 16))}};
}

/// Returns the key of a row like a store's, with a key of 30 and a value of 250 bytes.
std::string keyOf(std::size_t n) {
    const Place place = placeOf(n);
    return "i" + place.ns[0] + place.ns[1] + place.ns[2] + place.key;
}
std::string rowOf(std::size_t n) { return randomText(250, static_cast<unsigned>(n % 16)); }

using Make = std::function<std::shared_ptr<sg::BaseStore>(const TempFolder&)>;

void fill(sg::BaseStore& store) {
    std::vector<sg::StoreOp> ops;
    for (std::size_t n = 0; n < users * items_of_user; ++n) {
        Place place = placeOf(n);
        ops.push_back(sg::PutOp{std::move(place.ns), std::move(place.key), valueOf(n), {}});
        if (ops.size() < 1000) continue;
        store.batch(ops);
        ops.clear();
    }
}

/// Calls `call(store, n)` on a store of 10,000 items.
template <class Call>
void onItems(benchmark::State& state, const Make& make, Call call) {
    const TempFolder folder;
    const auto store = make(folder);
    fill(*store);
    std::size_t n = 0;
    for (auto _ : state) call(*store, nthOf(n++));
}

void putItem(sg::BaseStore& store, std::size_t n) {
    Place place = placeOf(n);
    store.put(std::move(place.ns), std::move(place.key), valueOf(n));
}
void getItem(sg::BaseStore& store, std::size_t n) {
    Place place = placeOf(n);
    benchmark::DoNotOptimize(store.get(std::move(place.ns), std::move(place.key)));
}
void searchItems(sg::BaseStore& store, std::size_t n) {
    benchmark::DoNotOptimize(store.search({.namespace_prefix = placeOf(n).ns, .limit = 10}));
}

void registerStore(const std::string& name, const Make& make) {
    add("stores/" + name + "_put", [make](benchmark::State& state) { onItems(state, make, putItem); })->UseRealTime();
    add("stores/" + name + "_get", [make](benchmark::State& state) { onItems(state, make, getItem); })->UseRealTime();
    add("stores/" + name + "_search", [make](benchmark::State& state) {
        onItems(state, make, searchItems);
    })->UseRealTime();
}

/// A table of rows without a store.
class BareRows {
public:
    virtual ~BareRows() = default;
    virtual void put(const std::string& key, const std::string& value) = 0;
    virtual std::string get(const std::string& key) = 0;
};

void registerFloor(const std::string& name, std::function<std::unique_ptr<BareRows>()> make) {
    const auto on = [make](benchmark::State& state, auto call) {
        const auto rows = make();
        for (std::size_t n = 0; n < users * items_of_user; ++n) rows->put(keyOf(n), rowOf(n));
        std::size_t n = 0;
        for (auto _ : state) call(*rows, nthOf(n++));
    };
    addFloor("stores/" + name + "_put", [on](benchmark::State& state) {
        on(state, [](BareRows& rows, std::size_t n) { rows.put(keyOf(n), rowOf(n)); });
    })->UseRealTime();
    addFloor("stores/" + name + "_get", [on](benchmark::State& state) {
        on(state, [](BareRows& rows, std::size_t n) { benchmark::DoNotOptimize(rows.get(keyOf(n))); });
    })->UseRealTime();
}

class BareRocksDBRows final : public BareRows {
public:
    void put(const std::string& key, const std::string& value) override { database_.write(key, value); }
    std::string get(const std::string& key) override { return database_.read(key); }

private:
    BareRocksDB database_;
};

#if STATEGRAPH_HAS_SQLITE
class BareSqliteRows final : public BareRows {
public:
    BareSqliteRows() {
        check(sqlite3_open((folder_.path() + "/bare.db").c_str(), &db_));
        for (const char* const sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL",
                                      "CREATE TABLE rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"})
            check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr));
        check(sqlite3_prepare_v2(db_, "INSERT INTO rows VALUES (?, ?) ON CONFLICT DO UPDATE SET value=excluded.value",
                                 -1, &put_, nullptr));
        check(sqlite3_prepare_v2(db_, "SELECT value FROM rows WHERE key=?", -1, &get_, nullptr));
    }
    ~BareSqliteRows() override {
        sqlite3_finalize(put_);
        sqlite3_finalize(get_);
        sqlite3_close(db_);
    }
    void put(const std::string& key, const std::string& value) override {
        bind(put_, 1, key);
        bind(put_, 2, value);
        if (sqlite3_step(put_) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db_));
        check(sqlite3_reset(put_));
    }
    std::string get(const std::string& key) override {
        bind(get_, 1, key);
        if (sqlite3_step(get_) != SQLITE_ROW) throw std::runtime_error("there is no such row");
        std::string value(static_cast<const char*>(sqlite3_column_blob(get_, 0)),
                          static_cast<std::size_t>(sqlite3_column_bytes(get_, 0)));
        check(sqlite3_reset(get_));
        return value;
    }

private:
    void bind(sqlite3_stmt* statement, int place, const std::string& bytes) {
        check(sqlite3_bind_blob64(statement, place, bytes.data(), bytes.size(), SQLITE_STATIC));
    }
    void check(int code) const {
        if (code != SQLITE_OK) throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_));
    }

    TempFolder folder_;
    sqlite3* db_ = nullptr;
    sqlite3_stmt* put_ = nullptr;
    sqlite3_stmt* get_ = nullptr;
};
#endif

#if STATEGRAPH_HAS_POSTGRES
class BarePostgresRows final : public BareRows {
public:
    BarePostgresRows() : connection_(PQconnectdb(postgresConninfo().c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_));
        for (const std::string& sql : {std::string("SET synchronous_commit=off; SET client_min_messages=error"),
                                       "CREATE TABLE " + table_ + " (key bytea PRIMARY KEY, value bytea NOT NULL)"})
            check(PQexec(connection_, sql.c_str()));
        check(PQprepare(
            connection_, "put",
            ("INSERT INTO " + table_ + " VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
                .c_str(),
            2, nullptr));
        check(PQprepare(connection_, "get", ("SELECT value FROM " + table_ + " WHERE key = $1").c_str(), 1, nullptr));
    }
    ~BarePostgresRows() override {
        PQclear(PQexec(connection_, ("DROP TABLE " + table_).c_str()));
        PQfinish(connection_);
    }
    void put(const std::string& key, const std::string& value) override { check(run("put", key, &value)); }
    std::string get(const std::string& key) override {
        PGresult* const result = run("get", key, nullptr);
        std::string value;
        if (PQntuples(result) == 1)
            value.assign(PQgetvalue(result, 0, 0), static_cast<std::size_t>(PQgetlength(result, 0, 0)));
        check(result);
        return value;
    }

private:
    PGresult* run(const char* statement, const std::string& key, const std::string* value) {
        const char* const values[] = {key.data(), value ? value->data() : nullptr};
        const int lengths[] = {static_cast<int>(key.size()), value ? static_cast<int>(value->size()) : 0};
        const int formats[] = {1, 1};
        return PQexecPrepared(connection_, statement, value ? 2 : 1, values, lengths, formats, 1);
    }
    void check(PGresult* result) const {
        const auto status = PQresultStatus(result);
        PQclear(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            throw std::runtime_error(PQerrorMessage(connection_));
    }

    const std::string table_ = "stategraph_bare_rows_" + std::to_string(::getpid());
    PGconn* connection_;
};

void registerPostgres() {
    if (postgresConninfo().empty()) return;
    registerStore("postgres", [](const TempFolder&) {
        return std::make_shared<sg::PostgresStore>(
            postgresConninfo(), sg::StoreOptions(),
            sg::PostgresStoreOptions{.schema = "stategraph_bench", .set_up = true});
    });
    registerFloor("postgres", [] { return std::make_unique<BarePostgresRows>(); });
}
#else
void registerPostgres() {}
#endif

}  // namespace

void registerCases() {
    registerStore("memory", [](const TempFolder&) { return std::make_shared<sg::MemoryStore>(); });
    registerStore("rocksdb", [](const TempFolder& folder) {
        return std::make_shared<sg::RocksDBStore>(folder.path() + "/store");
    });
    registerFloor("rocksdb", [] { return std::make_unique<BareRocksDBRows>(); });
#if STATEGRAPH_HAS_SQLITE
    registerStore("sqlite", [](const TempFolder& folder) {
        return std::make_shared<sg::SqliteStore>(folder.path() + "/store.db");
    });
    registerFloor("sqlite", [] { return std::make_unique<BareSqliteRows>(); });
#endif
    registerPostgres();
}

}  // namespace bench
