#include <stategraph/read_checkpoint.hpp>

#include <utility>

#include <stategraph/graph_description.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/read_called.hpp"
#include "src/reading/described.hpp"
#include "src/reading/log_page.hpp"
#include "src/reading/shown_names.hpp"

namespace stategraph {
namespace reading {

void requireThread(const Config& config, const char* function) {
    if (config.thread_id.empty()) {
        throw InvalidArgumentError(std::string(function) + ": the config names no thread; give it a thread_id");
    }
}

}  // namespace reading

namespace {

SnapshotData read(BaseCheckpointSaver& saver, const Config& config, CheckpointTuple tuple, const ReadOptions& options) {
    const LogName log = reading::logOf(config);
    const bool latest = config.checkpoint_id.empty();
    const checkpoint::Folded folded = checkpoint::fold(log, std::move(tuple));
    const reading::ShownNames names(saver, GraphFingerprint{folded.graph, folded.schema});
    const auto records = engine::readRecords(log, folded.commit.id, folded.tuple.writes);
    auto due = engine::calledTasks(folded.commit, records, latest);
    names.show(due);
    SnapshotData snapshot = engine::describe(log, folded.commit, due, latest, folded.tuple.next);
    engine::closeAnswered(saver, log, folded.commit, snapshot);
    engine::showCancel(records, latest, snapshot);
    if (options.values) {
        const reading::DescribedChannels channels(folded, names.graph());
        engine::giveCalledValues(channels.all(), folded.commit.id, snapshot, {}, nullptr);
    }
    if (!options.subgraphs) return snapshot;
    engine::addCalls(saver, config, due, snapshot, [&](BaseCheckpointSaver& from, const Config& at) {
        auto inner = from.getTuple({.log = reading::logOf(at)});
        return inner ? read(from, at, std::move(*inner), options) : SnapshotData();
    });
    return snapshot;
}

}  // namespace

std::optional<SnapshotData> readCheckpoint(BaseCheckpointSaver& saver, const Config& config,
                                           const ReadOptions& options) {
    reading::requireThread(config, "readCheckpoint");
    return reading::named(config, [&]() -> std::optional<SnapshotData> {
        auto tuple = saver.getTuple({.log = reading::logOf(config), .checkpoint_id = config.checkpoint_id});
        if (!tuple) return {};
        return read(saver, config, std::move(*tuple), options);
    });
}

}  // namespace stategraph
