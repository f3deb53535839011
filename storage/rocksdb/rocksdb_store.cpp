#include <stategraph/rocksdb_store.hpp>

#include <utility>

#include "storage/rocksdb/rocksdb_database.hpp"
#include "storage/store/check.hpp"
#include "storage/store/engine.hpp"
#include "storage/store/keys.hpp"

namespace stategraph {
namespace {

class RocksDBCursor final : public stores::Cursor {
public:
    RocksDBCursor(checkpoint::Database& database, const rocksdb::Snapshot* snapshot, std::string lower,
                  std::string upper)
        : rows_(database, std::move(lower), std::move(upper), snapshot) {}

    bool seek(std::string_view key) override { return rows_.seek(key); }
    bool next() override { return rows_.next(); }
    std::string_view key() const override { return rows_.key(); }
    std::string_view value() const override { return rows_.value(); }

private:
    checkpoint::Cursor rows_;
};

class RocksDBView final : public stores::View {
public:
    explicit RocksDBView(checkpoint::Database& database) : database_(database), snapshot_(database) {}

    std::optional<std::string> get(std::string_view key) override {
        return database_.get(key, "read an item", snapshot_.get());
    }
    std::unique_ptr<stores::Cursor> rows(std::string lower, std::string upper) override {
        return std::make_unique<RocksDBCursor>(database_, snapshot_.get(), std::move(lower), std::move(upper));
    }

private:
    checkpoint::Database& database_;
    checkpoint::Snapshot snapshot_;
};

class RocksDBRows final : public stores::OwnRows {
public:
    RocksDBRows(const std::string& path, const RocksDBStoreOptions& options)
        : sync_(options.sync),
          database_(path, {.owner = checkpoint::DatabaseOwner::store,
                           .format = {.key = stores::format_key, .version = stores::key_format_version},
                           .create_if_missing = options.create_if_missing,
                           .read_only = options.read_only,
                           .drop_damaged_log = options.drop_damaged_log,
                           .owner_only = options.owner_only,
                           .rocksdb_options = options.rocksdb_options}) {}

    std::unique_ptr<stores::View> view(Reads) override { return std::make_unique<RocksDBView>(database_); }

    void write(std::span<const stores::Change> changes, bool lasting) override {
        checkWritable();
        rocksdb::WriteBatch batch;
        for (const stores::Change& change : changes) {
            const rocksdb::Slice key = checkpoint::slice(change.key);
            database_.errors().check(
                change.value ? batch.Put(key, checkpoint::slice(*change.value)) : batch.Delete(key), "store an item");
        }
        database_.write(batch, sync_ && lasting, "store items");
    }

    void checkWritable() const override { database_.checkWritable(); }
    bool isWritable() const noexcept override { return !database_.isReadOnly(); }
    const std::string& dropped() const noexcept { return database_.dropped(); }

private:
    bool sync_;
    checkpoint::Database database_;
};

// Checks the arguments before a database is created.
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
std::string RocksDBStore::droppedAtOpening() const { return impl_->rows.dropped(); }
std::size_t RocksDBStore::sweep() { return impl_->engine.sweep(); }

}  // namespace stategraph
