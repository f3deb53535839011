#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/sharded_saver.hpp>

// Shards that are schemas of PostgreSQL servers, and moving slots between them while programs run.
namespace stategraph {

/// A schema of a server that has the threads of some slots.
struct PostgresCluster {
    /// Stored in the schema when it is set up, 1 to 63 bytes; a cluster keeps its name when it gets another address.
    std::string name = {};
    /// Names the server and the database, as for a PostgresSaver.
    std::string conninfo = {};
    /// `read_only` is impossible; `set_up` has no effect.
    PostgresSaverOptions options = {};
};

/// How far the move of a slot is.
enum class SlotMoveStep : std::uint8_t {
    begun,    // writers of the slot waited for a moment, and what they change is noted from now on
    copying,  // some threads were copied
    leaving,  // writers wait, and the last changes are copied
    moved,    // the new cluster has the slot
    cleared,  // its rows are gone from the old one
};
/// The name of a step, as in the enumeration.
const char* toString(SlotMoveStep step) noexcept;

/// What a move reports.
struct SlotMoveEvent {
    std::size_t slot = 0;
    std::string from = {};
    std::string to = {};
    SlotMoveStep step = SlotMoveStep::begun;
    /// Threads of the slot that were copied so far; one that was written to meanwhile counts again.
    std::size_t threads = 0;
};

/// The options of PostgresShards::moveSlots.
struct SlotMoveOptions {
    /// How many threads are copied at a time; 1 to 10,000.
    std::size_t threads_at_once = 100;
    /// How long one of its statements may take, 1 s to 1 hour: reading the commits of so many threads is one.
    std::chrono::milliseconds statement_timeout = std::chrono::minutes(10);
    /// Called on the thread of `moveSlots`. An exception ends the move, and what was not moved stays where it is.
    std::function<void(const SlotMoveEvent& event)> on_progress = {};
};

/// What `moveSlots` did.
struct SlotMoveReport {
    std::size_t slots = 0;
    std::size_t threads = 0;
    std::uint64_t commits = 0;
    std::uint64_t bytes = 0;
    /// The longest time for which writers of a slot waited.
    std::chrono::milliseconds longest_wait = {};
};

/// What the clusters say of a slot.
struct SlotStatus {
    std::size_t slot = 0;
    /// The cluster that has it; empty if no cluster that could be reached knows.
    std::string owner = {};
    /// The cluster to which a move was begun that has not ended; empty if there is none.
    std::string moves_to = {};
    /// Whether that move has said nothing for so long that it counts as dead.
    bool is_dead = false;
    /// Clusters that have rows of the slot although it is not theirs: what a move left that broke off.
    std::vector<std::string> leftovers = {};
    /// What should be impossible, as a sentence; empty if there is nothing of the kind.
    std::string fault = {};
};

/// A cluster as it was found.
struct ClusterStatus {
    std::string name = {};
    /// Why it could not be reached; empty if it was.
    std::string error = {};
    /// How many slots it has, as far as is known.
    std::size_t slots = 0;
};

/// What all clusters say.
struct ShardsStatus {
    std::vector<ClusterStatus> clusters = {};
    /// All slots, ascending.
    std::vector<SlotStatus> slots = {};
};

/// The clusters that share threads, for a ShardedSaver. Each cluster's tables say which slots it has, and what it knows
/// of others: the clusters are the map, and there is no other place that could be lost. A write is checked against them
/// in its own transaction, whichever program makes it, so that a program with an old map writes nothing to a cluster
/// that has lost the slot.
///
/// A cluster is connected to when it is first needed. Safe from any thread. Link `stategraph::postgres_shards`.
class PostgresShards final : public Shards {
public:
    /// Uses these clusters. Errors: InvalidArgumentError for no clusters, and for names and options that cannot be.
    explicit PostgresShards(std::vector<PostgresCluster> clusters);
    ~PostgresShards() override;

    /// Creates the tables of all clusters. If none of them was set up before, the only one that has threads gets all
    /// slots; if none has threads, each gets an equal part. A cluster that is added later gets none: move some to
    /// it. Does nothing for what exists, and may be called again if it failed halfway. A program that opened a
    /// PostgresSaver on a schema before must open it again. Errors: those of PostgresSaver::setUp; InvalidArgumentError
    /// if more than one has threads; all clusters must be reachable.
    static void setUp(std::span<const PostgresCluster> clusters);

    std::size_t count() const noexcept override;
    std::string_view name(std::size_t shard) const override;
    BaseCheckpointSaver& saver(std::size_t shard) override;
    BaseCheckpointSaver* opened(std::size_t shard) noexcept override;
    bool answersLater() const noexcept override;
    std::size_t commitsAhead() const noexcept override;
    /// Asks every cluster that can be reached; one that cannot has the slots that others know of. Ends moves that were
    /// decided when their program died. Errors: SaverError if none can be reached.
    ShardMap readMap() override;

    /// The cluster's own saver: for a PostgresQueue, or for the LeasedSaver of its workers. Errors: as `saver`.
    std::shared_ptr<PostgresSaver> cluster(std::size_t shard);
    /// The number of the cluster of this name. Errors: InvalidArgumentError if there is none.
    std::size_t find(std::string_view name) const;
    /// The slots that a cluster has now, ascending.
    std::vector<std::size_t> slotsOf(std::string_view name);

    /// What each cluster says of each slot, its own and those of others. Changes nothing, and does not use what was
    /// read before. While slots move, clusters are read at different moments, so a move that is under way may look as
    /// if it had ended, or begun, at one of them alone. Errors: SaverError if no cluster can be reached. Cost: one
    /// statement to each cluster, which looks up each slot in the indexes of three tables.
    ShardsStatus status();

    /// Moves slots to the cluster `to`, one after the other, with their threads, and the queue's inputs and threads;
    /// those that it has already are only cleared elsewhere. Programs continue meanwhile: writers of a slot wait twice
    /// for a moment, when its move begins and when the last changes are copied; leases on its threads are lost, and
    /// workers of the new cluster continue them.
    ///
    /// If it fails, throws or dies at any point, each slot is where it was, or moved, and never in two places; calling
    /// it again moves the rest. If two calls move one slot, the later one continues, and the other one fails. A move
    /// that says nothing for some seconds counts as dead, and the next writer ends it. Errors: SaverError with the
    /// cluster; InvalidArgumentError for a slot or a cluster that does not exist. Cost: the slots' rows pass through
    /// this process, in parts of some MiB.
    SlotMoveReport moveSlots(std::span<const std::size_t> slots, std::string_view to,
                             const SlotMoveOptions& options = {});

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
