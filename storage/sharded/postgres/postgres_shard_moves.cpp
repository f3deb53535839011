#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "storage/sharded/postgres/postgres_shards_impl.hpp"

// Moving slots: postgres_slot_move.cpp moves one.
namespace stategraph {
namespace {

using checkpoint::SlotEnd;
using checkpoint::SlotMove;

constexpr int tries_max = 6;

void checkOptions(const SlotMoveOptions& options) {
    if (options.threads_at_once < 1 || options.threads_at_once > 10'000)
        throw InvalidArgumentError("threads_at_once is " + std::to_string(options.threads_at_once) +
                                   "; it must be 1 to 10000");
    if (options.statement_timeout < std::chrono::seconds(1) || options.statement_timeout > std::chrono::hours(1))
        throw InvalidArgumentError("statement_timeout is " + std::to_string(options.statement_timeout.count()) +
                                   " ms; it must be 1000 to 3600000");
}

// A map that was read before another move may be old, and a move may have been ended by a writer: then it is begun
// again. Connections are opened when they are first needed.
class Moves {
public:
    Moves(PostgresShards& shards, std::function<std::unique_ptr<SlotEnd>(std::size_t)> makeEnd,
          const SlotMoveOptions& options)
        : shards_(shards), makeEnd_(std::move(makeEnd)), options_(options) {}

    void move(std::size_t slot, std::size_t to) {
        auto pause = std::chrono::milliseconds(50);
        for (int tries = 1;; ++tries) {
            try {
                return moveOnce(slot, shards_.readMap().shard_of[slot], to);
            } catch (const checkpoint::SlotMoveLost&) {
                if (tries == tries_max) throw;
            } catch (const checkpoint::PostgresLost&) {
                moves_.clear();
                ends_.clear();
                if (tries == tries_max) throw;
            }
            std::this_thread::sleep_for(pause);
            pause = std::min(2 * pause, std::chrono::milliseconds(1000));
        }
    }

    const SlotMoveReport& report() const noexcept { return report_; }

private:
    void moveOnce(std::size_t slot, std::size_t from, std::size_t to) {
        if (from == to) return clearElsewhere(slot, to);
        auto& move = moves_[{from, to}];
        if (!move) move = std::make_unique<SlotMove>(end(from), end(to), options_, report_);
        move->move(slot);
    }

    // What moves left that ended after they were decided, or before.
    void clearElsewhere(std::size_t slot, std::size_t owner) {
        for (std::size_t shard = 0; shard < shards_.count(); ++shard) {
            if (shard != owner) SlotMove::clear(end(shard), slot, end(owner));
        }
    }

    SlotEnd& end(std::size_t shard) {
        auto& found = ends_[shard];
        if (!found) found = makeEnd_(shard);
        return *found;
    }

    PostgresShards& shards_;
    const std::function<std::unique_ptr<SlotEnd>(std::size_t)> makeEnd_;
    const SlotMoveOptions& options_;
    SlotMoveReport report_;
    std::map<std::size_t, std::unique_ptr<SlotEnd>> ends_;
    std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<SlotMove>> moves_;
};

}  // namespace

// Its settings are longer than a saver's, and outlive it in the cluster.
std::unique_ptr<SlotEnd> PostgresShards::Impl::makeEnd(Cluster& cluster, const SlotMoveOptions& options) {
    const auto saver = open(cluster);
    checkpoint::PostgresSettings settings =
        checkpoint::poolSettings(cluster.settings.conninfo, cluster.settings.options).connection;
    settings.statement_timeout = options.statement_timeout;
    return std::make_unique<SlotEnd>(cluster.settings.name, saver->impl_->pool.errors(), std::move(settings),
                                     round_trips);
}

SlotMoveReport PostgresShards::moveSlots(std::span<const std::size_t> slots, std::string_view to,
                                         const SlotMoveOptions& options) {
    checkOptions(options);
    const std::size_t target = find(to);
    for (const std::size_t slot : slots) {
        if (slot >= shard_slots)
            throw InvalidArgumentError("there is no slot " + std::to_string(slot) + "; slots are 0 to " +
                                       std::to_string(shard_slots - 1));
    }
    Moves moves(
        *this, [&](std::size_t shard) { return impl_->makeEnd(*impl_->clusters.at(shard), options); }, options);
    for (const std::size_t slot : slots) moves.move(slot, target);
    return moves.report();
}

}  // namespace stategraph
