#include "storage/rocksdb/rocksdb_keys.hpp"

#include <array>
#include <cstdint>

#include "src/value/times.hpp"

// The keys, all in the default column family:
//
//   "stategraph.format"   the version of this grammar, as decimal text
//   "stategraph.graph." graph schema   the description of a graph (stategraph/graph_description.hpp) as CBOR, by its
//                         fingerprints: 8 bytes each, big endian
//   commit  := "c" log id           value: the commit's record
//   write   := "w" log id path      value: the pending write's record
//   due     := "D" time thread      a sleeping thread, by its wake time; no value
//   open    := "a" status varint(size of thread) thread   an open thread; value: since, and a sleeping one's time
//   newest  := "b" status since thread   each thread that has a commit; value: a sleeping one's time, then the summary
//              that its writer gave, if any (PutRequest::summary)
//   since   := id                   the thread's newest commit, or one that is a little older
//   status  := "u" in_flight, "f" done, "i" interrupted, "e" failed, "b" breakpoint, "l" limit, "c" cancelled,
//              "t" timed_out, "s" sleeping, "d" edited   (stategraph/status.hpp)
//   time    := 8 bytes, big endian: milliseconds since 1970 + 2^63
//   log     := varint(size of thread) thread varint(size of namespace) namespace
//   id      := 16 bytes, big endian
//   varint  := LEB128: seven bits a byte, low ones first, the high bit set on all but the last byte
//
// The sizes come first, so no name is a prefix of another and names may hold any byte. A log's rows are neighbours, in
// the order of their ids; a thread's logs are neighbours. The index of threads, "D", "a" and "b", is first, so that
// commits of the last thread are the last rows: RocksDB adds those fastest.
namespace stategraph::checkpoint {
namespace {

constexpr std::size_t id_size = 16;
constexpr std::size_t time_size = 8;
constexpr std::uint64_t time_bias = std::uint64_t{1} << 63U;  // makes times before 1970 come first

// In the order of Status.
constexpr std::string_view status_letters = "ufieblctsd";
static_assert(status_letters.size() == indexed_statuses.size());

constexpr char letterOf(Status status) noexcept { return status_letters[static_cast<std::size_t>(status)]; }

void appendId(std::string& key, CheckpointId id) {
    std::array<char, id_size> raw{};
    id.toBytes(raw.data());
    key.append(raw.data(), raw.size());
}

void appendTime(std::string& key, std::int64_t unix_ms) {
    const std::uint64_t biased = static_cast<std::uint64_t>(unix_ms) + time_bias;
    for (unsigned shift = 64; shift > 0; shift -= 8) key.push_back(static_cast<char>((biased >> (shift - 8)) & 0xFFU));
}

std::int64_t timeAt(const char* bytes) noexcept {
    std::uint64_t biased = 0;
    for (std::size_t i = 0; i < time_size; ++i) biased = (biased << 8U) | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(biased - time_bias);
}

void appendName(std::string& key, std::string_view name) {
    std::size_t size = name.size();
    while (size >= 0x80) {
        key.push_back(static_cast<char>((size & 0x7FU) | 0x80U));
        size >>= 7U;
    }
    key.push_back(static_cast<char>(size));
    key.append(name);
}

std::optional<std::string_view> readName(std::string_view& rest) {
    std::uint64_t size = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (rest.empty() || shift > 56) return std::nullopt;
        const auto byte = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        size |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if (byte < 0x80) break;
    }
    if (size > rest.size()) return std::nullopt;
    const std::string_view name = rest.substr(0, size);
    rest.remove_prefix(size);
    return name;
}

}  // namespace

std::string graphKey(const GraphFingerprint& fingerprint) {
    std::array<char, id_size> bytes = {};
    CheckpointId(fingerprint.graph, fingerprint.schema).toBytes(bytes.data());
    return "stategraph.graph." + std::string(bytes.data(), bytes.size());
}

std::string tablePrefix(Table table) { return std::string(1, static_cast<char>(table)); }

std::string threadPrefix(Table table, std::string_view thread_id) {
    std::string key = tablePrefix(table);
    appendName(key, thread_id);
    return key;
}

std::string logPrefix(Table table, const LogName& log) { return rowKey(table, log, {}); }

std::string rowKey(Table table, const LogName& log, CheckpointId id, std::string_view path) {
    std::string key;
    key.reserve(log.thread_id.size() + log.checkpoint_ns.size() + path.size() + id_size + 8);
    key.push_back(static_cast<char>(table));
    appendName(key, log.thread_id);
    appendName(key, log.checkpoint_ns);
    if (id.empty()) return key;
    appendId(key, id);
    key.append(path);
    return key;
}

std::string openPrefix(Status status) { return {open_prefix.front(), letterOf(status)}; }

std::string openKey(Status status, std::string_view thread_id) {
    std::string key = openPrefix(status);
    appendName(key, thread_id);
    return key;
}

std::optional<std::string_view> parseOpenKey(std::string_view key) {
    constexpr std::size_t prefix = 2;
    if (key.size() < prefix) return std::nullopt;
    std::string_view rest = key.substr(prefix);
    const auto thread_id = readName(rest);
    return rest.empty() ? thread_id : std::nullopt;
}

std::string openValue(const IndexPlace& place) {
    std::string value;
    appendId(value, place.since);
    return value + newestValue(place, {});
}

std::optional<IndexPlace> parseOpenValue(Status status, std::string_view value) {
    if (value.size() < id_size) return std::nullopt;
    const auto parsed = parseNewestValue(CheckpointId::fromBytes(value.data()), status, value.substr(id_size));
    return parsed && parsed->summary.empty() ? std::optional(parsed->place) : std::nullopt;
}

std::string newestPrefix(Status status) { return {newest_prefix.front(), letterOf(status)}; }

std::string newestKey(Status status, CheckpointId since, std::string_view thread_id) {
    std::string key = newestPrefix(status);
    appendId(key, since);
    key.append(thread_id);
    return key;
}

std::optional<ThreadPlace> parseNewestKey(std::string_view key) {
    constexpr std::size_t prefix = 2;
    if (key.size() <= prefix + id_size) return std::nullopt;
    return ThreadPlace{CheckpointId::fromBytes(key.data() + prefix), std::string(key.substr(prefix + id_size))};
}

std::string newestValue(const IndexPlace& place, std::string_view summary) {
    std::string value;
    if (place.isSleeping()) appendTime(value, place.due_ms);
    if (place.status != Status::in_flight) value += summary;
    return value;
}

std::optional<ParsedNewest> parseNewestValue(CheckpointId since, Status status, std::string_view value) {
    const bool is_sleeping = status == Status::sleeping;
    const std::size_t place_size = is_sleeping ? time_size : 0;
    if (value.size() < place_size || (status == Status::in_flight && !value.empty())) return std::nullopt;
    return ParsedNewest{IndexPlace{since, is_sleeping ? timeAt(value.data()) : 0, status}, value.substr(place_size)};
}

std::string dueKey(std::int64_t due_ms, std::string_view thread_id) {
    std::string key(due_prefix);
    appendTime(key, due_ms);
    key.append(thread_id);
    return key;
}

std::optional<DueThread> parseDueKey(std::string_view key) {
    if (!key.starts_with(due_prefix) || key.size() <= due_prefix.size() + time_size) return std::nullopt;
    key.remove_prefix(due_prefix.size());
    return DueThread{times::ofUnixMs(timeAt(key.data())), std::string(key.substr(time_size))};
}

std::optional<ParsedKey> parseKey(std::string_view key) {
    if (key.empty()) return std::nullopt;
    const bool is_commit = key[0] == static_cast<char>(Table::commits);
    if (!is_commit && key[0] != static_cast<char>(Table::writes)) return std::nullopt;
    std::string_view rest = key.substr(1);
    const auto thread = readName(rest);
    const auto ns = thread ? readName(rest) : std::nullopt;
    if (!ns || rest.size() < id_size || (is_commit && rest.size() != id_size)) return std::nullopt;
    return ParsedKey{.log = {.thread_id = *thread, .checkpoint_ns = *ns},
                     .id = CheckpointId::fromBytes(rest.data()),
                     .path = rest.substr(id_size),
                     .log_prefix = key.substr(0, key.size() - rest.size())};
}

}  // namespace stategraph::checkpoint
