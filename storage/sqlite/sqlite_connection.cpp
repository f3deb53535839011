#include "storage/sqlite/sqlite_connection.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include <sqlite3.h>
#include <unistd.h>

namespace stategraph::checkpoint {

SqliteConnection::SqliteConnection(const SqliteErrors& errors, int flags, std::chrono::milliseconds busy_timeout)
    : errors_(errors), process_(::getpid()), busy_timeout_(busy_timeout) {
    const int code =
        sqlite3_open_v2(errors.path().c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    if (code != SQLITE_OK) {
        sqlite3* const failed = std::exchange(db_, nullptr);
        const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closed(failed, &sqlite3_close);
        errors.refuseOpening(failed, failed ? sqlite3_errmsg(failed) : sqlite3_errstr(code));
    }
    sqlite3_busy_handler(db_, &onBusy, this);
}

SqliteConnection::~SqliteConnection() {
    if (process_ != ::getpid()) return;
    for (const Statement& each : statements_) sqlite3_finalize(each.statement);
    sqlite3_close(db_);
}

// Waits for a lock. SQLite's own handler sleeps for milliseconds at a time, while a commit takes about 20 µs.
int SqliteConnection::onBusy(void* self, int times) noexcept {
    auto& connection = *static_cast<SqliteConnection*>(self);
    const auto now = std::chrono::steady_clock::now();
    if (times == 0) connection.busy_since_ = now;
    if (now - connection.busy_since_ >= connection.busy_timeout_) return 0;
    if (times < 4) {
        std::this_thread::yield();
    } else {
        std::this_thread::sleep_for(std::chrono::microseconds(std::min(25 << std::min(times - 4, 7), 2000)));
    }
    return 1;
}

void SqliteConnection::run(const char* sql, const char* work) {
    const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) errors_.failCall(db_, code, work);
}

std::string SqliteConnection::ask(const std::string& sql, const char* work) {
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
    std::string text;
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW) {
            if (const auto* found = sqlite3_column_text(statement, 0)) text = reinterpret_cast<const char*>(found);
        }
        // SQLite's error message is read before another call overwrites it.
        if (code == SQLITE_ROW || code == SQLITE_DONE) code = SQLITE_OK;
    }
    if (code == SQLITE_OK) {
        sqlite3_finalize(statement);
        return text;
    }
    sqlite3_finalize(statement);
    errors_.failCall(db_, code, work);
}

std::int64_t SqliteConnection::askNumber(const std::string& sql, const char* work) {
    const std::string text = ask(sql, work);
    return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10);
}

sqlite3_stmt* SqliteConnection::take(const char* sql, const char* work) {
    const auto known = std::find_if(statements_.begin(), statements_.end(),
                                    [&](const Statement& each) { return each.sql == sql && !each.is_used; });
    if (known != statements_.end()) {
        known->is_used = true;
        return known->statement;
    }
    statements_.reserve(statements_.size() + 1);
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) errors_.failCall(db_, code, work);
    statements_.push_back({sql, statement, true});
    return statement;
}

void SqliteConnection::giveBack(sqlite3_stmt* statement) noexcept {
    sqlite3_reset(statement);
    for (Statement& each : statements_) {
        if (each.statement == statement) each.is_used = false;
    }
}

void SqliteConnection::rollBack() noexcept {
    if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

SqliteQuery::SqliteQuery(SqliteConnection& connection, const char* sql, const char* work)
    : connection_(connection), statement_(connection.take(sql, work)), work_(work) {}

SqliteQuery::~SqliteQuery() { connection_.giveBack(statement_); }

void SqliteQuery::reset() noexcept {
    sqlite3_reset(statement_);
    parameter_ = 0;
}

void SqliteQuery::check(int code) const {
    if (code != SQLITE_OK) connection_.errors().failCall(connection_.get(), code, work_);
}

SqliteQuery& SqliteQuery::bind(std::string_view bytes) {
    // With a null pointer it would be NULL.
    const char* const data = bytes.data() ? bytes.data() : "";
    check(sqlite3_bind_blob64(statement_, ++parameter_, data, bytes.size(), SQLITE_STATIC));
    return *this;
}

SqliteQuery& SqliteQuery::bind(CheckpointId id) {
    std::array<char, 16> bytes{};
    id.toBytes(bytes.data());
    check(sqlite3_bind_blob64(statement_, ++parameter_, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
    return *this;
}

SqliteQuery& SqliteQuery::bindNumber(std::int64_t number) {
    check(sqlite3_bind_int64(statement_, ++parameter_, number));
    return *this;
}

bool SqliteQuery::step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) connection_.errors().failCall(connection_.get(), code, work_);
    return false;
}

std::int64_t SqliteQuery::finish() {
    while (step()) {
    }
    reset();
    return sqlite3_changes64(connection_.get());
}

std::string_view SqliteQuery::bytes(int column) const {
    const void* const data = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    if (!data && sqlite3_errcode(connection_.get()) == SQLITE_NOMEM) throw std::bad_alloc();
    return data ? std::string_view(static_cast<const char*>(data), size) : std::string_view();
}

std::int64_t SqliteQuery::number(int column) const { return sqlite3_column_int64(statement_, column); }

CheckpointId SqliteQuery::id(int column) const {
    const std::string_view found = bytes(column);
    if (found.size() != 16)
        connection_.errors().failUnreadable("is damaged: an id has " + std::to_string(found.size()) +
                                            " bytes and not 16; restore it from a copy");
    return CheckpointId::fromBytes(found.data());
}

}  // namespace stategraph::checkpoint
