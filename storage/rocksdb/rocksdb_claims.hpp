#pragma once
#include <cstdint>
#include <string>

#include "storage/rocksdb/rocksdb_errors.hpp"

namespace stategraph::checkpoint {

/// The right of one object of this process to write to a database's folder, however its path is spelt.
///
/// RocksDB knows only the spelling, and POSIX locks do not help: a process that closes a second descriptor of the lock
/// file releases the lock that its first one holds. So a second opening must not get as far as that file.
class FolderClaim {
public:
    /// Throws an error that says which path has the folder open, if one has. The folder exists.
    FolderClaim(const std::string& folder, const DatabaseErrors& errors);
    ~FolderClaim();
    FolderClaim(const FolderClaim&) = delete;
    FolderClaim& operator=(const FolderClaim&) = delete;

private:
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

/// Notices that an open database's folder was deleted or emptied, where writing to its open files still succeeds.
/// Thread-safe.
class FolderWatch {
public:
    explicit FolderWatch(const std::string& folder);
    ~FolderWatch();
    FolderWatch(const FolderWatch&) = delete;
    FolderWatch& operator=(const FolderWatch&) = delete;

    /// Cost: one system call. True where the system cannot tell.
    bool isThere() const noexcept;

private:
    int descriptor_;
};

}  // namespace stategraph::checkpoint
