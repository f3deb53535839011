#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rocksdb {
class Status;
}

namespace stategraph::checkpoint {

/// The owner's kind of errors: SaverError and CorruptCheckpointError, or StoreError and CorruptStoreError.
enum class DatabaseOwner : std::uint8_t { saver, store };

/// Throws the errors of one database. All of them name its path.
class DatabaseErrors {
public:
    DatabaseErrors(std::string path, DatabaseOwner owner) : path_(std::move(path)), owner_(owner) {}

    const std::string& path() const noexcept { return path_; }

    [[noreturn]] void refuseOpening(const std::string& why) const;
    [[noreturn]] void fail(const std::string& what) const;
    /// Throws an error of damage; `what` completes "is damaged: ".
    [[noreturn]] void failDamaged(const std::string& what) const;
    /// Throws an error of damage; `what` completes "the database 'path' ".
    [[noreturn]] void failUnreadable(const std::string& what) const;
    /// Throws the error for a failed status. `work` completes "could not ", and `advice` says what to do.
    [[noreturn]] void failStatus(const rocksdb::Status& status, std::string_view work,
                                 std::string_view advice = {}) const;
    /// Does nothing if the status is fine.
    void check(const rocksdb::Status& status, std::string_view work) const;

private:
    std::string shownPath() const;

    std::string path_;
    DatabaseOwner owner_;
};

}  // namespace stategraph::checkpoint
