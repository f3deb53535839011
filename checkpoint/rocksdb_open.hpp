#pragma once
#include <memory>
#include <string>

#include <stategraph/rocksdb_saver.hpp>

namespace rocksdb {
class DB;
class Status;
}  // namespace rocksdb

namespace stategraph::checkpoint {

/// Opens (or makes) a database of this library's format.
/// Errors: SaverError, CorruptCheckpointError, both with the path.
std::unique_ptr<rocksdb::DB> openDatabase(const std::string& path, const RocksDBSaverOptions& options);

/// Throws what a failed status means: CorruptCheckpointError for damage, else SaverError.
/// `work` completes "could not …".
[[noreturn]] void failStatus(const rocksdb::Status& status, const std::string& work, const std::string& path);

}  // namespace stategraph::checkpoint
