#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <stategraph/postgres_shards.hpp>

#include "storage/postgres/postgres_connection.hpp"
#include "storage/postgres/postgres_shard_tables.hpp"
#include "storage/sharded/postgres/postgres_slot_copy.hpp"

namespace stategraph::checkpoint {

/// What moves of slots read and change of a cluster's map.
struct SlotStatements {
    explicit SlotStatements(const std::string& quoted_schema);

    PostgresStatement states;       // → slot, state, version, owner: all slots
    PostgresStatement survey;       // → the same, peer, whether its time is over, whether rows of it are here
    PostgresStatement versions;     // → the sum of their versions
    PostgresStatement state;        // slot → state, version, owner
    PostgresStatement begin;        // slot, peer, ms → version: writers wait, and every older move is over
    PostgresStatement lock_time;    // ms: how long the next statement waits for locks
    PostgresStatement drain;        // slot: waits for writers that began before
    PostgresStatement forget;       // slot: what was noted for an older move
    PostgresStatement step;         // slot, version, old state, new state, ms → a row if it was that
    PostgresStatement undo;         // slot, version
    PostgresStatement decide;       // slot, version, owner → a row if it is decided
    PostgresStatement arrive;       // slot, version, owner → a row if it may arrive
    PostgresStatement confirm;      // slot, version → a row if it still arrives; what it has is on the disk
    PostgresStatement finish;       // slot, version, owner
    PostgresStatement end_dead;     // slot: ends a move that says nothing any more
    PostgresStatement end_arrival;  // slot, version of its owner: it does not arrive any more
    PostgresStatement clear;        // slot, version, state, limit → how many threads
    PostgresStatement clear_rest;   // slot, version, state: inputs, the queue, and notes
};

/// One end of a move: a connection for rows and one for the map, which is used while rows are read.
class SlotEnd {
public:
    /// `errors` and `round_trips` must outlive it.
    SlotEnd(std::string name, const PostgresErrors& errors, PostgresSettings settings,
            std::atomic<std::uint64_t>& round_trips);

    const std::string& name() const noexcept { return name_; }
    const SlotStatements& statements() const noexcept { return statements_; }
    PostgresConnection& rows() noexcept { return rows_; }
    PostgresConnection& map() noexcept { return map_; }

private:
    const std::string name_;
    const PostgresSettings settings_;
    const SlotStatements statements_;
    PostgresConnection rows_;
    PostgresConnection map_;
};

/// Moves slots from one cluster to another (postgres_shard_tables.hpp has the states).
class SlotMove {
public:
    SlotMove(SlotEnd& from, SlotEnd& to, const SlotMoveOptions& options, SlotMoveReport& report);

    /// Errors: SlotMoveLost if another one has begun or a writer has ended it; it may be called again then.
    void move(std::size_t slot);
    /// Removes the rows of a slot that the cluster does not have, also those of a move to there that has ended.
    static void clear(SlotEnd& end, std::size_t slot, SlotEnd& owner);

private:
    void begin();
    void copyAll();
    void copyTouched(std::size_t threads_max);
    void leave();
    void undo() noexcept;
    void drain();
    void stepTo(SlotState before, SlotState after);
    void renew();
    void tell(SlotMoveStep step);
    static void clearRows(SlotEnd& end, std::size_t slot, std::int64_t version, SlotState state,
                          const std::function<void()>& tick);

    using Clock = std::chrono::steady_clock;

    SlotEnd& from_;
    SlotEnd& to_;
    const SlotMoveOptions& options_;
    SlotMoveReport& report_;
    SlotCopy copy_;
    std::size_t slot_ = 0;
    std::int64_t version_ = 0;
    SlotState state_{};
    std::size_t threads_ = 0;
    Clock::time_point renewed_;
    Clock::time_point waiting_since_;
};

}  // namespace stategraph::checkpoint
