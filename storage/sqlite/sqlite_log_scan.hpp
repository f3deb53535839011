#pragma once
#include <string>

// Reads the write-ahead log of a file before SQLite does, to find what its recovery would drop without a word: it
// believes a log up to the first frame whose checksum is wrong.
namespace stategraph::checkpoint {

/// Sentences, or empty.
struct SqliteLogVerdict {
    std::string dropped;  // at its end is what is no whole commit
    std::string refused;  // after the damage are whole commits
};

/// `path` is that of the log (FILE-wal); a missing one is whole. Others may write it meanwhile: what looks like damage
/// is looked at again, and is damage if it stays.
SqliteLogVerdict judgeSqliteLog(const std::string& path);

}  // namespace stategraph::checkpoint
