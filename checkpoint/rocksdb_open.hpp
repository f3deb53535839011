#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <stategraph/rocksdb_saver.hpp>

#include "checkpoint/rocksdb_keys.hpp"

namespace rocksdb {
class DB;
class Status;
}  // namespace rocksdb

namespace stategraph::checkpoint {

/// The row that says what a database is, and which version of its grammar this library writes.
struct DatabaseFormat {
    std::string_view key = format_key;
    int version = key_format_version;
};

/// Opens (or makes) a database of this library's format.
/// Errors: SaverError, CorruptCheckpointError, both with the path.
std::unique_ptr<rocksdb::DB> openDatabase(const std::string& path, const RocksDBSaverOptions& options,
                                          const DatabaseFormat& format = {});

/// Throws what a failed status means: CorruptCheckpointError for damage, else SaverError.
/// `work` completes "could not …".
[[noreturn]] void failStatus(const rocksdb::Status& status, const std::string& work, const std::string& path);

}  // namespace stategraph::checkpoint
