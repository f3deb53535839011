#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/saver.hpp>

#include "storage/saver/index_place.hpp"

// The keys of a RocksDB database; rocksdb_keys.cpp has their grammar.
namespace stategraph::checkpoint {

enum class Table : char { commits = 'c', writes = 'w' };

/// The key of the row that says in which version of the grammar a database is written, as decimal text.
inline constexpr std::string_view format_key = "stategraph.format";
inline constexpr int key_format_version = 1;

/// Returns the key of a graph's description.
std::string graphKey(const GraphFingerprint& fingerprint);

std::string tablePrefix(Table table);
std::string threadPrefix(Table table, std::string_view thread_id);
std::string logPrefix(Table table, const LogName& log);
/// Returns the key of a commit or, with a path, of a pending write. For pending writes without a path, returns the
/// prefix of all those of a checkpoint.
std::string rowKey(Table table, const LogName& log, CheckpointId id, std::string_view path = {});

/// Returns the key of an open thread, sorted by its name.
std::string openKey(Status status, std::string_view thread_id);
std::string openPrefix(Status status);
/// The prefix of all such keys.
inline constexpr std::string_view open_prefix = "a";
/// Parses a key that begins with an openPrefix. Returns none if it does not match the grammar.
std::optional<std::string_view> parseOpenKey(std::string_view key);
std::string openValue(const IndexPlace& place);
/// Returns none if the value does not match the grammar.
std::optional<IndexPlace> parseOpenValue(Status status, std::string_view value);

/// Returns the key of a thread, sorted by when it was last written to.
std::string newestKey(Status status, CheckpointId since, std::string_view thread_id);
std::string newestPrefix(Status status);
/// The prefix of all such keys.
inline constexpr std::string_view newest_prefix = "b";
std::optional<ThreadPlace> parseNewestKey(std::string_view key);
std::string newestValue(const IndexPlace& place, std::string_view summary);
/// What a newest row's value says; the summary is a view into the value.
struct ParsedNewest {
    IndexPlace place;
    std::string_view summary;
};
/// Returns none if the value does not match the grammar.
std::optional<ParsedNewest> parseNewestValue(CheckpointId since, Status status, std::string_view value);

/// Returns the key of a sleeping thread, sorted by its wake time. Its row has no value.
std::string dueKey(std::int64_t due_ms, std::string_view thread_id);
inline constexpr std::string_view due_prefix = "D";
std::optional<DueThread> parseDueKey(std::string_view key);

/// The parts of a key, as views into it.
struct ParsedKey {
    LogName log;
    CheckpointId id;
    std::string_view path;
    std::string_view log_prefix;
};

/// Returns none if the key does not match the grammar.
std::optional<ParsedKey> parseKey(std::string_view key);

}  // namespace stategraph::checkpoint
