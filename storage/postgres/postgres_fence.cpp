#include "storage/postgres/postgres_fence.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/sharded_saver.hpp>

#include "storage/postgres/postgres_shard_tables.hpp"
#include "storage/postgres/postgres_tables.hpp"

namespace stategraph::checkpoint {
namespace {

constexpr auto leaving_wait = std::chrono::seconds(10);
constexpr const char* slot_is_elsewhere = "SG010";

std::int64_t slotNumber(std::string_view thread) { return static_cast<std::int64_t>(slotOf(thread)); }

// The slot's state and owner are in the database's message.
SlotState stateIn(const PostgresRefused& error) {
    std::int64_t number = 0;
    (void)std::from_chars(error.said().data(), error.said().data() + error.said().size(), number);
    return static_cast<SlotState>(number);
}

[[noreturn]] void refuseMoved(const PostgresConnection& connection, const PostgresRefused& error,
                              std::span<const std::string_view> threads) {
    const std::size_t space = error.said().find(' ');
    const std::string owner = space == std::string::npos ? std::string() : error.said().substr(space + 1);
    std::string text = threads.size() == 1 ? "the thread's slot " + std::to_string(slotNumber(threads[0]))
                                           : "the slot of one of " + std::to_string(threads.size()) + " threads";
    text += stateIn(error) == SlotState::leaving ? " is moving to another cluster"
                                                 : " is not in this cluster but in '" + owner + "'";
    throw ThreadMovedError("the database " + connection.errors().place() + ": " + text +
                           ", so nothing was done; call it through a ShardedSaver, which finds the cluster");
}

}  // namespace

PostgresFence::PostgresFence(const std::string& quoted_schema, bool has_slots)
    : has_slots_(has_slots),
      hold_{
          "hold_slot",
          inSchema("WITH h AS MATERIALIZED (SELECT FROM {S}.slots WHERE slot = $1 AND state = 1 FOR KEY SHARE) SELECT "
                   "CASE WHEN EXISTS (SELECT FROM h) THEN true ELSE {S}.hold_slot($1, $2, $3) END",
                   quoted_schema),
          {bigint_type, bytea_type, bool_type}},
      holds_{"hold_slots", inSchema("SELECT {S}.hold_slots($1, $2)", quoted_schema), {bytea_array_type, bool_type}},
      see_{"see_slot",
           inSchema(
               "SELECT CASE WHEN EXISTS (SELECT FROM {S}.slots WHERE slot = $1 AND state IN (1, 2, 3)) THEN true ELSE "
               "{S}.refuse_slot($1) END",
               quoted_schema),
           {bigint_type}} {}

PostgresResult PostgresFence::run(PostgresConnection& connection, Access access,
                                  std::span<const std::string_view> threads, const PostgresStatement& statement,
                                  const PostgresParameters& parameters, std::string_view work) const {
    if (!has_slots_) return connection.run(statement, parameters, work);
    const auto deadline = std::chrono::steady_clock::now() + leaving_wait;
    auto pause = std::chrono::milliseconds(1);
    for (;;) {
        const bool is_last = std::chrono::steady_clock::now() >= deadline;
        try {
            return runOnce(connection, access, threads, statement, parameters, work);
        } catch (const PostgresRefused& error) {
            if (error.sqlstate() != slot_is_elsewhere) throw;
            const bool may_stay = stateIn(error) == SlotState::leaving && !is_last;
            if (!may_stay) refuseMoved(connection, error, threads);
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, std::chrono::milliseconds(20));
    }
}

// A read is looked at after it: then the slot was there while it read.
PostgresResult PostgresFence::runOnce(PostgresConnection& connection, Access access,
                                      std::span<const std::string_view> threads, const PostgresStatement& statement,
                                      const PostgresParameters& parameters, std::string_view work) const {
    PostgresParameters checked;
    if (access == Access::read) {
        checked.number(slotNumber(threads.front()));
        const PostgresConnection::Step steps[] = {{statement, parameters}, {see_, checked}};
        return std::move(connection.runAll(steps, work).front());
    }
    const bool is_whole = access == Access::write;
    if (threads.size() == 1) {
        checked.number(slotNumber(threads[0])).bytes(threads[0]).flag(is_whole);
        const PostgresConnection::Step steps[] = {{hold_, checked}, {statement, parameters}};
        return std::move(connection.runAll(steps, work).back());
    }
    PostgresArray names(bytea_type);
    for (const std::string_view thread : threads) names.add(thread);
    checked.owned(names.encoded()).flag(is_whole);
    const PostgresConnection::Step steps[] = {{holds_, checked}, {statement, parameters}};
    return std::move(connection.runAll(steps, work).back());
}

void PostgresFence::hold(PostgresConnection& connection, std::string_view thread) const {
    if (!has_slots_) return;
    try {
        (void)connection.run(hold_, PostgresParameters().number(slotNumber(thread)).bytes(thread).flag(true),
                             "look for a thread's slot");
    } catch (const PostgresRefused& error) {
        if (error.sqlstate() != slot_is_elsewhere) throw;
        refuseMoved(connection, error, std::span(&thread, 1));
    }
}

}  // namespace stategraph::checkpoint
