#include "src/stream/commit_events.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <stategraph/read_checkpoint.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/commit/restore.hpp"
#include "src/history/read_called.hpp"
#include "src/stream/events.hpp"
#include "src/value/build_value.hpp"

// Creates the events of supersteps from a log.
namespace stategraph::stream {
namespace {

// Behind the updates, however many those are.
constexpr std::uint32_t values_index = 1U << 30U;
constexpr std::uint32_t checkpoint_index = values_index + 1;

std::vector<std::string> namesIn(std::string_view ns) {
    std::vector<std::string> names;
    while (!ns.empty()) {
        const std::size_t cut = std::min(ns.find('|'), ns.size());
        names.emplace_back(ns.substr(0, cut));
        ns.remove_prefix(std::min(cut + 1, ns.size()));
    }
    return names;
}

// Whether a commit has the values of its parent: it is a fork, and no raw edit (stategraph/raw_edit.hpp), which names
// what it has changed in its metadata.
bool isCopy(const checkpoint::CommitFields& commit) {
    if (commit.source != Source::fork) return false;
    const Metadata metadata = engine::readMetadata(commit.metadata);
    return std::ranges::none_of(metadata, [](const MetadataEntry& entry) { return entry.key == "raw_edit"; });
}

}  // namespace

std::int64_t sequenceOf(CheckpointId id) noexcept {
    return static_cast<std::int64_t>((id.high() >> 16U) << 12U | (id.high() & 0xFFFU));
}

std::chrono::system_clock::time_point timeOf(CheckpointId id) noexcept {
    const std::int64_t part_us = (sequenceOf(id) & 0xFFF) * 1000 / 4096;
    return id.time() + std::chrono::microseconds(part_us);
}

CommitEvents::CommitEvents(EventLog log, BaseCheckpointSaver& saver, const ThreadId& thread_id, StreamModes modes)
    : log_(std::move(log)), saver_(saver), thread_id_(thread_id), modes_(modes), path_(namesIn(log_.ns)) {}

void CommitEvents::setRows(std::vector<ListedCheckpoint> rows) {
    led_to_.reset();
    rows_ = std::move(rows);
}

const ListedCheckpoint* CommitEvents::row(CheckpointId id) const noexcept {
    const auto found =
        std::find_if(rows_.begin(), rows_.end(), [&](const ListedCheckpoint& listed) { return listed.id == id; });
    return found == rows_.end() ? nullptr : &*found;
}

StreamEvent CommitEvents::make(StreamMode mode, std::int64_t step) const {
    return {.mode = mode, .ns = path_, .node = {}, .step = step, .data = {}, .interrupts = {}, .time = {}};
}

// As the run's own events: channels that a graph inside does not return are not shown.
bool CommitEvents::isReturned(std::string_view channel) const {
    if (!isInside() || !log_.core) return true;
    const detail::ChannelSpec* const known = log_.core->schema().find(channel);
    return known == nullptr || log_.core->returns(known->index);
}

// A map of channels without those that are not shown.
Value CommitEvents::returned(const Value& written) const {
    if (!isInside() || !log_.core || written.isNull()) return written;
    std::vector<std::pair<std::string_view, std::string_view>> entries;
    Decoder in(written.bytes());
    const std::size_t count = in.map();
    for (std::size_t left = count; left > 0; --left) {
        const std::string_view channel = in.text();
        const std::string_view value = in.raw();
        if (isReturned(channel)) entries.emplace_back(channel, value);
    }
    if (entries.size() == count) return written;
    return engine::buildValue([&](Encoder& to) {
        to.map(entries.size());
        for (const auto& [channel, value] : entries) {
            to.text(channel);
            to.raw(value);
        }
    });
}

std::optional<ListedCheckpoint> CommitEvents::parentRow(CheckpointId id) const {
    if (const ListedCheckpoint* const found = row(id)) return *found;
    auto tuple = saver_.getTuple({.log = name(), .checkpoint_id = id});  // the start of a branch
    if (!tuple) return {};
    return ListedCheckpoint{thread_id_.toString(), log_.ns, id, std::move(tuple->commits.back().bytes),
                            std::move(tuple->writes)};
}

std::vector<engine::DueTask> CommitEvents::dueTasks(CheckpointId id, const checkpoint::CommitFields& commit,
                                                    const engine::Records& records, bool latest) {
    if (log_.core) return engine::dueTasks(log_.core->topology(), commit, records, latest);
    auto due = engine::calledTasks(commit, records, latest);
    // Each version of a graph begins with a commit that names it.
    if (!names_ || commit.graph)
        names_.emplace(saver_, Config{.thread_id = thread_id_, .checkpoint_id = id, .checkpoint_ns = log_.ns});
    names_->show(due);
    return due;
}

const LedTo* CommitEvents::ledTo(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit) {
    if (commit.source != Source::loop || commit.folds != 1 || !commit.parent) return nullptr;
    if (led_to_ && led_to_->commit == listed.id) return &*led_to_;
    led_to_.reset();
    std::optional<ListedCheckpoint> parent = parentRow(commit.parent);
    if (!parent) return nullptr;
    LedTo& made = led_to_.emplace();
    try {
        made.row = std::move(*parent);
        made.before = checkpoint::readCommit({thread_id_.view(), log_.ns, made.row.id}, made.row.bytes);
        made.records = engine::readRecords(name(), made.row.id, made.row.writes);
        made.due = dueTasks(made.row.id, made.before, made.records, true);
        made.tasks = engine::describe(name(), made.before, made.due, true, StoredCommit{listed.id, listed.bytes}).tasks;
    } catch (...) {
        led_to_.reset();
        throw;
    }
    made.commit = listed.id;
    return &made;
}

// The tasks whose results new input took along (Run::takeFinished): those of the superstep that waited at the thread's
// newest checkpoint. A superstep that failed as a whole has results that no state can have.
std::vector<TaskSnapshot> CommitEvents::takenTasks(const ListedCheckpoint& listed,
                                                   const checkpoint::CommitFields& commit) {
    if (commit.source != Source::input || !commit.parent || commit.base != commit.id) return {};
    const auto at = std::ranges::find(rows_, listed.id, &ListedCheckpoint::id);
    if (at == rows_.end() || at == rows_.begin()) return {};
    const ListedCheckpoint& before = *std::prev(at);
    if (before.id != commit.parent || before.writes.empty()) return {};
    const auto fields = checkpoint::readCommit({thread_id_.view(), log_.ns, before.id}, before.bytes);
    const engine::Records records = engine::readRecords(name(), before.id, before.writes);
    const checkpoint::TaskFields* const run = engine::findRecord(records, checkpoint::run_path);
    if (run != nullptr && run->error) return {};
    auto tasks = engine::describe(name(), fields, dueTasks(before.id, fields, records, true), true, {}).tasks;
    std::erase_if(tasks, [](const TaskSnapshot& task) { return !task.finished; });
    return tasks;
}

// Whether the superstep that led to a commit wrote something. Operations alone do not show this if they are the
// whole state, or channels that ended.
bool CommitEvents::changesValues(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit) {
    if (commit.input) return false;  // input that START has not taken yet is not a change
    if (isCopy(commit)) return false;
    const auto operations = checkpoint::readOperations(commit.operations);
    const auto isShown = [&](const checkpoint::LoggedOp& operation) { return isReturned(operation.channel); };
    const auto isChange = [&](const checkpoint::LoggedOp& operation) {
        return operation.op != checkpoint::LogOp::clear && isShown(operation);
    };
    if (commit.base != commit.id && std::any_of(operations.begin(), operations.end(), isChange)) return true;
    const LedTo* const led = ledTo(listed, commit);
    const bool is_known =
        led != nullptr && !led->tasks.empty() &&
        std::all_of(led->tasks.begin(), led->tasks.end(), [](const TaskSnapshot& task) { return task.finished; });
    if (!is_known) return std::any_of(operations.begin(), operations.end(), isShown);
    return std::any_of(led->tasks.begin(), led->tasks.end(), [&](const TaskSnapshot& task) {
        if (task.result.isNull()) return false;
        if (!isInside()) return true;
        const Value shown = returned(task.result);
        return Decoder(shown.bytes()).map() > 0;
    });
}

void CommitEvents::addUpdates(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit,
                              const Take& take) {
    const LedTo* const led = ledTo(listed, commit);
    const std::vector<TaskSnapshot> taken = led == nullptr ? takenTasks(listed, commit) : std::vector<TaskSnapshot>();
    std::uint32_t index = 0;
    for (const TaskSnapshot& task : led != nullptr ? led->tasks : taken) {
        if (task.name == start_name || !task.finished) continue;
        StreamEvent event = make(StreamMode::updates, commit.step);
        event.node = task.name;
        event.data = engine::buildValue([&](Encoder& to) {
            to.map(1);
            to.text(task.name);
            if (task.result.isNull()) {
                to.map(0);
            } else {
                to.raw(returned(task.result).bytes());
            }
        });
        take(std::move(event), index++);
    }
}

Value CommitEvents::checkpointOf(CheckpointId id, const checkpoint::CommitFields& commit, const Value& state) {
    const SnapshotData snapshot = engine::describe(name(), commit, dueTasks(id, commit, {}, false), false, {});
    engine::CheckpointEvent data{.log = name(),
                                 .id = id,
                                 .parent = commit.parent,
                                 .source = commit.source,
                                 .step = commit.step,
                                 .metadata = commit.metadata,
                                 .tasks = {}};
    for (const TaskSnapshot& task : snapshot.tasks) data.tasks.emplace_back(task.id, task.name);
    return engine::checkpointData(data, [&](Encoder& to) { to.raw(state.bytes()); });
}

void CommitEvents::create(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit, bool shows_state,
                          const Take& take) {
    if (modes_.has(StreamMode::updates)) addUpdates(listed, commit, take);
    const bool shows_values = shows_state && modes_.has(StreamMode::values) && changesValues(listed, commit);
    const bool shows_checkpoint = shows_state && modes_.has(StreamMode::checkpoints);
    if (!shows_values && !shows_checkpoint) return;
    const std::optional<Value> state = values(listed.id);
    if (!state) return;
    if (shows_values) {
        StreamEvent event = make(StreamMode::values, commit.step);
        event.data = returned(*state);
        take(std::move(event), values_index);
    }
    if (shows_checkpoint) {
        StreamEvent event = make(StreamMode::checkpoints, commit.step);
        event.data = checkpointOf(listed.id, commit, *state);
        take(std::move(event), checkpoint_index);
    }
}

// None if it was pruned meanwhile.
std::optional<Value> CommitEvents::values(CheckpointId id) {
    if (!log_.core) {
        auto snapshot =
            readCheckpoint(saver_, {.thread_id = thread_id_, .checkpoint_id = id, .checkpoint_ns = log_.ns});
        return snapshot ? std::optional(std::move(snapshot->values_as_cbor)) : std::nullopt;
    }
    std::optional<std::span<const checkpoint::ChannelPieces>> channels;
    if (lineage_) channels = lineage_->channelsOf(id);
    // One read serves all commits that the newest of the next few is read from; else it is another branch, or a
    // snapshot is between.
    for (const CheckpointId from : {rows_.empty() ? id : rows_.back().id, id}) {
        if (channels) break;
        lineage_.reset();
        auto tuple = saver_.getTuple({.log = name(), .checkpoint_id = from});
        if (!tuple) continue;
        lineage_.emplace(name(), std::move(*tuple));
        channels = lineage_->channelsOf(id);
    }
    if (!channels) return {};
    engine::State state(log_.core->schema());
    engine::restoreState(*channels, id, state);
    std::size_t bytes = 0;
    for (const auto& channel : *channels) {
        for (const auto& piece : channel.pieces) bytes += piece.value.size();
    }
    return engine::valuesOf(state, bytes);
}

}  // namespace stategraph::stream
