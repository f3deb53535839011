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
inline constexpr int key_format_version = 2;
/// The last version without an index of threads.
inline constexpr int key_format_without_index = 1;

/// Of a graph's description.
std::string graphKey(const GraphFingerprint& fingerprint);

std::string tablePrefix(Table table);
std::string threadPrefix(Table table, std::string_view thread_id);
std::string logPrefix(Table table, const LogName& log);
/// The key of a commit; with a path, of a pending write; without one, the prefix of all pending writes of a checkpoint.
std::string rowKey(Table table, const LogName& log, CheckpointId id, std::string_view path = {});

/// A thread among those that are open. Its value is ThreadPlace::since, as 16 bytes.
std::string openKey(std::string_view thread_id);
/// The prefix of all of them.
inline constexpr std::string_view open_prefix = "a";
/// None if the key is not of the grammar.
std::optional<std::string_view> parseOpenKey(std::string_view key);

/// A thread by when it was last written to. It has no value.
std::string newestKey(bool is_finished, CheckpointId since, std::string_view thread_id);
std::string newestPrefix(bool is_finished);
/// The prefix of both.
inline constexpr std::string_view newest_prefix = "b";
std::optional<ThreadPlace> parseNewestKey(std::string_view key);

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
