#pragma once
#include <cstdint>
#include <string>

#include "storage/rocksdb/rocksdb_errors.hpp"

namespace stategraph::checkpoint {

/// Whether this process created an object, and is not a child that a fork of that process has made. The child has none
/// of RocksDB's threads, and writes to the parent's files would destroy what the parent stores. Cost of the question: a
/// load.
class OwnProcess {
public:
    OwnProcess() noexcept;
    explicit operator bool() const noexcept;

private:
    std::uint64_t forks_;
};

/// The right of one object of this process to write to a database's folder, whatever path leads to the folder.
///
/// RocksDB compares only the spelling of paths, and POSIX locks do not help: a process that closes a second descriptor
/// of the lock file releases the lock that its first one holds. So a second opening must not reach that file.
class FolderClaim {
public:
    /// Throws an error that names the path under which the folder is open, if it is, or was open in a parent process
    /// when it forked. The folder must exist.
    FolderClaim(const std::string& folder, const DatabaseErrors& errors);
    ~FolderClaim();
    FolderClaim(const FolderClaim&) = delete;
    FolderClaim& operator=(const FolderClaim&) = delete;

private:
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
    OwnProcess own_process_;
};

/// Notices that the folder of an open database was deleted, emptied or renamed. Writes to its open files would
/// succeed, and RocksDB would make the next files by name: in no folder, or in that of another database. Thread-safe.
class FolderWatch {
public:
    enum class Place : std::uint8_t { here, gone, moved };

    explicit FolderWatch(const std::string& folder);
    ~FolderWatch();
    FolderWatch(const FolderWatch&) = delete;
    FolderWatch& operator=(const FolderWatch&) = delete;

    /// Returns where the folder is, or `here` if the system cannot tell. Cost: two system calls.
    Place look() const noexcept;

private:
    std::string path_;
    int descriptor_;
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

}  // namespace stategraph::checkpoint
