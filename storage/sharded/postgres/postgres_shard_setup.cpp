#include <algorithm>
#include <vector>

#include "storage/postgres/postgres_setup.hpp"
#include "storage/sharded/postgres/postgres_shards_impl.hpp"

// Making clusters of schemas.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresPool;
using checkpoint::PostgresStatement;

constexpr const char* setting_up = "set it up as a cluster";

// The cluster that has a slot, and the version in which that is known.
struct Owner {
    std::int64_t version = 0;
    std::string name;
};

// A cluster whose set-up is under way.
struct NewCluster {
    const PostgresCluster& settings;
    std::unique_ptr<PostgresPool> pool;
    std::string quoted_schema;
    bool is_set_up = false;
    bool has_threads = false;

    explicit NewCluster(const PostgresCluster& given)
        : settings(given),
          pool(std::make_unique<PostgresPool>(checkpoint::poolSettings(given.conninfo, given.options))),
          quoted_schema(checkpoint::quotedName(given.options.schema)) {
        pool->repeat([&](PostgresConnection& connection) {
            (void)checkpoint::setUpPostgres(connection);
            checkpoint::setUpPostgresPart(connection, checkpoint::postgres_shard_part);
            const auto rows =
                connection.command("SELECT (SELECT name FROM " + quoted_schema + ".cluster), EXISTS (SELECT FROM " +
                                       quoted_schema + ".logs) OR EXISTS (SELECT FROM " + quoted_schema + ".inputs)",
                                   setting_up);
            is_set_up = !rows.isNull(0, 0);
            has_threads = rows.copy(0, 1) == "t";
            if (is_set_up && rows.copy(0, 0) != given.name)
                connection.errors().refuseOpening("it is the cluster '" + rows.copy(0, 0) + "' and not '" + given.name +
                                                  "'; correct the addresses of the clusters");
        });
    }

    void learn(std::vector<Owner>& owners) const {
        pool->repeat([&](PostgresConnection& connection) {
            const auto rows = connection.command(
                "SELECT slot, version, owner FROM " + quoted_schema + ".slots ORDER BY slot", setting_up);
            for (int row = 0; row < rows.rows(); ++row) {
                Owner& owner = owners.at(std::stoul(rows.copy(row, 0)));
                const std::int64_t version = std::stoll(rows.copy(row, 1));
                if (version > owner.version) owner = {version, rows.copy(row, 2)};
            }
        });
    }

    // All of it is one transaction, or the cluster would have slots that others have too.
    void store(const std::vector<Owner>& owners) const {
        PostgresArray versions(checkpoint::bigint_type);
        PostgresArray names(checkpoint::text_type);
        for (const Owner& owner : owners) {
            versions.addNumber(owner.version);
            names.add(owner.name);
        }
        const PostgresStatement insert{
            "set_up_cluster",
            checkpoint::inSchema(
                "WITH c AS (INSERT INTO {S}.cluster (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name) "
                "INSERT INTO {S}.slots (slot, state, version, owner) SELECT u.place - 1, CASE WHEN u.owner = c.name "
                "THEN 1 ELSE 0 END, u.version, u.owner FROM c, unnest($2, $3) WITH ORDINALITY AS u (version, owner, "
                "place)",
                quoted_schema),
            {checkpoint::text_type, checkpoint::bigint_array_type, checkpoint::text_array_type}};
        pool->repeat([&](PostgresConnection& connection) {
            PostgresParameters parameters;
            parameters.text(settings.name).owned(versions.encoded()).owned(names.encoded());
            (void)connection.run(insert, parameters, setting_up);
        });
    }
};

// The clusters that get the slots at first.
std::vector<Owner> divide(const std::vector<NewCluster>& clusters) {
    const NewCluster* only = nullptr;
    for (const NewCluster& each : clusters) {
        if (!each.has_threads) continue;
        if (only != nullptr)
            throw InvalidArgumentError("the clusters '" + only->settings.name + "' and '" + each.settings.name +
                                       "' both have threads already, which may be in slots of the other one; move the "
                                       "threads of one of them with 'stategraph export' and 'import'");
        only = &each;
    }
    const ShardMap even = ShardMap::evenly(clusters.size());
    std::vector<Owner> owners;
    for (std::size_t slot = 0; slot < shard_slots; ++slot)
        owners.push_back({1, only != nullptr ? only->settings.name : clusters[even.shard_of[slot]].settings.name});
    return owners;
}

}  // namespace

void PostgresShards::setUp(std::span<const PostgresCluster> clusters) {
    (void)Impl(std::vector<PostgresCluster>(clusters.begin(), clusters.end()));  // looks at names and options
    std::vector<NewCluster> all;
    all.reserve(clusters.size());
    for (const PostgresCluster& each : clusters) all.emplace_back(each);
    std::vector<Owner> owners(shard_slots);
    for (const NewCluster& each : all) {
        if (each.is_set_up) each.learn(owners);
    }
    const bool is_first = std::ranges::none_of(all, &NewCluster::is_set_up);
    if (is_first) owners = divide(all);
    for (const NewCluster& each : all) {
        if (each.is_set_up) continue;
        const bool owns =
            std::ranges::any_of(owners, [&](const Owner& owner) { return owner.name == each.settings.name; });
        if (each.has_threads && !owns)
            throw InvalidArgumentError("the cluster '" + each.settings.name +
                                       "' is added to others and has threads already, in slots that others have; move "
                                       "them with 'stategraph export' and 'import'");
        each.store(owners);
    }
}

}  // namespace stategraph
