#include "src/history/read_called.hpp"

#include <algorithm>
#include <string>

#include <stategraph/error.hpp>

#include "src/checkpoint/materialise.hpp"
#include "src/commit/restore.hpp"
#include "src/graph/namespaces.hpp"

namespace stategraph::engine {
namespace {

// Adds the logs right below a task: that of a subgraph's visit, and those of calls.
void addLogs(BaseCheckpointSaver& saver, const Config& config, const std::vector<ListedCheckpoint>& heads,
             std::string_view name, const ReadLog& read_log, TaskSnapshot& task) {
    std::string visit = config.checkpoint_ns;
    if (!visit.empty()) visit += '|';
    visit += std::string(name) + ':' + task.id.toString();
    const auto read = [&](const Config& at) {
        if (read_log) return std::make_shared<const SnapshotData>(read_log(saver, at));
        auto tuple = saver.getTuple({.log = {at.thread_id.view(), at.checkpoint_ns}});
        return std::make_shared<const SnapshotData>(readCalled(saver, at, std::move(tuple), true, {}, nullptr));
    };
    for (const ListedCheckpoint& head : heads) {
        const std::string_view ns = head.checkpoint_ns;
        if (!ns.starts_with(visit)) continue;
        const std::string_view rest = ns.substr(visit.size());
        const Config at{.thread_id = config.thread_id, .checkpoint_id = {}, .checkpoint_ns = head.checkpoint_ns};
        if (rest.empty() && !task.state_config) {
            task.state_config = at;
            task.state = read(at);
        } else if (rest.starts_with(':') && rest.find('|') == std::string_view::npos) {
            task.calls.push_back({namespaceKey(rest.substr(1)), at, read(at)});
        }
    }
    std::ranges::sort(task.calls, {}, &CallSnapshot::key);
}

}  // namespace

std::vector<DueTask> calledTasks(const checkpoint::CommitFields& commit, const Records& records, bool latest) {
    std::vector<DueTask> tasks = checkpoint::dueTasks(commit, records, latest);
    for (DueTask& task : tasks) task.shown_name = task.name;
    return tasks;
}

void giveCalledValues(std::span<const checkpoint::ChannelPieces> channels, CheckpointId id, SnapshotData& snapshot,
                      const detail::ValuesOut& out, detail::TypeKey root_type) {
    std::vector<checkpoint::ChannelPieces> ordered(channels.begin(), channels.end());
    const auto place = [](const checkpoint::ChannelPieces& each) { return std::pair(each.name.size(), each.name); };
    std::ranges::sort(ordered, {}, place);
    std::string cbor;
    Encoder encoder(cbor);
    encoder.map(ordered.size());
    for (const auto& channel : ordered) {
        encoder.text(channel.name);
        encoder.raw(checkpoint::materialise(channel.pieces));
    }
    snapshot.values_as_cbor = Value::fromCbor(std::move(cbor));
    if (out.schema == nullptr) return;
    State state(*out.schema);
    try {
        restoreState(channels, id, state);
    } catch (const CorruptCheckpointError&) {
        if (out.type == root_type) return;
        throw;
    }
    if (out.present != nullptr) *out.present = state.present();
    out.schema->state().move(out.object, state.object());
}

SnapshotData readCalled(BaseCheckpointSaver& saver, const Config& config, std::optional<CheckpointTuple> tuple,
                        bool subgraphs, const detail::ValuesOut& out, detail::TypeKey root_type) {
    if (!tuple) {
        if (config.checkpoint_id) {
            throw InvalidArgumentError(
                "there is no checkpoint " + config.checkpoint_id.toString() + " of the called graph '" +
                    config.checkpoint_ns + "'",
                {.thread_id = config.thread_id.toString(), .checkpoint_id = config.checkpoint_id.toString()});
        }
        SnapshotData nothing;
        nothing.config = config;
        nothing.values_as_cbor = Value::fromCbor(std::string(1, '\xa0'));
        return nothing;
    }
    const LogName log{config.thread_id.view(), config.checkpoint_ns};
    const bool latest = config.checkpoint_id.empty();
    const checkpoint::Folded folded = checkpoint::fold(log, std::move(*tuple));
    const Records records = readRecords(log, folded.commit.id, folded.tuple.writes);
    const std::vector<DueTask> due = calledTasks(folded.commit, records, latest);
    SnapshotData snapshot = describe(log, folded.commit, due, latest, folded.tuple.next);
    closeAnswered(saver, log, folded.commit, snapshot);
    std::vector<checkpoint::ChannelPieces> channels;
    for (const auto& channel : folded.channels) channels.push_back({channel.name, channel.pieces});
    giveCalledValues(channels, folded.commit.id, snapshot, out, root_type);
    if (subgraphs) addCalls(saver, config, due, snapshot);
    return snapshot;
}

void addCalls(BaseCheckpointSaver& saver, const Config& config, const std::vector<DueTask>& due, SnapshotData& snapshot,
              const ReadLog& read) {
    const auto mayCall = [](const TaskSnapshot& task) { return !task.finished && !task.state_config; };
    if (std::ranges::none_of(snapshot.tasks, mayCall)) return;
    const auto heads = saver.list({.thread_id = config.thread_id.toString(), .heads = true});
    for (std::size_t i = 0; i < due.size(); ++i) {
        if (mayCall(snapshot.tasks[i])) addLogs(saver, config, heads, due[i].name, read, snapshot.tasks[i]);
    }
}

}  // namespace stategraph::engine
