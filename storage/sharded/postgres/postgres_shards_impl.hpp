#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/postgres_shards.hpp>

#include "storage/postgres/postgres_impl.hpp"
#include "storage/sharded/postgres/postgres_slot_move.hpp"

namespace stategraph {

struct PostgresShards::Impl {
    /// A slot as a cluster knows it.
    struct Known {
        checkpoint::SlotState state{};
        std::int64_t version = 0;
        std::string owner;
    };
    using Slots = std::vector<Known>;

    struct Cluster {
        explicit Cluster(PostgresCluster given)
            : settings(std::move(given)), statements(checkpoint::quotedName(settings.options.schema)) {}

        const PostgresCluster settings;
        const checkpoint::SlotStatements statements;
        detail::Mutex mutex;
        std::shared_ptr<PostgresSaver> saver SG_GUARDED_BY(mutex);
        // As it was last read; none: never.
        std::optional<std::int64_t> versions SG_GUARDED_BY(mutex);
        Slots slots SG_GUARDED_BY(mutex);
    };

    explicit Impl(std::vector<PostgresCluster> given);

    std::shared_ptr<PostgresSaver> open(Cluster& cluster) SG_EXCLUDES(cluster.mutex);
    /// Throws if the cluster is not set up, or is another one.
    static void checkName(PostgresSaver& saver, const std::string& name);
    /// Reads it if it has changed; if it cannot be reached, returns what it was, and sets `error` unless it is set.
    Slots read(Cluster& cluster, std::exception_ptr& error) SG_EXCLUDES(cluster.mutex);
    /// The newest of what clusters know of a slot; null if none is known.
    static const Known* newest(const std::vector<Slots>& all, std::size_t slot);
    /// Ends the move of a slot that was decided, if that was not done.
    void finish(std::size_t slot, const Known& decided, const std::vector<Slots>& all);
    std::size_t find(std::string_view name) const;
    std::unique_ptr<checkpoint::SlotEnd> makeEnd(Cluster& cluster, const SlotMoveOptions& options);

    std::vector<std::unique_ptr<Cluster>> clusters;
    std::atomic<std::uint64_t> round_trips{0};
};

}  // namespace stategraph
