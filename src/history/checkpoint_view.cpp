#include "src/history/checkpoint_view.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/repeated_values.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/task_record.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::LoggedWrite;
using checkpoint::LogOp;
using checkpoint::WriteKind;

void encodeOne(const LoggedWrite& write, Encoder& out) {
    if (write.kind == WriteKind::overwrite) {
        out.map(1);
        out.text("__overwrite__");
        out.raw(write.value);
    } else if (write.kind == WriteKind::clear) {
        out.map(1);
        out.text("__clear__");
        out.boolean(true);
    } else {
        out.raw(write.value);
    }
}

// Returns {channel: written}, or null if nothing was written.
Value resultOf(std::vector<LoggedWrite> writes) {
    if (writes.empty()) return {};
    std::stable_sort(writes.begin(), writes.end(), [](const LoggedWrite& a, const LoggedWrite& b) {
        return detail::storedBefore(a.channel, b.channel);
    });
    std::size_t channels = 0;
    for (std::size_t i = 0; i < writes.size(); ++i) channels += i == 0 || writes[i].channel != writes[i - 1].channel;
    std::string cbor;
    Encoder out(cbor);
    out.map(channels);
    for (std::size_t i = 0; i < writes.size();) {
        std::size_t end = i + 1;
        while (end < writes.size() && writes[end].channel == writes[i].channel) ++end;
        out.text(writes[i].channel);
        if (end - i > 1) {
            out.map(1);
            out.text("$writes");
            out.array(end - i);
        }
        for (; i < end; ++i) encodeOne(writes[i], out);
    }
    return Value::fromCbor(std::move(cbor));
}

// Limits a number of microseconds to what both a time and a duration can hold.
std::chrono::microseconds shownSignedUs(std::int64_t us) {
    constexpr std::int64_t most = times::microseconds(times::century).count();
    return times::microseconds(std::clamp(us, -most, most));
}
times::Moment momentOf(CheckpointId id, std::chrono::microseconds later) {
    return times::ofUnixUs(times::unixUs(id) + later.count());
}

// Shows the times of a task that has a record and was executed.
void showTimes(const checkpoint::TaskFields& record, CheckpointId checkpoint, TaskSnapshot& task) {
    task.attempts = record.attempts;
    if (!record.took) return;
    task.took = shownUs(record.took->took_us);
    task.started_at = momentOf(checkpoint, shownSignedUs(record.took->start_us));
}

// Shows the times of the single task of a superstep, which ended with the commit.
void showTimes(const checkpoint::CommitFields& ended, TaskSnapshot& task) {
    task.attempts = ended.attempts;
    task.took.reset();
    task.started_at.reset();
    if (!ended.took) return;
    task.took = shownUs(ended.took->superstep_us);
    task.started_at = momentOf(ended.id, -*task.took);
}

// Returns what the single task of a superstep wrote, taken from the commit that it led to.
Value resultFromCommit(const RowKey& key, const checkpoint::CommitFields& commit,
                       const checkpoint::CommitFields& next) {
    std::vector<checkpoint::LoggedOp> operations = checkpoint::readOperations(next.operations);
    try {
        checkpoint::takeInputValues(operations, commit.input);
    } catch (const WrongTypeError& error) {
        checkpoint::corrupt(key, error.message());
    }
    if (next.writes) return resultOf(checkpoint::readCommitWrites(next, operations));
    std::vector<LoggedWrite> writes;
    for (const auto& operation : operations) {
        const WriteKind kind = operation.op == LogOp::clear ? WriteKind::clear : WriteKind::set;
        // A channel that was cleared at the end of the superstep was not written by a task.
        if (kind != WriteKind::clear) writes.push_back({operation.channel, kind, operation.value});
    }
    return resultOf(std::move(writes));
}

// Returns the commit of the superstep after a checkpoint, if it is the next commit in the log and covers only that
// superstep.
std::optional<checkpoint::CommitFields> endOf(const LogName& log, const checkpoint::CommitFields& commit,
                                              const std::optional<StoredCommit>& follower, bool header_only) {
    if (!follower) return {};
    const RowKey key{log.thread_id, log.checkpoint_ns, follower->id};
    checkpoint::CommitFields next = checkpoint::readCommit(key, follower->bytes, header_only);
    if (next.parent != commit.id || next.source != Source::loop || next.folds != 1) return {};
    return next;
}

}  // namespace

std::chrono::microseconds shownUs(std::uint64_t us) {
    constexpr auto most = static_cast<std::uint64_t>(times::microseconds(times::century).count());
    return shownSignedUs(static_cast<std::int64_t>(std::min(us, most)));
}

std::vector<DueTask> dueTasks(const Topology& topology, const checkpoint::CommitFields& commit, const Records& records,
                              bool latest) {
    std::vector<DueTask> tasks = checkpoint::dueTasks(commit, records, latest);
    for (DueTask& task : tasks) task.shown_name = topology.shownName(task.name);
    return tasks;
}

SnapshotData describe(const LogName& log, const checkpoint::CommitFields& commit, const std::vector<DueTask>& tasks,
                      bool latest, const std::optional<StoredCommit>& follower) {
    SnapshotData snapshot;
    const auto configOf = [&log](CheckpointId id) {
        return Config{.thread_id = log.thread_id, .checkpoint_id = id, .checkpoint_ns = std::string(log.checkpoint_ns)};
    };
    snapshot.config = configOf(commit.id);
    if (commit.parent) snapshot.parent_config = configOf(commit.parent);
    snapshot.source = commit.source;
    snapshot.step = commit.step;
    snapshot.metadata = readMetadata(commit.metadata);
    snapshot.created_at = commit.id.time();
    if (commit.took) snapshot.took = shownUs(commit.took->superstep_us);
    const bool ends_one = tasks.size() == 1 && !tasks.front().finished;
    const std::optional<checkpoint::CommitFields> ended = endOf(log, commit, follower, !ends_one);
    if (ended && ended->took && ended->took->commit_us) snapshot.commit_took = shownUs(*ended->took->commit_us);
    for (const DueTask& due : tasks) {
        TaskSnapshot task;
        task.id = makeTaskId({commit.id, log.checkpoint_ns, commit.step + 1, due.name, due.path});
        task.name = due.shown_name;
        task.path = due.path;
        task.finished = due.finished;
        if (due.payload) task.input = Value::fromCbor(std::string(*due.payload));
        if (due.record != nullptr) {
            if (due.record->error) {
                task.error = std::string(*due.record->error);
            } else if (due.record->failure) {
                task.error = std::string(due.record->failure->text);
            }
            const checkpoint::AnsweredQuestions answered(*due.record);
            for (const auto& asked : due.record->interrupts) {
                task.interrupts.push_back(
                    {asked.id, asked.index, Value::fromCbor(std::string(asked.value)), std::string(asked.key)});
                if (!due.finished && !answered.has(asked)) task.open_interrupts.push_back(task.interrupts.back());
            }
            showTimes(*due.record, commit.id, task);
            if (due.record->writes) task.result = resultOf(checkpoint::readWrites(*due.record->writes));
        }
        if (ends_one && ended) {
            task.result = resultFromCommit({log.thread_id, log.checkpoint_ns, ended->id}, commit, *ended);
            showTimes(*ended, task);
            task.finished = true;
            task.open_interrupts.clear();
        }
        if (!latest || !task.finished) snapshot.next.push_back(task.name);
        snapshot.tasks.push_back(std::move(task));
    }
    return snapshot;
}

void showCancel(const Records& records, bool latest, SnapshotData& snapshot) {
    snapshot.cancelled = checkpoint::saysCancelled(records);
    if (!snapshot.cancelled || !latest) return;
    snapshot.next.clear();
    for (TaskSnapshot& task : snapshot.tasks) task.open_interrupts.clear();
}

void closeAnswered(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::CommitFields& commit,
                   SnapshotData& snapshot) {
    const bool any =
        std::ranges::any_of(snapshot.tasks, [](const TaskSnapshot& task) { return !task.open_interrupts.empty(); });
    if (!any || commit.parents.empty() || !commit.parents.front().checkpoint_ns.empty()) return;
    const LogName root{log.thread_id, ""};
    const CheckpointId at = commit.parents.front().id;
    const auto tuple = saver.getTuple({.log = root, .checkpoint_id = at});
    const Records records = tuple ? readRecords(root, at, tuple->writes) : Records();
    std::set<std::pair<TaskId, std::uint64_t>> open;
    for (const auto& [path, record] : records) {
        if (record.writes) continue;
        for (const auto* asked : checkpoint::openQuestions(record)) open.emplace(asked->id, asked->index);
    }
    for (TaskSnapshot& task : snapshot.tasks) {
        std::erase_if(task.open_interrupts, [&open](const Interrupt& asked) {
            return !open.contains({asked.id, asked.index});
        });
    }
}

Value valuesOf(const State& state, std::size_t bytes_expected) {
    const detail::Schema& schema = state.schema();
    std::size_t count = 0;
    for (const auto& channel : schema.channels()) count += state.has(channel.index);
    std::string cbor;
    cbor.reserve(bytes_expected);
    Encoder out(cbor);
    out.map(count);
    for (const auto index : schema.encodedOrder()) {
        if (!state.has(index)) continue;
        const auto& channel = schema.channel(index);
        out.text(channel.name);
        channel.behaviour->encode(channel, state.value(channel), out);
    }
    return Value::fromCbor(std::move(cbor));
}

Metadata readMetadata(std::string_view cbor) {
    Metadata metadata;
    if (cbor.empty()) return metadata;
    Decoder in(cbor);
    for (std::size_t count = in.map(); count > 0; --count) {
        std::string key(in.text());
        metadata.push_back({std::move(key), Value::fromCbor(std::string(in.raw()))});
    }
    return metadata;
}

}  // namespace stategraph::engine
