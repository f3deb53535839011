#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>

#include "src/checkpoint/record_parts.hpp"

// Reads and writes the records of commits; their grammar is in record.hpp.
namespace stategraph::checkpoint {

struct LoggedOp {
    std::string_view channel = {};
    LogOp op = LogOp::set;
    std::string_view value = {};
    bool is_as_input = false;  // whether its value is in the parent's input (repeated_values.hpp)
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
/// The newest checkpoint of a log of a subgraph that lives with the thread, as the outer graph's commit names it.
struct LoggedVisit {
    std::string_view log;  // what the log's namespace adds to that of the graph: "node" or "node:=key"
    CheckpointId id;
};
struct LoggedParent {
    std::string_view checkpoint_ns;
    CheckpointId id;
};

/// The field "took" of the header, in microseconds.
struct LoggedTook {
    std::uint64_t superstep_us = 0;
    std::optional<std::uint64_t> commit_us = {};  // the time that the run took to store the previous commit, if it did
};

/// The field "ran" of the header.
struct Ran {
    enum class Kind : std::uint8_t { unchanged, several, one } kind = Kind::unchanged;
    std::string_view node = {};
};

/// What is known of a commit besides the fields of its header.
struct NotInHeader {
    bool has_all_visits = false;  // whether `visits` names all logs that were visited; or others are as in the parent
    bool names_input = false;     // whether some of its operations refer to values of the parent's input
    // After reading: whether its header has fields of a later minor version, which are not here.
    bool says_more = false;
};

/// One commit that is to be written, or that was read. Its views refer to the caller's or the record's bytes.
struct CommitFields {
    CheckpointId id;
    CheckpointId parent = {};
    CheckpointId base = {};
    std::int64_t step = 0;
    Source source = Source::loop;
    std::uint64_t folds = 1;
    std::optional<LoggedTook> took = {};
    std::uint64_t attempts = 1;  // of the single task that led here
    Ran ran = {};
    std::vector<std::string_view> next = {};
    std::optional<std::vector<std::string_view>> edges = {};
    std::vector<LoggedJoin> joins = {};
    std::vector<LoggedDeferral> deferred = {};
    std::vector<LoggedSend> sends = {};
    /// The checkpoints of the enclosing graphs, the root's first. After reading, their namespaces may be parts of the
    /// key's.
    std::vector<LoggedParent> parents = {};
    std::vector<LoggedVisit> visits = {};
    /// Of an edit of a log that lives with the thread, and only of one: the newest checkpoint of the graph around it,
    /// on the thread's branch, when the edit was made. The edit belongs to that checkpoint and to those that continue
    /// it. Empty: that graph had no checkpoint there, and the edit belongs to all of them.
    std::optional<CheckpointId> around = {};
    std::optional<std::uint64_t> graph = {};
    std::optional<std::uint64_t> schema = {};
    std::string_view metadata = {};                // a CBOR map
    std::optional<std::string_view> failure = {};  // why the run that ended here has failed, although nothing is due
    std::optional<std::string_view> input = {};    // writes: a CBOR array
    std::optional<std::string_view> writes = {};   // writes: a CBOR array
    std::string_view operations = {};              // a CBOR map
    NotInHeader besides = {};

    /// Resets everything except the id; lists keep their memory.
    void clear();
};

/// Appends the record of a commit to `out`. If there are more than a few parents, and their namespaces are views of the
/// beginnings of one text, as `readCommit` and runs create them, the namespaces are left out. Otherwise the records of
/// subgraphs in subgraphs would grow with the square of the depth.
void writeCommit(const CommitFields& commit, std::string& out);
/// Does the same for callers whose operations are not in `commit`, who append this many entries to `out` between the
/// two calls. Returns where the record begins.
std::size_t openCommit(const CommitFields& commit, std::size_t operations, std::string& out);
void closeCommit(const CommitFields& commit, std::size_t start, std::string& out);

/// Reads a commit's record; the key's namespace must outlive what is read. With `header_only`, `operations` and
/// `writes` stay empty. Errors: CorruptCheckpointError naming the key.
CommitFields readCommit(const RowKey& key, std::string_view bytes, bool header_only = false);

/// The commit from which a commit is read, and its step.
struct CommitWay {
    CheckpointId parent = {};
    CheckpointId base = {};
    std::optional<std::int64_t> step = {};  // none if the record is sealed
};
/// Reads a whole header. Errors: CorruptCheckpointError naming the key.
CommitWay readCheckedWay(const RowKey& key, std::string_view bytes);
/// Reads only these fields and does not check the checksum; used for choosing the rows to read. The chosen records must
/// be checked later, including this one (the fold does this). Errors: CorruptCheckpointError naming the key, for bytes
/// that are not a header.
CommitWay readWay(const RowKey& key, std::string_view bytes);

/// Reads the records of commits one after the other, each with its operations in one pass, without allocating for each
/// operation. Operations that refer to values of the parent's input (`fields.besides.names_input`) do not have them yet
/// (takeInputValues).
struct CommitReader {
    CommitFields fields;
    std::vector<LoggedOp> operations;
    std::size_t size = 0;  // of the record

    /// Replaces everything. Errors: those of `readCommit`, and of invalid operations.
    void read(const RowKey& key, std::string_view bytes);
};

/// Reads operations. Those that refer to values of the parent's input do not have them yet (takeInputValues).
std::vector<LoggedOp> readOperations(std::string_view cbor);
/// Returns the writes of a commit, which may refer to its operations. Errors: WrongTypeError, also for a write that
/// refers to an operation that does not exist.
std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit);
/// Does the same with operations that have been read already.
std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit, std::span<const LoggedOp> operations);

}  // namespace stategraph::checkpoint
