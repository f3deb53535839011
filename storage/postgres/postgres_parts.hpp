#pragma once
#include <cstdint>

#include "storage/postgres/postgres_connection.hpp"

// The tables of stores and caches, which may be in a schema with those of a saver, or without them. {S} is the schema.
//
//   parts         one row a part: its name, the version of its tables
//   store         one row a row of store/keys.hpp, whose key is head and then tail: the first 2,000 bytes, for an index
//                 takes no longer ones, and the rest. `digest` is empty where tail is, else the SHA-256 of it
//   cache         one row an entry: the SHA-256 of its namespace and of its key; the number of its write, which
//                 ascends; when it is over, in microseconds since 1970 (0: never); how many bytes it counts for; its
//                 value
//   cache_counts  the bytes that the entries count for, of 16 shares of them, so that sets need not wait for each other
namespace stategraph::checkpoint {

/// How many bytes of a key are in the index.
inline constexpr std::size_t postgres_head_bytes = 2000;

struct PostgresPart {
    const char* name;
    std::int64_t format;
    const char* tables;
    /// Completes "call ", in messages.
    const char* set_up;
};

extern const PostgresPart postgres_store_part;
extern const PostgresPart postgres_cache_part;

/// Throws if the schema does not have the part's tables of this library's version.
void checkPostgresPart(PostgresConnection& connection, const PostgresPart& part);
/// Makes them, and the schema, where they are not there.
void setUpPostgresPart(PostgresConnection& connection, const PostgresPart& part);

}  // namespace stategraph::checkpoint
