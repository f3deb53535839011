#include <stategraph/postgres_store.hpp>

#include "storage/postgres/postgres_parts.hpp"
#include "storage/postgres/postgres_rows.hpp"
#include "storage/store/check.hpp"
#include "storage/store/engine.hpp"

namespace stategraph {
namespace {

using checkpoint::PostgresConnection;
using checkpoint::PostgresPool;
using checkpoint::PostgresPoolSettings;

PostgresPoolSettings checkedSettings(const std::string& conninfo, const PostgresStoreOptions& options) {
    PostgresPoolSettings settings = checkpoint::poolSettings(conninfo, options);
    checkpoint::checkPostgresSettings(settings);
    if (options.read_only && options.set_up)
        throw InvalidArgumentError("set_up: a read_only database is not changed; set one of them only");
    return settings;
}

// Checks the options before a connection is opened.
const StoreOptions& checked(const StoreOptions& options) {
    stores::checkOptions(options);
    return options;
}

}  // namespace

struct PostgresStore::Impl {
    Impl(const StoreOptions& options, const PostgresPoolSettings& settings, bool sync)
        : pool(settings), rows(pool, settings, sync), engine(checked(options), rows) {}

    PostgresPool pool;
    checkpoint::PostgresRows rows;
    stores::Engine engine;
};

PostgresStore::PostgresStore(const std::string& conninfo, const StoreOptions& options,
                             const PostgresStoreOptions& database)
    : impl_(std::make_unique<Impl>(options, checkedSettings(conninfo, database), database.sync)) {
    checkpoint::asStore([&] {
        impl_->pool.repeat([&](PostgresConnection& connection) {
            if (database.set_up) return checkpoint::setUpPostgresPart(connection, checkpoint::postgres_store_part);
            checkpoint::checkPostgresPart(connection, checkpoint::postgres_store_part);
        });
    });
}
PostgresStore::~PostgresStore() = default;

void PostgresStore::setUp(const std::string& conninfo, const PostgresStoreOptions& database) {
    PostgresPool pool(checkedSettings(conninfo, database));
    checkpoint::asStore([&] {
        pool.repeat([](PostgresConnection& connection) {
            checkpoint::setUpPostgresPart(connection, checkpoint::postgres_store_part);
        });
    });
}

std::vector<StoreResult> PostgresStore::apply(std::span<const StoreOp> ops) { return impl_->engine.apply(ops); }
std::size_t PostgresStore::sweep() { return impl_->engine.sweep(); }
std::uint64_t PostgresStore::roundTrips() const noexcept { return impl_->pool.roundTrips(); }

}  // namespace stategraph
