#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/saver.hpp>

#include "checkpoint/index_place.hpp"

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

/// An open thread, by its name.
std::string openKey(ThreadStatus status, std::string_view thread_id);
std::string openPrefix(ThreadStatus status);
/// The prefix of all of them.
inline constexpr std::string_view open_prefix = "a";
/// None if the key, which begins with an openPrefix, is not of the grammar.
std::optional<std::string_view> parseOpenKey(std::string_view key);
std::string openValue(const IndexPlace& place);
/// None if it is not of the grammar.
std::optional<IndexPlace> parseOpenValue(ThreadStatus status, std::string_view value);

/// A thread by when it was last written to.
std::string newestKey(ThreadStatus status, CheckpointId since, std::string_view thread_id);
std::string newestPrefix(ThreadStatus status);
/// The prefix of all of them.
inline constexpr std::string_view newest_prefix = "b";
std::optional<ThreadPlace> parseNewestKey(std::string_view key);
std::string newestValue(const IndexPlace& place, std::string_view summary);
/// What a newest row's value says; the summary is a view into the value.
struct ParsedNewest {
    IndexPlace place;
    std::string_view summary;
};
/// None if it is not of the grammar.
std::optional<ParsedNewest> parseNewestValue(CheckpointId since, ThreadStatus status, std::string_view value);

/// A sleeping thread by when it is to wake. It has no value.
std::string dueKey(std::int64_t due_ms, std::string_view thread_id);
inline constexpr std::string_view due_prefix = "D";
std::optional<DueThread> parseDueKey(std::string_view key);

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
