#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "benchmarks/support/temp_folder.hpp"

namespace bench {

/// A database without a saver, for floors. Its buffers and caches have the saver's sizes, so that it does the same work
/// in the background.
class BareRocksDB {
public:
    BareRocksDB() {
        rocksdb::Options options;
        options.create_if_missing = true;
        options.write_buffer_size = 32U << 20U;
        options.max_background_jobs = 2;
        rocksdb::BlockBasedTableOptions table;
        table.block_cache = rocksdb::NewLRUCache(32U << 20U);
        options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        rocksdb::DB* opened = nullptr;
        check(rocksdb::DB::Open(options, folder_.path(), &opened));
        db_.reset(opened);
    }

    void write(std::string_view key, std::string_view value, bool sync = false) {
        rocksdb::WriteBatch batch;
        check(batch.Put({key.data(), key.size()}, {value.data(), value.size()}));
        rocksdb::WriteOptions options;
        options.sync = sync;
        check(db_->Write(options, &batch));
    }
    std::string read(std::string_view key) {
        std::string value;
        check(db_->Get({}, {key.data(), key.size()}, &value));
        return value;
    }
    rocksdb::DB& db() { return *db_; }
    const TempFolder& folder() const { return folder_; }

private:
    static void check(const rocksdb::Status& status) {
        if (!status.ok()) throw std::runtime_error("RocksDB: " + status.ToString());
    }
    TempFolder folder_;
    std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace bench
