#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

// Creates the records that a graph's run would store, for tests of savers and of programs that read them.
namespace stategraph::testing {

/// What a commit does to a channel: the channel has this value now, this item was appended to its list, or it has no
/// value.
struct ChannelChange {
    /// What happens to the channel.
    enum class Kind : std::uint8_t { set, append, clear };
    std::string_view channel;
    Kind kind = Kind::set;
    Value value = {};
};

/// The content of a commit's record.
struct CommitRecordFields {
    CheckpointId id;
    CheckpointId parent = {};
    /// The oldest commit that is needed to read this one; none: itself.
    CheckpointId base = {};
    /// Of a commit of a subgraph, the root graph's checkpoint to whose superstep it belongs.
    CheckpointId root = {};
    std::int64_t step = 0;
    Source source = Source::loop;
    /// The nodes that are due; none: the log is finished here.
    std::vector<std::string_view> next = {};
    /// The metadata, a map; null: none.
    Value metadata = {};
    /// The changes of channels; each channel is named at most once.
    std::vector<ChannelChange> changes = {};
    /// The last commits of the logs of subgraphs that live with the thread, by name, shorter names first.
    std::vector<VisitLink> visits = {};
    /// Of an edit of a log that lives with the thread: the checkpoint of the graph around it where it was made, or an
    /// empty id.
    std::optional<CheckpointId> around = {};
};

/// The bytes of a commit, for CommitRow.
std::string makeCommitRecord(const CommitRecordFields& fields);

/// The state of a task in its record.
enum class TaskState : std::uint8_t { finished, failed, waiting, answered };

/// The content of a pending write's record.
struct TaskRecordFields {
    /// The checkpoint whose superstep the task belongs to.
    CheckpointId id;
    std::string_view node = "node";
    /// `waiting` means that it waits for an answer to an interrupt; `answered` that it has not run since the answer.
    TaskState state = TaskState::finished;
};

/// The bytes of a pending write, for WriteRow.
std::string makeTaskRecord(const TaskRecordFields& fields);

/// The values of a checkpoint's channels by name, read from what a saver returned for it. Throws
/// CorruptCheckpointError, naming the record, if one is damaged or missing.
std::map<std::string, Value> readChannels(const LogName& log, const CheckpointTuple& tuple);

}  // namespace stategraph::testing
