#include <algorithm>
#include <array>

#include <stategraph/error.hpp>

#include "src/graph/namespaces.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/history/history_saver.hpp"
#include "src/history/read_called.hpp"
#include "src/history/stepped_values.hpp"

// getStateHistory: reads a page of a thread's checkpoints at a time.
namespace stategraph::detail {
namespace {

// The number of rows of a page: few at first, and later as many as fit into a limit of bytes.
constexpr std::size_t page_rows_min = 64;
constexpr std::size_t page_rows_max = 256;
constexpr std::size_t page_bytes_max = std::size_t{1} << 18U;

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
    const Core* core;  // null if the log belongs to a graph that a node calls, which is not available here
    BaseCheckpointSaver& saver;
    Config config;
    HistoryOptions options;
    std::vector<ListedCheckpoint> page = {};
    std::size_t at = 0;
    std::size_t page_rows = page_rows_min;
    bool last_page = false;
    std::size_t given = 0;
    std::optional<StoredCommit> follower = {};  // the commit after the checkpoint that is given next
    std::optional<checkpoint::Lineage> lineage =
        {};                      // the lineage of the last values, from which the next ones most likely come too
    std::uint64_t lineages = 0;  // how many lineages there were
    // Two are used in turn: while the caller looks at one, the next is derived from the one before it.
    std::array<engine::SteppedValues, 2> stepped = {};
    std::size_t turn = 0;

    Impl(std::shared_ptr<const Core> graph, const Config& from, const HistoryOptions& with)
        : root(std::move(graph)),
          core(engine::isOfCall(from.checkpoint_ns) ? nullptr : &engine::resolveNamespace(*root, from.checkpoint_ns)),
          saver(engine::historySaver(*root, from)),
          config(from),
          options(with) {
        if (options.limit && *options.limit < 1) throw InvalidArgumentError("HistoryOptions::limit must be at least 1");
    }

    LogName log() const { return {config.thread_id.view(), config.checkpoint_ns}; }

    bool readPage() {
        if (last_page) return false;
        const CheckpointId before = page.empty() ? options.before : page.back().id;
        std::size_t rows = page_rows;
        if (options.limit && options.filter.empty()) rows = std::min(rows, *options.limit - given);
        page = saver.list({.thread_id = config.thread_id.toString(),
                           .checkpoint_ns = config.checkpoint_ns,
                           .before = before,
                           .limit = rows,
                           .with_writes = true});
        at = 0;
        last_page = page.size() < rows;
        std::size_t bytes = 0;
        for (const ListedCheckpoint& listed : page) {
            bytes += listed.bytes.size();
            for (const StoredWrite& write : listed.writes) bytes += write.bytes.size();
        }
        page_rows = 2 * bytes <= page_bytes_max ? std::min(2 * page_rows, page_rows_max) : page_rows_min;
        return !page.empty();
    }

    bool next(SnapshotData& snapshot, const ValuesOut& out) {
        if (config.checkpoint_id) return only(snapshot, out);
        while (!options.limit || given < *options.limit) {
            if (at == page.size() && !readPage()) return false;
            ListedCheckpoint& listed = page[at++];
            const checkpoint::CommitFields commit = checkpoint::readCommit(
                {listed.thread_id, listed.checkpoint_ns, listed.id}, listed.bytes, !options.values);
            const bool wanted = options.filter.empty() || matches(options.filter, commit.source, commit.step,
                                                                  engine::readMetadata(commit.metadata));
            if (wanted) fill(commit, listed, snapshot, out);
            follower = StoredCommit{listed.id, std::move(listed.bytes)};
            if (!wanted) continue;
            ++given;
            return true;
        }
        return false;
    }

    // If the config names one checkpoint, the history consists of that one, unless the options leave it out.
    bool only(SnapshotData& snapshot, const ValuesOut& out) {
        if (given++ > 0) return false;
        SnapshotData read = readState(*root, config, false, options.values ? out : ValuesOut());
        if (options.before && config.checkpoint_id >= options.before) return false;
        if (!matches(options.filter, read.source, read.step, read.metadata)) return false;
        if (!options.values) read.values_as_cbor = {};
        snapshot = std::move(read);
        return true;
    }

    void fill(const checkpoint::CommitFields& commit, const ListedCheckpoint& listed, SnapshotData& snapshot,
              const ValuesOut& out) {
        const engine::Records records = engine::readRecords(log(), commit.id, listed.writes);
        const std::vector<engine::DueTask> due = core != nullptr
                                                     ? engine::dueTasks(core->topology(), commit, records, false)
                                                     : engine::calledTasks(commit, records, false);
        std::optional<CheckpointTuple> tuple;
        if (!follower && options.before) {
            tuple = saver.getTuple({.log = log(), .checkpoint_id = commit.id});
            if (tuple) follower = std::move(tuple->next);
        }
        Value stepped_from = std::move(snapshot.values_as_cbor);
        snapshot = engine::describe(log(), commit, due, false, follower);
        engine::closeAnswered(saver, log(), commit, snapshot);
        engine::showCancel(records, false, snapshot);
        if (!options.values) return;
        const auto channels = channelsOf(commit.id, std::move(tuple));
        if (core == nullptr) {
            if (channels) engine::giveCalledValues(*channels, commit.id, snapshot, out, root->schema().state().type);
            return;
        }
        engine::SteppedValues& values = stepped[turn];
        turn = 1 - turn;
        if (!channels) {
            values.leave(core->schema(), out);
            return;
        }
        snapshot.values_as_cbor = std::move(stepped_from);
        values.give(core->schema(), *channels, lineages, commit.id, snapshot, out);
    }

    // Call it after an error: the values that the caller gave back are lost.
    void startAnew(std::size_t of_turn) noexcept {
        turn = of_turn;
        stepped[turn].forget();
    }

    // Returns none if the checkpoint was pruned meanwhile. `tuple` is set if it was read already.
    std::optional<std::span<const checkpoint::ChannelPieces>> channelsOf(CheckpointId id,
                                                                         std::optional<CheckpointTuple> tuple) {
        if (lineage) {
            if (const auto channels = lineage->channelsOf(id)) return channels;
            lineage.reset();  // two lineages never exist at the same time
        }
        if (!tuple) tuple = saver.getTuple({.log = log(), .checkpoint_id = id});
        if (!tuple) return {};
        lineage.emplace(log(), std::move(*tuple));
        ++lineages;
        return lineage->channelsOf(id);
    }
};

HistoryReader::HistoryReader(std::shared_ptr<const Core> core, const Config& config, const HistoryOptions& options)
    : impl_(new Impl(std::move(core), config, options)) {}

HistoryReader::~HistoryReader() = default;

bool HistoryReader::takesBack() const noexcept { return !impl_->stepped[impl_->turn].empty(); }

bool HistoryReader::next(SnapshotData& snapshot, const ValuesOut& values) {
    const std::size_t turn = impl_->turn;
    try {
        return impl_->next(snapshot, values);
    } catch (Error& error) {
        impl_->startAnew(turn);
        error.addContext(
            {.thread_id = impl_->config.thread_id.toString(), .checkpoint_ns = impl_->config.checkpoint_ns});
        throw;
    } catch (...) {
        impl_->startAnew(turn);
        throw;
    }
}

}  // namespace stategraph::detail
