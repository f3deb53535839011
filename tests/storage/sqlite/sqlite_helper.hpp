#pragma once
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <sqlite3.h>
#include <sys/resource.h>

#include <stategraph/error.hpp>
#include <stategraph/sqlite_saver.hpp>

#include "tests/storage/database_error.hpp"
#include "tests/support/helper_process.hpp"

// Other processes, and SQLite without a saver, for the tests of the SQLite saver.
namespace sqlite_tests {

namespace fs = std::filesystem;

using database_tests::databaseError;
using database_tests::has;
using helpers::awaitLines;
using helpers::given;
using helpers::Helper;

/// A plain SQLite connection to a file.
class Raw {
public:
    explicit Raw(const fs::path& path) {
        if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open " + path.string());
    }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() { sqlite3_close(db_); }
    void run(const std::string& sql) {
        if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_));
    }
    /// The first column of the first row as a number.
    std::int64_t number(const std::string& sql) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
            throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_));
        const std::int64_t found = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
        sqlite3_finalize(statement);
        return found;
    }

private:
    sqlite3* db_ = nullptr;
};

/// While it exists, no file of this process can grow beyond the given size, as if the disk were full.
class FileSizeLimit {
public:
    explicit FileSizeLimit(std::uintmax_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        handler_ = ::signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = before_;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, handler_);
    }

private:
    struct rlimit before_ {};
    void (*handler_)(int) = nullptr;
};

inline std::string openingError(const fs::path& path, const stategraph::SqliteSaverOptions& options = {}) {
    return databaseError([&] { const stategraph::SqliteSaver saver(path.string(), options); });
}

#define CHECK_HAS(text, part)                            \
    do {                                                 \
        const std::string sqlite_said = (text);          \
        CAPTURE(sqlite_said);                            \
        CHECK(::sqlite_tests::has(sqlite_said, (part))); \
    } while (false)

}  // namespace sqlite_tests
