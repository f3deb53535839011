#pragma once
#include <functional>
#include <string_view>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph::checkpoint {

/// Whether the schema has it. The catalog is asked as a table: what SQL's own functions know of a name that was not
/// there, they know for a while.
bool hasPostgresTable(PostgresConnection& connection, std::string_view table);

/// Calls `make` in a transaction, in which the schema is there and no other set-up is under way.
void setUpPostgresSchema(PostgresConnection& connection, const std::function<void()>& make);

}  // namespace stategraph::checkpoint
