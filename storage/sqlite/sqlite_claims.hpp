#pragma once
#include <cstdint>
#include <string>

#include "storage/sqlite/sqlite_errors.hpp"

namespace stategraph::checkpoint {

/// A file that this process has open. SQLite keeps its knowledge of a file's locks in the process's memory. A child of
/// a fork has that memory without the locks, so it must not open a file that its parent had open.
class SqliteFileClaim {
public:
    /// Throws if a parent had the file open at a fork. Does nothing if the file does not exist.
    static void check(const SqliteErrors& errors);

    /// The file must exist.
    explicit SqliteFileClaim(const SqliteErrors& errors);
    SqliteFileClaim(const SqliteFileClaim&) = delete;
    SqliteFileClaim& operator=(const SqliteFileClaim&) = delete;
    ~SqliteFileClaim();

    /// Throws SaverError if the path no longer leads to this file.
    void checkPlace(const SqliteErrors& errors) const;

private:
    std::uint64_t device_ = 0;
    std::uint64_t inode_ = 0;
};

}  // namespace stategraph::checkpoint
