#pragma once
#if STATEGRAPH_HAS_SQLITE
#include <stdexcept>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "benchmarks/support/temp_folder.hpp"

namespace bench {

/// A SQLite file without a saver, for floors: WAL mode and the saver's table, one prepared statement, and a transaction
/// for each row.
class BareSqlite {
public:
    explicit BareSqlite(bool sync) {
        check(sqlite3_open((folder_.path() + "/bare.db").c_str(), &db_));
        run("PRAGMA journal_mode=WAL");
        run(sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
        run("CREATE TABLE commits (thread BLOB NOT NULL, ns BLOB NOT NULL, id BLOB NOT NULL, bytes BLOB NOT NULL, "
            "PRIMARY KEY (thread, ns, id)) WITHOUT ROWID");
        check(sqlite3_prepare_v2(db_, "INSERT INTO commits VALUES (?, x'', ?, ?)", -1, &insert_, nullptr));
    }
    BareSqlite(const BareSqlite&) = delete;
    BareSqlite& operator=(const BareSqlite&) = delete;
    ~BareSqlite() {
        sqlite3_finalize(insert_);
        sqlite3_close(db_);
    }

    void write(std::string_view thread, std::string_view id, std::string_view bytes) {
        int place = 0;
        for (const std::string_view each : {thread, id, bytes})
            check(sqlite3_bind_blob64(insert_, ++place, each.data(), each.size(), SQLITE_STATIC));
        if (sqlite3_step(insert_) != SQLITE_DONE)
            throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_));
        check(sqlite3_reset(insert_));
    }

private:
    void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
    void check(int code) const {
        if (code != SQLITE_OK) throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db_));
    }

    TempFolder folder_;
    sqlite3* db_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
};

}  // namespace bench
#endif
