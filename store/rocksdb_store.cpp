#include <stategraph/rocksdb_store.hpp>

#include <utility>

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>
#include <rocksdb/write_batch.h>

#include "checkpoint/rocksdb_open.hpp"
#include "store/check.hpp"
#include "store/engine.hpp"
#include "store/keys.hpp"

namespace stategraph {
namespace {

rocksdb::Slice slice(std::string_view text) noexcept { return {text.data(), text.size()}; }

// What opening a database throws is a saver's.
template <class F>
auto asStore(F open) {
    try {
        return open();
    } catch (const CorruptCheckpointError& error) {
        throw CorruptStoreError(error.message());
    } catch (const SaverError& error) {
        throw StoreError(error.message());
    }
}

void check(const rocksdb::Status& status, const char* work, const std::string& path) {
    if (!status.ok()) asStore([&] { checkpoint::failStatus(status, work, path); });
}

class RocksDBCursor final : public stores::Cursor {
public:
    RocksDBCursor(rocksdb::DB& db, const std::string& path, const rocksdb::Snapshot* snapshot, std::string lower, std::string upper)
        : path_(path), lower_(std::move(lower)), upper_(std::move(upper)), lower_slice_(lower_), upper_slice_(upper_) {
        rocksdb::ReadOptions options;
        options.snapshot = snapshot;
        options.iterate_lower_bound = &lower_slice_;
        options.iterate_upper_bound = &upper_slice_;
        rows_.reset(db.NewIterator(options));
    }

    bool seek(std::string_view key) override { return rows_->Seek(slice(key)), isInside(); }
    bool next() override { return rows_->Next(), isInside(); }
    std::string_view key() const override { return rows_->key().ToStringView(); }
    std::string_view value() const override { return rows_->value().ToStringView(); }

private:
    bool isInside() const {
        if (rows_->Valid()) return true;
        check(rows_->status(), "read it", path_);
        return false;
    }

    const std::string& path_;
    std::string lower_;
    std::string upper_;
    rocksdb::Slice lower_slice_;
    rocksdb::Slice upper_slice_;
    std::unique_ptr<rocksdb::Iterator> rows_;
};

class RocksDBView final : public stores::View {
public:
    RocksDBView(rocksdb::DB& db, const std::string& path) : db_(db), path_(path), snapshot_(&db) {}

    std::optional<std::string> get(std::string_view key) override {
        rocksdb::ReadOptions options;
        options.snapshot = snapshot_.snapshot();
        std::string value;
        const rocksdb::Status status = db_.Get(options, slice(key), &value);
        if (status.IsNotFound()) return std::nullopt;
        check(status, "read an item", path_);
        return value;
    }
    std::unique_ptr<stores::Cursor> rows(std::string lower, std::string upper) override {
        return std::make_unique<RocksDBCursor>(db_, path_, snapshot_.snapshot(), std::move(lower), std::move(upper));
    }

private:
    rocksdb::DB& db_;
    const std::string& path_;
    rocksdb::ManagedSnapshot snapshot_;
};

class RocksDBRows final : public stores::Rows {
public:
    RocksDBRows(const std::string& path, const RocksDBStoreOptions& options)
        : path_(path), read_only_(options.read_only), sync_(options.sync), db_(asStore([&] {
              const RocksDBSaverOptions opening{.create_if_missing = options.create_if_missing,
                                                .read_only = options.read_only,
                                                .rocksdb_options = options.rocksdb_options};
              return checkpoint::openDatabase(path, opening, {.key = stores::format_key, .version = stores::key_format_version});
          })) {}

    std::unique_ptr<stores::View> view() override { return std::make_unique<RocksDBView>(*db_, path_); }

    void write(std::span<const stores::Change> changes, bool lasting) override {
        checkWritable();
        rocksdb::WriteBatch batch;
        for (const stores::Change& change : changes) {
            const rocksdb::Slice key = slice(change.key);
            check(change.value ? batch.Put(key, slice(*change.value)) : batch.Delete(key), "store an item", path_);
        }
        rocksdb::WriteOptions options;
        options.sync = sync_ && lasting;
        check(db_->Write(options, &batch), "store items", path_);
    }

    void checkWritable() const override {
        if (read_only_) throw StoreError("the database '" + path_ + "' is open read_only; open it for writing");
    }
    bool isWritable() const noexcept override { return !read_only_; }

private:
    std::string path_;
    bool read_only_;
    bool sync_;
    std::unique_ptr<rocksdb::DB> db_;
};

// Before a database is made.
const std::string& checked(const std::string& path, const StoreOptions& options) {
    stores::checkOptions(options);
    return path;
}

}  // namespace

struct RocksDBStore::Impl {
    Impl(const std::string& path, const StoreOptions& options, const RocksDBStoreOptions& database)
        : rows(checked(path, options), database), engine(options, rows) {}

    RocksDBRows rows;
    stores::Engine engine;
};

RocksDBStore::RocksDBStore(const std::string& path, const StoreOptions& options, const RocksDBStoreOptions& database)
    : impl_(std::make_unique<Impl>(path, options, database)) {}
RocksDBStore::~RocksDBStore() = default;

std::vector<StoreResult> RocksDBStore::apply(std::span<const StoreOp> ops) { return impl_->engine.apply(ops); }
std::size_t RocksDBStore::sweep() { return impl_->engine.sweep(); }

}  // namespace stategraph
