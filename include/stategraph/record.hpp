#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/print_enum.hpp>
#include <stategraph/ids.hpp>

namespace stategraph {

/// The key of a row of the log; `path` is empty for a commit.
struct RowKey {
    std::string_view thread_id;
    std::string_view checkpoint_ns;
    CheckpointId id;
    std::string_view path = {};

    /// The key as text, for messages.
    std::string toString() const;
};

/// What created a checkpoint.
enum class Source : std::uint8_t { input, loop, update, fork };

/// The name of a source, such as "loop".
const char* toString(Source source) noexcept;

/// The part of a commit's record that describes it, without the values. Savers use it to know a row's place in the log,
/// listings to show it.
struct CommitHeader {
    CheckpointId id;
    CheckpointId parent;
    CheckpointId base;
    std::int64_t step = 0;
    Source source = Source::loop;
    /// The names of the tasks that are due, sends last.
    std::vector<std::string> next;
    /// The user's metadata: one CBOR map, empty if there is none.
    std::string metadata;
};

/// Reads the header of a commit's record.
/// Throws CorruptCheckpointError, naming the key, if the bytes are damaged or of a format newer than this library.
CommitHeader readHeader(const RowKey& key, std::string_view bytes);

/// Where a log that lives with the thread (PER_THREAD, perThread) was when the graph around it made a checkpoint.
struct VisitLink {
    /// The part that the log's namespace adds to that of the graph: "node", or "node:=key".
    std::string log;
    CheckpointId id;
};

/// What a saver must know of a commit: how reading and pruning depend on other commits. It is not encrypted, even if
/// the rest of the record is.
struct RecordLinks {
    CheckpointId parent;
    CheckpointId base;
    /// For a commit of a subgraph: the root graph's checkpoint to whose superstep it belongs; otherwise none.
    CheckpointId root;
    /// For an edit of a log that lives with the thread: the checkpoint of the graph around it to which it belongs, and
    /// so to all that continue that one. It is empty if that graph had no checkpoint yet.
    std::optional<CheckpointId> around = {};
    /// Whether nothing is due.
    bool is_finished = true;
    /// The logs of subgraphs that were visited in the superstep that led here, with which later visits begin.
    std::vector<VisitLink> visits = {};
    /// Whether `visits` contains all visits of the branch, and not only those that changed since the parent.
    bool has_all_visits = false;
};
/// Reads only the links of a commit's record. Errors: as `readHeader`. Cost: less than `readHeader`.
RecordLinks readLinks(const RowKey& key, std::string_view bytes);

/// Whether a pending write's record states that its task waits for an answer to an interrupt. Has the same errors.
bool hasOpenInterrupt(const RowKey& key, std::string_view bytes);

}  // namespace stategraph
