#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;

namespace stategraph::checkpoint {

/// The purpose for which a file was opened.
enum class SqliteOwner : std::uint8_t { saver, store };

/// Throws the errors of one file: SaverError and CorruptCheckpointError, or those of a store, StoreError and
/// CorruptStoreError. All of them name its path.
class SqliteErrors {
public:
    explicit SqliteErrors(std::string path, SqliteOwner owner = SqliteOwner::saver)
        : path_(std::move(path)), owner_(owner) {}

    const std::string& path() const noexcept { return path_; }

    [[noreturn]] void refuseOpening(const std::string& why) const;
    /// Also says what to do, for a connection that SQLite could not open; it may be null.
    [[noreturn]] void refuseOpening(sqlite3* connection, const std::string& why) const;
    [[noreturn]] void fail(const std::string& what) const;
    /// Throws an error of damage; `what` completes "the database 'path' ".
    [[noreturn]] void failUnreadable(const std::string& what) const;
    /// Throws the error for a failed call; `work` completes "could not ".
    [[noreturn]] void failCall(sqlite3* connection, int code, std::string_view work) const;

private:
    std::string shownPath() const;
    [[noreturn]] void refuse(const std::string& text) const;

    std::string path_;
    SqliteOwner owner_;
};

}  // namespace stategraph::checkpoint
