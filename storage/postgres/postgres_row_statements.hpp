#pragma once
#include <string>
#include <string_view>

#include "storage/postgres/postgres_connection.hpp"
#include "storage/postgres/postgres_parts.hpp"

namespace stategraph::checkpoint {

inline std::string_view postgresHead(std::string_view key) { return key.substr(0, postgres_head_bytes); }
inline std::string_view postgresTail(std::string_view key) { return key.substr(postgresHead(key).size()); }
inline PostgresParameters& addPostgresKey(PostgresParameters& parameters, std::string_view key) {
    return parameters.bytes(postgresHead(key)).bytes(postgresTail(key));
}

/// Keys as array parameters of a statement.
class PostgresKeys {
public:
    void add(std::string_view key) {
        heads_.add(postgresHead(key));
        tails_.add(postgresTail(key));
    }
    void into(PostgresParameters& parameters) const { parameters.owned(heads_.encoded()).owned(tails_.encoded()); }

private:
    PostgresArray heads_{bytea_type};
    PostgresArray tails_{bytea_type};
};

/// The statements of a store in a schema. A key is two parameters: head and tail.
struct PostgresRowStatements {
    explicit PostgresRowStatements(const std::string& schema);

    PostgresStatement begin_reading;
    PostgresStatement begin_writing;
    PostgresStatement commit;
    PostgresStatement get;          // key; rows (value)
    PostgresStatement page;         // first key, key after the last, limit; rows (key, value, or null beyond a page)
    PostgresStatement lock;         // numbers
    PostgresStatement transaction;  // synchronous_commit, how long it may idle, in ms; rows (its number)
    PostgresStatement read;         // heads, tails; rows (key, value, or null beyond a page)
    PostgresStatement put;          // heads, tails, values
    PostgresStatement remove;       // heads, tails
    PostgresStatement status;       // a transaction; rows (its outcome)
};

/// Ends a transaction that has changed nothing, or that failed.
void rollBackPostgres(PostgresConnection& connection) noexcept;

}  // namespace stategraph::checkpoint
