#include <algorithm>

#include <stategraph/error.hpp>

#include "src/commit/restore.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/history_saver.hpp"

// getStateHistory: a page of a thread's checkpoints at a time.
namespace stategraph::detail {
namespace {

constexpr std::size_t page_size = 64;

bool matches(const Metadata& filter, Source source, std::int64_t step, const Metadata& metadata) {
    return std::all_of(filter.begin(), filter.end(), [&](const MetadataEntry& wanted) {
        if (wanted.key == "source") return wanted.value == Value(toString(source));
        if (wanted.key == "step") return wanted.value == Value(step);
        return std::find(metadata.begin(), metadata.end(), wanted) != metadata.end();
    });
}

}  // namespace

struct HistoryReader::Impl {
    std::shared_ptr<const Core> root;
    const Core& core;
    BaseCheckpointSaver& saver;
    Config config;
    HistoryOptions options;
    std::vector<ListedCheckpoint> page = {};
    std::size_t at = 0;
    bool last_page = false;
    std::size_t given = 0;
    std::optional<StoredCommit> follower = {};  // of the next to be given

    Impl(std::shared_ptr<const Core> graph, const Config& from, const HistoryOptions& with)
        : root(std::move(graph)),
          core(engine::resolveNamespace(*root, from.checkpoint_ns)),
          saver(engine::historySaver(*root, from)),
          config(from),
          options(with) {
        if (options.limit && *options.limit < 1) throw InvalidArgumentError("HistoryOptions::limit must be at least 1");
    }

    LogName log() const { return {config.thread_id.view(), config.checkpoint_ns}; }

    bool readPage() {
        if (last_page) return false;
        const CheckpointId before = page.empty() ? options.before : page.back().id;
        page = saver.list({.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns, .before = before,
                           .limit = page_size, .with_writes = true});
        at = 0;
        last_page = page.size() < page_size;
        return !page.empty();
    }

    bool next(SnapshotData& snapshot, const ValuesOut& out) {
        if (config.checkpoint_id) return only(snapshot, out);
        while (!options.limit || given < *options.limit) {
            if (at == page.size() && !readPage()) return false;
            ListedCheckpoint& listed = page[at++];
            const checkpoint::CommitFields commit = checkpoint::readCommit(
                {listed.thread_id, listed.checkpoint_ns, listed.id}, listed.bytes, !options.values);
            const bool wanted = options.filter.empty() ||
                                matches(options.filter, commit.source, commit.step, engine::readMetadata(commit.metadata));
            if (wanted) fill(commit, listed, snapshot, out);
            follower = StoredCommit{listed.id, std::move(listed.bytes)};
            if (!wanted) continue;
            ++given;
            return true;
        }
        return false;
    }

    // The config names one checkpoint: the history is that one, unless the options leave it out.
    bool only(SnapshotData& snapshot, const ValuesOut& out) {
        if (given++ > 0) return false;
        SnapshotData read = readState(*root, config, false, options.values ? out : ValuesOut());
        if (options.before && config.checkpoint_id >= options.before) return false;
        if (!matches(options.filter, read.source, read.step, read.metadata)) return false;
        if (!options.values) read.values_as_cbor = {};
        snapshot = std::move(read);
        return true;
    }

    void fill(const checkpoint::CommitFields& commit, const ListedCheckpoint& listed, SnapshotData& snapshot, const ValuesOut& out) {
        const engine::Records records = engine::readRecords(log(), commit.id, listed.writes);
        const std::vector<engine::DueTask> due = engine::dueTasks(core.topology(), commit, records, false);
        std::optional<CheckpointTuple> tuple;
        const bool needs_follower = !follower && options.before;
        if (options.values || needs_follower) tuple = saver.getTuple({.log = log(), .checkpoint_id = commit.id});
        if (needs_follower && tuple) follower = std::move(tuple->next);
        snapshot = engine::describe(log(), commit, due, false, follower);
        if (!options.values || !tuple) return;
        engine::State state(core.schema());
        engine::restoreState(checkpoint::fold(log(), std::move(*tuple)), state);
        snapshot.values_as_cbor = engine::valuesOf(state);
        if (out.present != nullptr) *out.present = state.present();
        if (out.type == core.schema().state().type) core.schema().state().move(out.object, state.object());
    }
};

HistoryReader::HistoryReader(std::shared_ptr<const Core> core, const Config& config, const HistoryOptions& options)
    : impl_(new Impl(std::move(core), config, options)) {}

HistoryReader::~HistoryReader() = default;

bool HistoryReader::next(SnapshotData& snapshot, const ValuesOut& values) {
    try {
        return impl_->next(snapshot, values);
    } catch (Error& error) {
        error.addContext({.thread_id = impl_->config.thread_id.toString(), .checkpoint_ns = impl_->config.checkpoint_ns});
        throw;
    }
}

}  // namespace stategraph::detail
