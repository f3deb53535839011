#include <stategraph/sqlite_store.hpp>

#include <utility>

#include "storage/sqlite/sqlite_database.hpp"
#include "storage/sqlite/sqlite_tables.hpp"
#include "storage/store/check.hpp"
#include "storage/store/engine.hpp"

namespace stategraph {
namespace {

using checkpoint::SqliteConnection;
using checkpoint::SqliteDatabase;
using checkpoint::SqliteQuery;

constexpr const char* select_row = "SELECT value FROM store WHERE key=?";
constexpr const char* select_rows = "SELECT key, value FROM store WHERE key>=? AND key<? ORDER BY key";
constexpr const char* put_row = "INSERT INTO store VALUES (?, ?) ON CONFLICT DO UPDATE SET value=excluded.value";
constexpr const char* delete_row = "DELETE FROM store WHERE key=?";

std::optional<std::string> readRow(SqliteConnection& connection, std::string_view key) {
    SqliteQuery query(connection, select_row, "read an item");
    if (!query.bind(key).step()) return std::nullopt;
    return std::string(query.bytes(0));
}

class SqliteCursor final : public stores::Cursor {
public:
    SqliteCursor(SqliteConnection& connection, std::string lower, std::string upper)
        : query_(connection, select_rows, "read items"), lower_(std::move(lower)), upper_(std::move(upper)) {}

    bool seek(std::string_view key) override {
        from_.assign(key < lower_ ? std::string_view(lower_) : key);
        query_.reset();
        query_.bind(from_).bind(upper_);
        return query_.step();
    }
    bool next() override { return query_.step(); }
    std::string_view key() const override { return query_.bytes(0); }
    std::string_view value() const override { return query_.bytes(1); }

private:
    SqliteQuery query_;
    std::string lower_;
    std::string upper_;
    std::string from_;
};

class SqliteView final : public stores::View {
public:
    explicit SqliteView(SqliteDatabase& database) : reading_(database) {}

    std::optional<std::string> get(std::string_view key) override { return readRow(reading_.connection(), key); }
    std::unique_ptr<stores::Cursor> rows(std::string lower, std::string upper) override {
        return std::make_unique<SqliteCursor>(reading_.connection(), std::move(lower), std::move(upper));
    }

private:
    SqliteDatabase::Reading reading_;
};

/// The rows as a transaction that writes sees them.
class SqliteLookup final : public stores::Lookup {
public:
    explicit SqliteLookup(SqliteConnection& connection) : connection_(connection) {}
    std::optional<std::string> get(std::string_view key) override { return readRow(connection_, key); }

private:
    SqliteConnection& connection_;
};

class SqliteRows final : public stores::Rows {
public:
    SqliteRows(const std::string& path, const SqliteStoreOptions& options)
        : sync_(options.sync),
          database_(path, {.create_if_missing = options.create_if_missing,
                           .read_only = options.read_only,
                           .busy_timeout = options.busy_timeout,
                           .readers_max = options.readers_max,
                           .drop_damaged_log = options.drop_damaged_log,
                           .owner_only = options.owner_only,
                           .owner = checkpoint::SqliteOwner::store,
                           .part = {.name = "store",
                                    .format = checkpoint::sqlite_store_format,
                                    .tables = checkpoint::sqlite_store_tables}}) {}

    std::unique_ptr<stores::View> view(Reads) override { return std::make_unique<SqliteView>(database_); }

    void update(std::span<const std::string>, const stores::Edit& edit, bool lasting) override {
        database_.write(sync_ && lasting, [&](SqliteConnection& connection) {
            SqliteLookup rows(connection);
            for (const stores::Change& change : edit(rows)) {
                SqliteQuery query(connection, change.value ? put_row : delete_row, "store an item");
                query.bind(change.key);
                if (change.value) query.bind(*change.value);
                query.finish();
            }
        });
    }

    void checkWritable() const override { database_.checkWritable(); }
    bool isWritable() const noexcept override { return !database_.isReadOnly(); }
    const std::string& dropped() const noexcept { return database_.dropped(); }

private:
    bool sync_;
    SqliteDatabase database_;
};

// Checks the arguments before a file is created.
const std::string& checked(const std::string& path, const StoreOptions& options) {
    stores::checkOptions(options);
    return path;
}

}  // namespace

struct SqliteStore::Impl {
    Impl(const std::string& path, const StoreOptions& options, const SqliteStoreOptions& database)
        : rows(checked(path, options), database), engine(options, rows) {}

    SqliteRows rows;
    stores::Engine engine;
};

SqliteStore::SqliteStore(const std::string& path, const StoreOptions& options, const SqliteStoreOptions& database)
    : impl_(std::make_unique<Impl>(path, options, database)) {}
SqliteStore::~SqliteStore() = default;

std::vector<StoreResult> SqliteStore::apply(std::span<const StoreOp> ops) { return impl_->engine.apply(ops); }
std::string SqliteStore::droppedAtOpening() const { return impl_->rows.dropped(); }
std::size_t SqliteStore::sweep() { return impl_->engine.sweep(); }

}  // namespace stategraph
