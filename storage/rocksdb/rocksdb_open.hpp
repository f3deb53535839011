#pragma once
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "storage/rocksdb/rocksdb_database.hpp"

// The steps of opening a database, which Database executes.
namespace stategraph::checkpoint {

/// Creates the folder if that is requested, and checks that it holds a database or may get one. Returns its canonical
/// path.
std::string prepareFolder(const DatabaseSettings& settings, const DatabaseErrors& errors);

rocksdb::Options defaultOptions();

/// Opens the database in the folder and checks its format; a new database gets one. With `own_folder`, the database is
/// opened for reading and follows the writer; its files are in that folder.
std::unique_ptr<rocksdb::DB> openFolder(const std::string& folder, const rocksdb::Options& options, bool read_only,
                                        const std::string& own_folder, const DatabaseFormat& format,
                                        const DatabaseErrors& errors);

}  // namespace stategraph::checkpoint
