#include <stategraph/postgres_shards.hpp>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "storage/sharded/postgres/postgres_shards_impl.hpp"

// The clusters and their map. Moves are in postgres_shard_moves.cpp, the set-up in postgres_shard_setup.cpp.
namespace stategraph {
namespace {

using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresResult;
using checkpoint::SlotState;

constexpr std::size_t name_bytes_max = 63;
constexpr const char* reading_map = "read which slots it has";

}  // namespace

PostgresShards::Impl::Impl(std::vector<PostgresCluster> given) {
    if (given.empty()) throw InvalidArgumentError("PostgresShards was given no clusters; give it at least one");
    std::set<std::string> names;
    for (PostgresCluster& each : given) {
        if (each.name.empty() || each.name.size() > name_bytes_max || each.name.find('\0') != std::string::npos)
            throw InvalidArgumentError("the name of a cluster has " + std::to_string(each.name.size()) +
                                       " bytes; it must have 1 to 63, and none of value 0");
        if (!names.insert(each.name).second)
            throw InvalidArgumentError("two clusters are called '" + each.name + "'; give each a name of its own");
        if (each.options.read_only)
            throw InvalidArgumentError("cluster '" + each.name + "': read_only is not possible for a cluster");
        (void)checkpoint::postgresPlace(each.conninfo);
        each.options.set_up = false;
        checkpoint::checkedOptions(each.options);
        clusters.push_back(std::make_unique<Cluster>(std::move(each)));
    }
}

std::shared_ptr<PostgresSaver> PostgresShards::Impl::open(Cluster& cluster) {
    const detail::LockGuard lock(cluster.mutex);
    if (!cluster.saver) {
        auto saver = std::make_shared<PostgresSaver>(cluster.settings.conninfo, cluster.settings.options);
        checkName(*saver, cluster.settings.name);
        cluster.saver = std::move(saver);
    }
    return cluster.saver;
}

void PostgresShards::Impl::checkName(PostgresSaver& saver, const std::string& name) {
    PostgresSaver::Impl& impl = *saver.impl_;
    if (!impl.fence.hasSlots())
        impl.pool.errors().refuseOpening("it has no tables of a cluster; call PostgresShards::setUp");
    const std::string stored = impl.pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.command("SELECT name FROM " + impl.quoted_schema + ".cluster", reading_map);
        return rows.rows() == 0 ? std::string() : rows.copy(0, 0);
    });
    if (stored.empty())
        impl.pool.errors().refuseOpening("its set-up as a cluster was not finished; call PostgresShards::setUp again");
    if (stored != name)
        impl.pool.errors().refuseOpening("it is the cluster '" + stored + "' and not '" + name +
                                         "'; correct the addresses of the clusters");
}

// Without the lock while it waits for the server: other calls need only the saver. If two read at once, the rows
// of either may stay; versions ascend, so the next reader sees whether they are old.
PostgresShards::Impl::Slots PostgresShards::Impl::read(Cluster& cluster, std::exception_ptr& error) {
    const auto knownVersions = [&] {
        const detail::LockGuard lock(cluster.mutex);
        return cluster.versions;
    };
    try {
        const auto saver = open(cluster);
        const std::optional<std::int64_t> known = knownVersions();
        saver->impl_->pool.repeat([&](PostgresConnection& connection) {
            const auto versions = connection.run(cluster.statements.versions, {}, reading_map).number(0, 0);
            if (known == versions) return;
            const PostgresResult rows = connection.run(cluster.statements.states, {}, reading_map);
            if (rows.rows() != static_cast<int>(shard_slots))
                connection.errors().failUnreadable("is damaged: it knows of " + std::to_string(rows.rows()) +
                                                   " slots and not of " + std::to_string(shard_slots));
            Slots slots;
            std::int64_t sum = 0;
            for (int row = 0; row < rows.rows(); ++row) {
                slots.push_back({static_cast<SlotState>(rows.number(row, 1)), rows.number(row, 2), rows.copy(row, 3)});
                sum += rows.number(row, 2);
            }
            const detail::LockGuard lock(cluster.mutex);
            if (cluster.versions && *cluster.versions > sum) return;
            cluster.slots = std::move(slots);
            cluster.versions = sum;
        });
    } catch (const SaverError&) {
        if (!error) error = std::current_exception();
    }
    const detail::LockGuard lock(cluster.mutex);
    return cluster.slots;
}

const PostgresShards::Impl::Known* PostgresShards::Impl::newest(const std::vector<Slots>& all, std::size_t slot) {
    const Known* best = nullptr;
    for (const Slots& each : all) {
        if (!each.empty() && (best == nullptr || each[slot].version > best->version)) best = &each[slot];
    }
    return best;
}

// The rows are complete there: the one that decided has looked.
void PostgresShards::Impl::finish(std::size_t slot, const Known& decided, const std::vector<Slots>& all) {
    const std::size_t target = find(decided.owner);
    if (all[target].empty()) return;
    const Known& there = all[target][slot];
    if (there.state != SlotState::arriving || there.version + 1 != decided.version) return;
    Cluster& cluster = *clusters[target];
    const auto saver = open(cluster);
    saver->impl_->pool.repeat([&](PostgresConnection& connection) {
        PostgresParameters parameters;
        parameters.number(static_cast<std::int64_t>(slot)).number(there.version).text(decided.owner);
        (void)connection.run(cluster.statements.finish, parameters, "end the move of a slot");
    });
}

std::size_t PostgresShards::Impl::find(std::string_view name) const {
    const auto found = std::ranges::find_if(clusters, [&](const auto& each) { return each->settings.name == name; });
    if (found != clusters.end()) return static_cast<std::size_t>(found - clusters.begin());
    throw InvalidArgumentError("there is no cluster '" + std::string(name) +
                               "' among the given ones; all clusters that have threads must be given");
}

PostgresShards::PostgresShards(std::vector<PostgresCluster> clusters)
    : impl_(std::make_unique<Impl>(std::move(clusters))) {}
PostgresShards::~PostgresShards() = default;

std::size_t PostgresShards::count() const noexcept { return impl_->clusters.size(); }
std::string_view PostgresShards::name(std::size_t shard) const { return impl_->clusters.at(shard)->settings.name; }
std::size_t PostgresShards::find(std::string_view name) const { return impl_->find(name); }
BaseCheckpointSaver& PostgresShards::saver(std::size_t shard) { return *cluster(shard); }
BaseCheckpointSaver* PostgresShards::opened(std::size_t shard) noexcept {
    Impl::Cluster& cluster = *impl_->clusters[shard];
    const detail::LockGuard lock(cluster.mutex);
    return cluster.saver.get();
}
bool PostgresShards::answersLater() const noexcept { return true; }
std::size_t PostgresShards::commitsAhead() const noexcept {
    std::size_t least = impl_->clusters.front()->settings.options.commits_ahead;
    for (const auto& cluster : impl_->clusters) least = std::min(least, cluster->settings.options.commits_ahead);
    return least;
}
std::shared_ptr<PostgresSaver> PostgresShards::cluster(std::size_t shard) {
    return impl_->open(*impl_->clusters.at(shard));
}

ShardMap PostgresShards::readMap() {
    std::exception_ptr error;
    std::vector<Impl::Slots> all;
    for (const auto& cluster : impl_->clusters) all.push_back(impl_->read(*cluster, error));
    if (error && std::ranges::all_of(all, &Impl::Slots::empty)) std::rethrow_exception(error);
    ShardMap map;
    for (std::size_t slot = 0; slot < shard_slots; ++slot) {
        const Impl::Known* const best = Impl::newest(all, slot);
        map.version += static_cast<std::uint64_t>(best->version);
        map.shard_of.push_back(impl_->find(best->owner));
        if (best->state != SlotState::away) continue;
        try {
            impl_->finish(slot, *best, all);
        } catch (const SaverError&) {  // its new cluster cannot be reached now; a later reader does it
        }
    }
    return map;
}

std::vector<std::size_t> PostgresShards::slotsOf(std::string_view name) {
    const std::size_t shard = find(name);
    const ShardMap map = readMap();
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < shard_slots; ++slot) {
        if (map.shard_of[slot] == shard) slots.push_back(slot);
    }
    return slots;
}

const char* toString(SlotMoveStep step) noexcept {
    switch (step) {
        case SlotMoveStep::begun:
            return "begun";
        case SlotMoveStep::copying:
            return "copying";
        case SlotMoveStep::leaving:
            return "leaving";
        case SlotMoveStep::moved:
            return "moved";
        case SlotMoveStep::cleared:
            return "cleared";
    }
    return "unknown";
}

}  // namespace stategraph
