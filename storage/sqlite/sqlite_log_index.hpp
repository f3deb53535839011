#pragma once
#include <cstdint>
#include <optional>
#include <string>

// What the index of a write-ahead log (FILE-shm) says of the log: which frames are its commits.
namespace stategraph::checkpoint {

struct SqliteLogIndex {
    std::string salts;         // of the log that it is for, as that log's header has them
    std::uint64_t frames = 0;  // up to the end of the last commit
};

/// `path` is that of the log (FILE-wal). None: there is no index, or none that is whole. It survives processes that are
/// killed. After a power failure it may be older than the log, or newer.
std::optional<SqliteLogIndex> readSqliteLogIndex(const std::string& path);

}  // namespace stategraph::checkpoint
