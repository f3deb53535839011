#pragma once
#include <rocksdb/env.h>

namespace stategraph::checkpoint {

/// Returns the default environment, except that RocksDB cannot open a table there that would end the process: RocksDB
/// reads the block of a table's properties before it verifies the block's checksum, and aborts if the highest bit of
/// the block is altered. Such a table is an error instead. Opening a table costs three small reads more.
///
/// With `owner_only`, the files that it makes are for their owner alone.
///
/// The environment is never destroyed, because the threads of a database that could not be closed use it. Thread-safe.
rocksdb::Env* envOfCheckedTables(bool owner_only);

}  // namespace stategraph::checkpoint
