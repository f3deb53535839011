#pragma once
#include <functional>
#include <string_view>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph::checkpoint {

/// Returns whether the schema has the table. The catalog is queried as a table, because SQL's own functions cache for a
/// while that a name did not exist.
bool hasPostgresTable(PostgresConnection& connection, std::string_view table);

/// Calls `make` in a transaction, in which the schema exists and no other set-up is under way.
void setUpPostgresSchema(PostgresConnection& connection, const std::function<void()>& make);

}  // namespace stategraph::checkpoint
