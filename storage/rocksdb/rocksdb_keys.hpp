#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/saver.hpp>

// The keys of a RocksDB database; rocksdb_keys.cpp has their grammar.
namespace stategraph::checkpoint {

enum class Table : char { commits = 'c', writes = 'w' };

/// Says which version of the grammar a database is written in, as decimal text.
inline constexpr std::string_view format_key = "stategraph.format";
inline constexpr int key_format_version = 1;

/// Of a graph's description.
std::string graphKey(const GraphFingerprint& fingerprint);

std::string tablePrefix(Table table);
std::string threadPrefix(Table table, std::string_view thread_id);
std::string logPrefix(Table table, const LogName& log);
/// The key of a commit; with a path, of a pending write; without one, the prefix of all pending writes of a checkpoint.
std::string rowKey(Table table, const LogName& log, CheckpointId id, std::string_view path = {});

/// Views into the key.
struct ParsedKey {
    LogName log;
    CheckpointId id;
    std::string_view path;
    std::string_view log_prefix;
};

/// None if the key is not of the grammar.
std::optional<ParsedKey> parseKey(std::string_view key);

}  // namespace stategraph::checkpoint
