#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

#include "checkpoint/record_parts.hpp"

// The records of commits; their grammar is in record.hpp.
namespace stategraph::checkpoint {

struct LoggedOp {
    std::string_view channel = {};
    LogOp op = LogOp::set;
    std::string_view value = {};
    bool is_as_input = false;  // its value is in the parent's input (repeated_values.hpp)
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
/// The newest checkpoint of the log of a subgraph that lives with the thread, as the commit of the graph around it
/// says.
struct LoggedVisit {
    std::string_view log;  // what the log's namespace adds to that of the graph: "node" or "node:=key"
    CheckpointId id;
};
struct LoggedParent {
    std::string_view checkpoint_ns;
    CheckpointId id;
};

/// "took" of the header, in microseconds.
struct LoggedTook {
    std::uint64_t superstep_us = 0;
    std::optional<std::uint64_t> commit_us = {};  // that the run took to store the commit before, if it did
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
    std::optional<LoggedTook> took = {};
    std::uint64_t attempts = 1;  // of the one task that led here
    Ran ran = {};
    std::vector<std::string_view> next = {};
    std::optional<std::vector<std::string_view>> edges = {};
    std::vector<LoggedJoin> joins = {};
    std::vector<LoggedDeferral> deferred = {};
    std::vector<LoggedSend> sends = {};
    /// Of the enclosing graphs, the root's first. As read, their namespaces may be parts of the key's.
    std::vector<LoggedParent> parents = {};
    std::vector<LoggedVisit> visits = {};
    bool has_all_visits = false;  // what `visits` does not name was never visited; else: is as in the parent
    std::optional<std::uint64_t> graph = {};
    std::optional<std::uint64_t> schema = {};
    std::string_view metadata = {};               // a CBOR map
    std::optional<std::string_view> input = {};   // writes: a CBOR array
    std::optional<std::string_view> writes = {};  // writes: a CBOR array
    std::string_view operations = {};             // a CBOR map
    bool names_input = false;                     // some of its operations stand for values of the parent's input
    bool says_more = false;  // as read: its header has fields of a later minor version, which are not here

    /// Resets everything but the id; lists keep their memory.
    void clear();
};

/// Appends the record of a commit to `out`. More than a few parents are written without their namespaces if those are
/// views of the beginnings of one text, as `readCommit` and runs make them: else the records of subgraphs in subgraphs
/// would grow with the square of the depth.
void writeCommit(const CommitFields& commit, std::string& out);
/// The same for callers whose operations are not in `commit`: append as many entries to `out` between the two calls.
/// Returns where the record begins.
std::size_t openCommit(const CommitFields& commit, std::size_t operations, std::string& out);
void closeCommit(const CommitFields& commit, std::size_t start, std::string& out);

/// Reads a commit's record; the key's namespace must outlive what is read. With `header_only`, `operations` and
/// `writes` stay empty. Errors: CorruptCheckpointError naming the key.
CommitFields readCommit(const RowKey& key, std::string_view bytes, bool header_only = false);

/// What a commit is read from, and its step.
struct CommitWay {
    CheckpointId parent = {};
    CheckpointId base = {};
    std::optional<std::int64_t> step = {};  // none: the record is sealed
};
/// Reads a whole header. Errors: CorruptCheckpointError naming the key.
CommitWay readCheckedWay(const RowKey& key, std::string_view bytes);
/// Reads no more than these fields, and no checksum: for choosing the rows to read. What is chosen by them must be
/// checked later, with the record itself among it (the fold does). Errors: CorruptCheckpointError naming the key, for
/// bytes that are no header.
CommitWay readWay(const RowKey& key, std::string_view bytes);

/// Reads one commit's record after the other in one pass each, its operations too, without allocating for each of them.
/// Operations that stand for values of the parent's input (`fields.names_input`) have none yet (takeInputValues).
struct CommitReader {
    CommitFields fields;
    std::vector<LoggedOp> operations;
    std::size_t size = 0;  // of the record

    /// Replaces all. Errors: those of `readCommit`, and operations that are none.
    void read(const RowKey& key, std::string_view bytes);
};

/// Those that stand for values of the parent's input have none yet (takeInputValues).
std::vector<LoggedOp> readOperations(std::string_view cbor);
/// The writes of a commit, which may refer to its operations. Errors: WrongTypeError, also for one that refers to none.
std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit);
/// The same, of operations that have been read.
std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit, std::span<const LoggedOp> operations);

}  // namespace stategraph::checkpoint
