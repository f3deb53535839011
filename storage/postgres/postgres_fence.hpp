#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph::checkpoint {

/// Executes statements on the rows of some threads. In a schema that has only some slots of threads it does so only if
/// the threads' slots are there: in one transaction and one round trip with the statement, so that a slot that moves
/// away cannot come between. In any other schema it adds nothing.
///
/// Errors: ThreadMovedError if a slot is not there; nothing was done then. If it is about to leave, a writer waits for
/// some seconds, after which it has left or stays.
class PostgresFence {
public:
    enum class Access : std::uint8_t {
        read,
        append,  // adds rows and replaces pending writes; removes no commit
        write,
    };

    PostgresFence(const std::string& quoted_schema, bool has_slots);

    bool hasSlots() const noexcept { return has_slots_; }

    PostgresResult run(PostgresConnection& connection, Access access, std::span<const std::string_view> threads,
                       const PostgresStatement& statement, const PostgresParameters& parameters,
                       std::string_view work) const;
    PostgresResult run(PostgresConnection& connection, Access access, std::string_view thread,
                       const PostgresStatement& statement, const PostgresParameters& parameters,
                       std::string_view work) const {
        return run(connection, access, std::span(&thread, 1), statement, parameters, work);
    }
    /// The same for what follows in a transaction that has begun. It does not wait.
    void hold(PostgresConnection& connection, std::string_view thread) const;

private:
    PostgresResult runOnce(PostgresConnection& connection, Access access, std::span<const std::string_view> threads,
                           const PostgresStatement& statement, const PostgresParameters& parameters,
                           std::string_view work) const;

    bool has_slots_;
    PostgresStatement hold_;   // slot, thread, whether it is more than an append
    PostgresStatement holds_;  // threads, likewise
    PostgresStatement see_;    // slot
};

}  // namespace stategraph::checkpoint
