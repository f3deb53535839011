#include <algorithm>

#include <stategraph/error.hpp>

#include "src/commit/ids.hpp"
#include "src/commit/restore.hpp"
#include "src/commit/task_record.hpp"
#include "src/commit/visit.hpp"
#include "src/commit/warm_thread.hpp"
#include "src/graph/namespaces.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/history_saver.hpp"
#include "src/history/read_called.hpp"

// getState: reads one checkpoint. If it is the newest, the values include what finished tasks of an unfinished
// superstep wrote.
namespace stategraph::engine {
namespace {

using detail::ChannelSet;
using detail::Core;
using detail::ValuesOut;

void readInto(const detail::Schema& schema, const checkpoint::TaskFields& record, detail::Writes& into) {
    if (record.writes) readWritesInto(schema, *record.writes, into);
}

// Applies what the finished tasks of the pending superstep wrote. If writes conflict, or a reducer refuses one, the
// error is set on their tasks, and the stored values stay.
void applyFinished(std::vector<DueTask>& due, SnapshotData& snapshot, State& state) {
    const detail::Schema& schema = state.schema();
    std::vector<detail::ChannelIndex> ending;
    std::vector<detail::Writes> writes(due.size());
    WriteSet set;
    bool any = false;
    for (std::size_t i = 0; i < due.size(); ++i) {
        if (!due[i].finished) continue;
        try {
            readInto(schema, *due[i].record, writes[i]);
        } catch (const InvalidUpdateError& gone) {
            snapshot.tasks[i].error = gone.message();  // it wrote a channel that the graph no longer has
            writes[i].clear();
            continue;
        }
        any = true;
        set.add(schema, writes[i], due[i].shown_name);
    }
    if (!any) return;
    try {
        set.close(schema);
        findEnding(state, set, ending);
        applyWrites(state, set, {}, nullptr);
    } catch (const InvalidUpdateError& conflict) {
        const detail::ChannelSpec* channel = schema.find(conflict.context().channel);
        snapshot.next.clear();
        for (std::size_t i = 0; i < due.size(); ++i) {
            snapshot.next.push_back(due[i].shown_name);
            for (const detail::Op& op : writes[i]) {
                if (channel != nullptr && op.channel == channel->index) snapshot.tasks[i].error = conflict.message();
            }
        }
        return;
    }
    endChannels(state, ending);
}

// Moves the state to the caller.
void give(State& state, std::size_t bytes_expected, SnapshotData& snapshot, const ValuesOut& out) {
    snapshot.values_as_cbor = valuesOf(state, bytes_expected);
    if (out.present != nullptr) *out.present = state.present();
    const detail::Schema& schema = state.schema();
    if (out.type == schema.state().type) schema.state().move(out.object, state.object());
}

SnapshotData read(const Core& root, const Core& core, BaseCheckpointSaver& saver, const Config& config,
                  std::optional<CheckpointTuple> tuple, bool subgraphs, const ValuesOut& out);

// Adds the logs of subgraphs that are due. `state` is the state that their tasks see.
void addSubgraphs(const Core& root, const Core& core, BaseCheckpointSaver& saver, const Config& config, bool subgraphs,
                  const checkpoint::Folded& at, const std::vector<DueTask>& due, const State& state,
                  SnapshotData& snapshot) {
    for (std::size_t i = 0; i < due.size(); ++i) {
        TaskSnapshot& task = snapshot.tasks[i];
        const NodeIndex node = core.topology().findStored(due[i].name);
        if (task.finished || node == no_node || !core.topology().nodes[node].subgraph) continue;
        const Core& inner = *core.topology().nodes[node].subgraph->spec.core;
        if (inner.options().checkpointer.kind() == detail::CheckpointerKind::none) continue;
        PendingSend send;
        if (due[i].payload) send.stored = std::string(*due[i].payload);
        const auto key = findKey(core.schema(), core.topology().nodes[node], state, due[i].payload ? &send : nullptr);
        if (!key) continue;  // a user's function has failed
        std::string ns = innerNamespace(config.checkpoint_ns, core.topology().nodes[node], task.id, *key);
        const std::size_t outer = config.checkpoint_ns.size();
        task.state_config = Config{.thread_id = config.thread_id, .checkpoint_id = {}, .checkpoint_ns = ns};
        if (!subgraphs) continue;
        CheckpointId head;
        auto tuple = findCurrent(saver, {config.thread_id.view(), config.checkpoint_ns}, at,
                                 ns.substr(outer + (outer > 0)), head);
        task.state = std::make_shared<const SnapshotData>(
            read(root, inner, saver, *task.state_config, std::move(tuple), true, {}));
    }
}

std::optional<CheckpointTuple> find(BaseCheckpointSaver& saver, const Config& config) {
    const LogName log{config.thread_id.view(), config.checkpoint_ns};
    if (config.checkpoint_id) return saver.getTuple({.log = log, .checkpoint_id = config.checkpoint_id});
    CheckpointId head;
    return findCurrent(saver, log, head);
}

SnapshotData read(const Core& root, const Core& core, BaseCheckpointSaver& saver, const Config& config,
                  std::optional<CheckpointTuple> tuple, bool subgraphs, const ValuesOut& out) {
    const LogName log{config.thread_id.view(), config.checkpoint_ns};
    State state(core.schema());
    SnapshotData snapshot;
    std::size_t bytes_expected = 0;
    if (!tuple) {
        if (config.checkpoint_id) {
            throw InvalidArgumentError(
                "there is no checkpoint " + config.checkpoint_id.toString() + " in thread '" +
                    config.thread_id.toString() + "'",
                {.thread_id = config.thread_id.toString(), .checkpoint_id = config.checkpoint_id.toString()});
        }
        snapshot.config = config;
        state.reset();
        for (const auto& channel : core.schema().channels()) state.setPresent(channel.index, false);
    } else {
        const bool latest = config.checkpoint_id.empty();
        const checkpoint::Folded folded = checkpoint::fold(log, std::move(*tuple));
        restoreState(folded, state);
        for (const auto& channel : folded.channels) {
            for (const auto& piece : channel.pieces) bytes_expected += piece.value.size();
        }
        const Records records = readRecords(log, folded.commit.id, folded.tuple.writes);
        std::vector<DueTask> due = dueTasks(core.topology(), folded.commit, records, latest);
        snapshot = describe(log, folded.commit, due, latest, folded.tuple.next);
        closeAnswered(saver, log, folded.commit, snapshot);
        showCancel(records, latest, snapshot);
        if (const auto* command = latest ? findRecord(records, command_path) : nullptr) {
            detail::Writes writes;
            readInto(core.schema(), *command, writes);
            applyCommand(writes, state);
        }
        addSubgraphs(root, core, saver, config, subgraphs, folded, due, state, snapshot);
        if (subgraphs) addCalls(saver, config, due, snapshot);
        if (latest) applyFinished(due, snapshot, state);
    }
    give(state, bytes_expected, snapshot,
         out);  // its records are released first, so that everything exists at most twice at the same time
    return snapshot;
}

// Returns the state of a thread that stays in memory and has nothing due at its newest checkpoint. Returns none if it
// has to be read from the saver.
std::optional<SnapshotData> readWarm(const Core& core, BaseCheckpointSaver& saver, const Config& config,
                                     const ValuesOut& out) {
    WarmCache* const cache = core.warmThreads();
    if (cache == nullptr || config.checkpoint_id || !config.checkpoint_ns.empty()) return {};
    const auto kept = cache->read(config.thread_id.view());
    if (kept == nullptr) return {};
    const auto& warm = static_cast<const WarmThread&>(*kept);
    const auto head = findWarmHead(saver, core, config.thread_id.view(), warm);
    if (!head) return {};
    State state(warm.state);
    const LogName log{config.thread_id.view(), {}};
    SnapshotData snapshot = describe(log, head->commit, dueTasks(core.topology(), head->commit, {}, true), true, {});
    give(state, warm.account.state_bytes, snapshot, out);
    return snapshot;
}

}  // namespace

BaseCheckpointSaver& historySaver(const Core& core, const Config& config) {
    BaseCheckpointSaver* saver = core.options().checkpointer.saver().get();
    if (saver == nullptr) {
        throw MissingCheckpointerError("the graph was compiled without a checkpointer, so it has no stored state",
                                       {.thread_id = config.thread_id.toString()});
    }
    if (config.thread_id.empty()) throw InvalidArgumentError("the config names no thread: give it a thread_id");
    return *saver;
}

}  // namespace stategraph::engine

namespace stategraph::detail {

SnapshotData readState(const Core& core, const Config& config, bool subgraphs, const ValuesOut& values) {
    BaseCheckpointSaver& saver = engine::historySaver(core, config);
    try {
        if (engine::isOfCall(config.checkpoint_ns)) {
            return engine::readCalled(saver, config, engine::find(saver, config), subgraphs, values,
                                      core.schema().state().type);
        }
        if (auto warm = engine::readWarm(core, saver, config, values)) return *std::move(warm);
        return engine::read(core, engine::resolveNamespace(core, config.checkpoint_ns), saver, config,
                            engine::find(saver, config), subgraphs, values);
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
        throw;
    }
}

}  // namespace stategraph::detail
