#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/postgres_queue.hpp>

#include "storage/postgres/postgres_impl.hpp"
#include "worker/queue/postgres_queue_statements.hpp"

// What the calls of the queue have in common.
namespace stategraph::queue {

/// A number that no state has, in a row of another program, counts as begun, so that its run is looked for.
inline WorkState stateOf(std::int64_t number) noexcept {
    const bool is_known = number >= 0 && number <= static_cast<std::int64_t>(WorkState::sleeping);
    return is_known ? static_cast<WorkState>(number) : WorkState::begun;
}

inline CheckpointId idOf(const GraphFingerprint& version) { return {version.graph, version.schema}; }

/// Throws InvalidArgumentError for a name that is empty, too long, or not UTF-8. `what` it names: "queue".
void checkName(const char* what, std::string_view name);

/// Throws InvalidArgumentError for a lease that is too short or too long.
void checkLease(std::chrono::milliseconds lease);

/// Makes a text valid for PostgreSQL, which requires UTF-8 without a byte 0; an error of a node may be anything.
std::string asText(std::string_view text);

/// Runs a statement that changes the queue, and repeats it over a new connection if this one breaks. What the first
/// attempt has changed the second finds done, and has nothing to commit, so it first waits until that is durable.
template <class Impl>
checkpoint::PostgresResult change(Impl& saver, const checkpoint::PostgresStatement& statement,
                                  const checkpoint::PostgresParameters& parameters, const char* work) {
    saver.checkWritable();
    bool is_again = false;
    return saver.pool.repeat([&](checkpoint::PostgresConnection& connection) {
        if (std::exchange(is_again, true)) connection.makeDurable(work);
        return connection.run(statement, parameters, work);
    });
}

}  // namespace stategraph::queue
