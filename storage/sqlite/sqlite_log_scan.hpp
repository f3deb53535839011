#pragma once
#include <string>

// Reads the write-ahead log of a file before SQLite does, to find what its recovery would drop without reporting it:
// SQLite uses a log up to the first frame whose checksum is wrong.
namespace stategraph::checkpoint {

/// The members are sentences, or empty.
struct SqliteLogVerdict {
    std::string dropped;  // if the log ends with an incomplete commit
    std::string refused;  // if commits that were stored are behind damage
};

/// `path` is that of the log (FILE-wal). A missing log counts as undamaged. Others may write it meanwhile: what looks
/// like damage is read again, and counts as damage if it stays.
SqliteLogVerdict judgeSqliteLog(const std::string& path);

}  // namespace stategraph::checkpoint
