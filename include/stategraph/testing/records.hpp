#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

// Records made by hand, as a graph's run would store them: for the tests of savers and of what reads them.
namespace stategraph::testing {

/// What a commit does to a channel: it holds this value now, this item was appended to its list, or it holds none.
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
    /// The oldest commit that reading this one needs; none: itself.
    CheckpointId base = {};
    /// For a commit of a subgraph: the root graph's checkpoint to whose superstep it belongs.
    CheckpointId root = {};
    std::int64_t step = 0;
    Source source = Source::loop;
    /// Nodes that are due; none: the log is finished here.
    std::vector<std::string_view> next = {};
    /// A map; null: none.
    Value metadata = {};
    /// Each channel at most once.
    std::vector<ChannelChange> changes = {};
    /// Where logs of subgraphs that live with the thread were left; by name, shorter ones first.
    std::vector<VisitLink> visits = {};
};

/// The bytes of a commit, as CommitRow has them.
std::string makeCommitRecord(const CommitRecordFields& fields);

/// The state of a task in its record.
enum class TaskState : std::uint8_t { finished, failed, waiting, answered };

/// The content of a pending write's record.
struct TaskRecordFields {
    /// The checkpoint whose superstep the task belongs to.
    CheckpointId id;
    std::string_view node = "node";
    /// `waiting` for an answer to an interrupt; `answered` and not run since.
    TaskState state = TaskState::finished;
};

/// The bytes of a pending write, as WriteRow has them.
std::string makeTaskRecord(const TaskRecordFields& fields);

/// The values of a checkpoint's channels, by name, read from what a saver gave for it. Throws CorruptCheckpointError,
/// naming the record, if one is damaged or missing.
std::map<std::string, Value> readChannels(const LogName& log, const CheckpointTuple& tuple);

}  // namespace stategraph::testing
