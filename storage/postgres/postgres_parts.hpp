#pragma once
#include <cstdint>

#include "storage/postgres/postgres_connection.hpp"

// The tables of a store, which may be in a schema with those of a saver, or without them. {S} is the schema.
//
//   parts         one row per part: its name, the version of its tables
//   store         one row per row of storage/store/keys.hpp. Its key is split into head, the first 2,000 bytes, and tail, the
//                 rest, because an index takes no longer ones. `digest` is the SHA-256 of a tail that is not empty
namespace stategraph::checkpoint {

/// The number of a key's bytes that are in the index.
inline constexpr std::size_t postgres_head_bytes = 2000;

struct PostgresPart {
    const char* name;
    std::int64_t format;
    const char* tables;
    /// Completes "call ", in messages.
    const char* set_up;
};

extern const PostgresPart postgres_store_part;

/// Throws if the schema does not have the part's tables of this library's version.
void checkPostgresPart(PostgresConnection& connection, const PostgresPart& part);
/// Creates them, and the schema, where they do not exist.
void setUpPostgresPart(PostgresConnection& connection, const PostgresPart& part);

}  // namespace stategraph::checkpoint
