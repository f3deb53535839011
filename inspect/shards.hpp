#pragma once
#include <memory>
#include <string>
#include <vector>

#include "inspect/commands.hpp"
#if STATEGRAPH_HAS_POSTGRES_SHARDS
#include <stategraph/postgres_shards.hpp>
#endif

// The clusters of a sharded deployment, for the commands that look at slots and move them.
namespace stategraph::inspect {

/// Reads which slots a text such as "0-99,512" names, each once, in the order of the text. Errors: UsageError.
std::vector<std::size_t> slotsOf(const std::string& text);
/// Returns slots as such a text: "0-99, 512". They must ascend.
std::string rangesOf(const std::vector<std::size_t>& slots);

#if STATEGRAPH_HAS_POSTGRES_SHARDS
/// Reads the file of clusters: a line for each has its name and its address, postgresql://HOST/DATABASE with #SCHEMA
/// after it for a schema other than `stategraph`. Empty lines and lines that begin with # are left out. Errors:
/// UsageError.
std::vector<PostgresCluster> readClusters(const std::string& file);
#endif

}  // namespace stategraph::inspect
