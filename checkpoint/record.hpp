#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/log.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

// The records of the log. Grammar (CBOR, deterministic encoding; maps list their keys in encoded order, and a key is left
// out where its value is what "absent" says):
//
//   record      := version checksum body          version: one byte, 1
//                                                 checksum: XXH3-64 of the body, seeded with the checkpoint's id, big endian
//   commit body := [header, operations] | [header, operations, writes]
//   header      := { "ran":      node | null      who ran last: a node, null: not one alone; absent: as in the parent
//                    "base":     ref              oldest commit that reading this one needs; absent: itself
//                    "next":     [node…]          nodes due by edge, join or release, by name
//                    "step":     int
//                    "edges":    [node…]          those of "next" due by an edge; absent: all
//                    "folds":    uint             supersteps in this commit (exit durability); absent: one
//                    "graph":    bytes(8)         fingerprint of the graph; absent: as in the parent
//                    "input":    writes           input that the virtual start node has yet to take; absent: none
//                    "joins":    {join: [node…]}  joins that changed: the sources that arrived
//                    "sends":    [[node, value]…] payloads of the tasks sent
//                    "parent":   ref              absent: none
//                    "schema":   bytes(8)         fingerprint of the channels; absent: as in the parent
//                    "source":   text             absent: "loop"
//                    "parents":  {namespace: bytes(16)}   where the enclosing graphs were
//                    "deferred": {node: 0|1|2}    deferred edges that changed: gone, waiting, released; of joins: "join …"
//                    "metadata": {text: value} }
//   ref         := uint                           this id's high half minus the other's; their low halves are equal
//                | bytes(16)
//   operations  := {channel: ["=", value]         the value is now this
//                          | ["+", [item…]]       these were appended
//                          | ["|", {key: value}]  these entries were put
//                          | ["~", [[index, item] | [index]…]]   an element was replaced (appended at the end), erased
//                          | ["-"]}               the channel is unset
//   writes      := [[channel, kind, value?]…]     what a task wrote, before the reducers: kind "=" set, "+" add,
//                                                 "!" overwrite, "w" write, "-" clear (no value)
//   In a commit, "writes" are those of the one task of the superstep that led to it; absent: they equal the operations. One of the
//   form [channel] equals the operation on that channel.
//
//   pending write body :=
//                  { "to":         [node…]          where a goto or a branch leads (static edges come from the graph)
//                    "node":       text
//                    "error":      text             of the last failed attempt
//                    "sends":      [[node, value]…]
//                    "effect":     [uint, value?]   of an effect's row: how often it was begun, its result
//                    "writes":     writes           present: the task has finished
//                    "answers":    [[bytes(16), uint, value]…]   interrupt id, how many of it were answered before, answer
//                    "failure":    [uint, text]     present: the node failed for good after so many attempts, with this text, and its
//                                                   error handler has taken over; "error" and "writes" are then the handler's
//                    "interrupts": [[bytes(16), uint, value]…] } the last ones it stopped at
//
//   Pending writes are keyed by a path (checkpoint/paths.hpp): a task's, that of an effect within a task, "command" (what a Command
//   wrote to the superstep that waits), or "run", whose "node" is how the last run ended at this checkpoint where the tasks' records
//   do not tell: "running" (it went on), "failed", "breakpoint" or "limit".
//
// A sealed record is one of the above, encrypted (stategraph/encrypted_saver.hpp). What savers need of it is in the clear:
//
//   sealed record := version checksum head box     version: one byte, 2; the checksum is that of head and box
//   head        := [clear, key id, bytes(12)]      the key's id: text; the nonce
//   clear       := { "due":      bool              of a commit: whether anything is due
//                    "base":     ref               absent: itself
//                    "root":     bytes(16)         of a subgraph's commit: the root's checkpoint; absent: none
//                    "parent":   ref }             absent: none
//                | { "open":     bool }            of a pending write: whether an interrupt waits for an answer
//   box         := ciphertext tag                  to the record's end: AES-256-GCM of a whole record; the tag has 16 bytes
//   The box authenticates this as well, so that it is good for its own row alone (sized: behind its size, 8 bytes big endian):
//   bound       := "stategraph sealed" version kind sized(thread) sized(namespace) id sized(path) sized(head)
//                                                  kind: "c" a commit, "w" a pending write; id: 16 bytes, as in keys
namespace stategraph::checkpoint {

inline constexpr unsigned char format_version = 1;
inline constexpr unsigned char sealed_version = 2;

struct LoggedOp {
    std::string_view channel = {};
    LogOp op = LogOp::set;
    std::string_view value = {};
};
struct LoggedWrite {
    std::string_view channel;
    WriteKind kind = WriteKind::set;
    std::string_view value = {};
    bool as_logged = false;  // of a commit: it equals the operation on the channel
};
struct LoggedSend {
    std::string_view node;
    std::string_view payload;
};
struct LoggedJoin {
    std::string_view key;
    std::vector<std::string_view> arrived;
};
enum class Deferral : std::uint8_t { gone = 0, waiting = 1, released = 2 };
struct LoggedDeferral {
    std::string_view key;
    Deferral state;
};
struct LoggedParent {
    std::string_view checkpoint_ns;
    CheckpointId id;
};
struct LoggedInterrupt {
    TaskId id;
    std::uint64_t index = 0;
    std::string_view value;
};

/// "ran" of the header.
struct Ran {
    enum class Kind : std::uint8_t { unchanged, several, one } kind = Kind::unchanged;
    std::string_view node = {};
};

/// One commit, to be written or as read: views into the caller's or the record's bytes.
struct CommitFields {
    CheckpointId id;
    CheckpointId parent = {};
    CheckpointId base = {};
    std::int64_t step = 0;
    Source source = Source::loop;
    std::uint64_t folds = 1;
    Ran ran = {};
    std::vector<std::string_view> next = {};
    std::optional<std::vector<std::string_view>> edges = {};
    std::vector<LoggedJoin> joins = {};
    std::vector<LoggedDeferral> deferred = {};
    std::vector<LoggedSend> sends = {};
    std::vector<LoggedParent> parents = {};
    std::optional<std::uint64_t> graph = {};
    std::optional<std::uint64_t> schema = {};
    std::string_view metadata = {};           // a CBOR map
    std::optional<std::string_view> input = {};   // writes: a CBOR array
    std::optional<std::string_view> writes = {};  // writes: a CBOR array
    std::string_view operations = {};         // a CBOR map
    bool says_more = false;                   // as read: its header has fields of a later minor version, which are not here

    /// All but the id as in one that was just made; lists keep their memory.
    void clear();
};

/// Appends the record of a commit to `out`.
void writeCommit(const CommitFields& commit, std::string& out);

/// Reads a commit's record. With `header_only`, `operations` and `writes` stay empty.
/// Errors: CorruptCheckpointError naming the key.
CommitFields readCommit(const RowKey& key, std::string_view bytes, bool header_only = false);

/// Reads one commit's record after the other in one pass each, its operations too, without allocating for each of them.
struct CommitReader {
    CommitFields fields;
    std::vector<LoggedOp> operations;

    /// Replaces both. Errors: those of `readCommit`, and operations that are none.
    void read(const RowKey& key, std::string_view bytes);
};

struct LoggedEffect {
    std::uint64_t begun = 0;
    std::optional<std::string_view> result = {};
};

struct LoggedFailure {
    std::uint64_t attempts = 1;
    std::string_view text = {};
};

/// One pending write: the record of a task.
struct TaskFields {
    std::string_view node = {};
    std::vector<std::string_view> to = {};
    std::vector<LoggedSend> sends = {};
    std::optional<std::string_view> error = {};
    std::optional<LoggedEffect> effect = {};
    std::optional<std::string_view> writes = {};  // a CBOR array
    std::vector<LoggedInterrupt> answers = {};
    std::optional<LoggedFailure> failure = {};
    std::vector<LoggedInterrupt> interrupts = {};
};

/// Whether an answer to one of the task's questions is kept.
bool isAnswered(const TaskFields& task, const LoggedInterrupt& asked) noexcept;

void writeTask(CheckpointId id, const TaskFields& task, std::string& out);
TaskFields readTask(const RowKey& key, std::string_view bytes);

std::vector<LoggedOp> readOperations(std::string_view cbor);
std::vector<LoggedWrite> readWrites(std::string_view cbor);
/// Those of a commit, which may stand for its operations. Errors: WrongTypeError, also for one that stands for none.
std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit);

}  // namespace stategraph::checkpoint
