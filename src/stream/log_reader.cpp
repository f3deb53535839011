#include "src/stream/log_reader.hpp"

#include <algorithm>
#include <chrono>

#include <stategraph/error.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "src/commit/restore.hpp"
#include "src/history/read_called.hpp"
#include "src/stream/events.hpp"
#include "src/value/build_value.hpp"
#include "src/value/interrupts.hpp"
#include "src/value/next_id.hpp"

// Creates the events of supersteps from the log.
namespace stategraph::stream {
namespace {

constexpr std::string_view start_name = "__start__";
// The largest number of ids that is kept; a reader that is further back reads the log again.
constexpr std::size_t ids_max = 32768;
constexpr std::size_t rows_at_once = 16;
constexpr std::size_t page_min = 8;
constexpr std::size_t page_max = 64;
// Values come after the updates, however many those are.
constexpr std::uint32_t values_index = 1U << 30U;
constexpr std::uint32_t checkpoint_index = values_index + 1;

// Returns the time at which a checkpoint was created, to the microsecond.
std::chrono::system_clock::time_point timeOf(CheckpointId id) noexcept {
    const std::int64_t part_us = (sequenceOf(id) & 0xFFF) * 1000 / 4096;
    return id.time() + std::chrono::microseconds(part_us);
}

}  // namespace

std::int64_t sequenceOf(CheckpointId id) noexcept {
    return static_cast<std::int64_t>((id.high() >> 16U) << 12U | (id.high() & 0xFFFU));
}

LogReader::LogReader(std::shared_ptr<const detail::Core> core, BaseCheckpointSaver& saver, const ThreadId& thread_id,
                     StreamModes modes, std::optional<StreamPosition> from)
    : core_(std::move(core)), saver_(saver), thread_id_(thread_id), modes_(modes) {
    if (from) {
        told_ = *from;
        return;
    }
    const auto head = saver_.list({.thread_id = thread_id_.toString(), .checkpoint_ns = "", .limit = 1});
    if (!head.empty()) told_ = StreamPosition(head.front().id);
}

bool LogReader::isTold(CheckpointId id) const noexcept {
    const std::int64_t sequence = sequenceOf(id);
    return sequence < told_.sequence || (sequence == told_.sequence && told_.index == StreamPosition::whole);
}

// Walks back to the position of the subscriber, because listings begin at the newest commit.
void LogReader::findIds() {
    ListQuery query{.thread_id = thread_id_.toString(), .checkpoint_ns = "", .limit = page_min};
    for (;;) {
        const std::vector<ListedCheckpoint> page = saver_.list(query);
        for (const ListedCheckpoint& listed : page) {
            if (isTold(listed.id)) return;
            if (ids_.size() == ids_max) ids_.pop_back();  // drops the newest so far
            ids_.push_front(listed.id);
        }
        if (page.size() < *query.limit) return;
        query.before = page.back().id;
        query.limit = std::min(2 * *query.limit, page_max);
    }
}

// Reads the next commits and the one before them, with the final records of its tasks.
void LogReader::readRows() {
    const std::size_t count = std::min(ids_.size(), rows_at_once);
    rows_ = saver_.list({.thread_id = thread_id_.toString(),
                         .checkpoint_ns = "",
                         .before = detail::nextId(ids_[count - 1]),
                         .limit = count + 1,
                         .with_writes = true});
    std::reverse(rows_.begin(), rows_.end());
}

const ListedCheckpoint* LogReader::row(CheckpointId id) {
    const auto found =
        std::find_if(rows_.begin(), rows_.end(), [&](const ListedCheckpoint& listed) { return listed.id == id; });
    return found == rows_.end() ? nullptr : &*found;
}

std::optional<std::int64_t> LogReader::next(std::deque<Durable>& out, bool newest_only) {
    if (ids_.empty()) {
        try {
            findIds();
        } catch (...) {
            ids_.clear();
            throw;
        }
        rows_.clear();
    }
    if (ids_.empty()) {
        lineage_.reset();
        return {};
    }
    const CheckpointId id = ids_.front();
    const ListedCheckpoint* listed = row(id);
    if (listed == nullptr) {
        readRows();
        listed = row(id);
    }
    std::deque<Durable> events;
    if (listed != nullptr) {  // otherwise it was pruned meanwhile
        const checkpoint::CommitFields commit = checkpoint::readCommit({thread_id_.view(), "", id}, listed->bytes);
        if (modes_.has(StreamMode::updates)) addUpdates(*listed, commit, events);
        const bool shows = !newest_only || ids_.size() == 1;
        const bool shows_values = shows && modes_.has(StreamMode::values) && changesValues(*listed, commit);
        std::optional<Value> state;
        if (shows_values || (shows && modes_.has(StreamMode::checkpoints))) state = values(id);
        if (state && shows_values) {
            StreamEvent event{.mode = StreamMode::values,
                              .ns = {},
                              .node = {},
                              .step = commit.step,
                              .data = *state,
                              .interrupts = {},
                              .time = {}};
            add(std::move(event), id, values_index, events);
        }
        if (state && modes_.has(StreamMode::checkpoints)) {
            const SnapshotData snapshot = engine::describe(log(), commit, dueTasks(id, commit, {}, false), false, {});
            StreamEvent event{.mode = StreamMode::checkpoints,
                              .ns = {},
                              .node = {},
                              .step = commit.step,
                              .data = {},
                              .interrupts = {},
                              .time = {}};
            engine::CheckpointEvent data{.log = log(),
                                         .id = id,
                                         .parent = commit.parent,
                                         .source = commit.source,
                                         .step = commit.step,
                                         .metadata = commit.metadata,
                                         .tasks = {}};
            for (const TaskSnapshot& task : snapshot.tasks) data.tasks.emplace_back(task.id, task.name);
            event.data = engine::checkpointData(data, [&](Encoder& to) { to.raw(state->bytes()); });
            add(std::move(event), id, checkpoint_index, events);
        }
    }
    for (Durable& event : events) out.push_back(std::move(event));
    told_ = StreamPosition(id);
    ids_.pop_front();
    return told_.sequence;
}

void LogReader::add(StreamEvent event, CheckpointId id, std::uint32_t index, std::deque<Durable>& out) const {
    const StreamPosition position(sequenceOf(id), index);
    if (position <= told_) return;
    HubEvent told;
    static_cast<StreamEvent&>(told) = std::move(event);
    told.time = timeOf(id);
    told.position = position;
    told.durable = true;
    out.push_back({std::move(told), position.sequence});
}

std::optional<ListedCheckpoint> LogReader::parentRow(CheckpointId id) const {
    const auto found =
        std::find_if(rows_.begin(), rows_.end(), [&](const ListedCheckpoint& listed) { return listed.id == id; });
    if (found != rows_.end()) return *found;
    auto tuple = saver_.getTuple({.log = log(), .checkpoint_id = id});  // the commit begins a branch
    if (!tuple) return {};
    return ListedCheckpoint{thread_id_.toString(), "", id, std::move(tuple->commits.back().bytes),
                            std::move(tuple->writes)};
}

std::vector<engine::DueTask> LogReader::dueTasks(CheckpointId id, const checkpoint::CommitFields& commit,
                                                 const engine::Records& records, bool latest) const {
    if (core_) return engine::dueTasks(core_->topology(), commit, records, latest);
    auto due = engine::calledTasks(commit, records, latest);
    // Each version of a graph begins with a commit that names that version.
    if (!names_ || commit.graph) names_.emplace(saver_, Config{.thread_id = thread_id_, .checkpoint_id = id});
    names_->show(due);
    return due;
}

// Returns the tasks whose superstep led to a commit, with what they wrote. That is in their records or, if there was a
// single task, in the commit. Returns none if it is not known.
std::vector<TaskSnapshot> LogReader::tasksBefore(const ListedCheckpoint& listed,
                                                 const checkpoint::CommitFields& commit) const {
    if (commit.source != Source::loop || commit.folds != 1 || !commit.parent) return {};
    const std::optional<ListedCheckpoint> parent = parentRow(commit.parent);
    if (!parent) return {};
    const checkpoint::CommitFields before = checkpoint::readCommit({thread_id_.view(), "", parent->id}, parent->bytes);
    const engine::Records records = engine::readRecords(log(), parent->id, parent->writes);
    return engine::describe(log(), before, dueTasks(parent->id, before, records, true), true,
                            StoredCommit{listed.id, listed.bytes})
        .tasks;
}

// Returns whether the superstep that led to a commit wrote something. Operations alone do not tell if they hold the
// whole state, or if channels ended.
bool LogReader::changesValues(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit) const {
    if (commit.input) return false;  // input that START has yet to take is no change
    const auto operations = checkpoint::readOperations(commit.operations);
    const auto ends = [](const checkpoint::LoggedOp& operation) { return operation.op == checkpoint::LogOp::clear; };
    const bool only_ends = std::all_of(operations.begin(), operations.end(), ends);
    if (commit.base != commit.id && !only_ends) return true;
    const std::vector<TaskSnapshot> ran = tasksBefore(listed, commit);
    const bool is_known =
        !ran.empty() && std::all_of(ran.begin(), ran.end(), [](const TaskSnapshot& task) { return task.finished; });
    if (!is_known) return !operations.empty();
    return std::any_of(ran.begin(), ran.end(), [](const TaskSnapshot& task) { return !task.result.isNull(); });
}

void LogReader::addUpdates(const ListedCheckpoint& listed, const checkpoint::CommitFields& commit,
                           std::deque<Durable>& out) {
    std::uint32_t index = 0;
    for (const TaskSnapshot& task : tasksBefore(listed, commit)) {
        if (task.name == start_name || !task.finished) continue;
        StreamEvent event{.mode = StreamMode::updates,
                          .ns = {},
                          .node = task.name,
                          .step = commit.step,
                          .data = {},
                          .interrupts = {},
                          .time = {}};
        event.data = engine::buildValue([&](Encoder& to) {
            to.map(1);
            to.text(task.name);
            if (task.result.isNull()) {
                to.map(0);
            } else {
                to.raw(task.result.bytes());
            }
        });
        add(std::move(event), listed.id, index++, out);
    }
}

// Returns none if the checkpoint was pruned meanwhile.
std::optional<Value> LogReader::values(CheckpointId id) {
    if (!core_) {
        auto snapshot = readCheckpoint(saver_, {.thread_id = thread_id_, .checkpoint_id = id});
        return snapshot ? std::optional(std::move(snapshot->values_as_cbor)) : std::nullopt;
    }
    std::optional<std::span<const checkpoint::ChannelPieces>> channels;
    if (lineage_) channels = lineage_->channelsOf(id);
    // One read serves all commits from which the newest of the next few is read. The others belong to another branch,
    // or a snapshot lies between.
    for (const CheckpointId from : {rows_.empty() ? id : rows_.back().id, id}) {
        if (channels) break;
        lineage_.reset();
        auto tuple = saver_.getTuple({.log = log(), .checkpoint_id = from});
        if (!tuple) continue;
        lineage_.emplace(log(), std::move(*tuple));
        channels = lineage_->channelsOf(id);
    }
    if (!channels) return {};
    engine::State state(core_->schema());
    engine::restoreState(*channels, id, state);
    std::size_t bytes = 0;
    for (const auto& channel : *channels) {
        for (const auto& piece : channel.pieces) bytes += piece.value.size();
    }
    return engine::valuesOf(state, bytes);
}

void LogReader::openQuestions(std::deque<Durable>& out) {
    if (!modes_.has(StreamMode::updates) && !modes_.has(StreamMode::values)) return;
    const auto page =
        saver_.list({.thread_id = thread_id_.toString(), .checkpoint_ns = "", .limit = 1, .with_writes = true});
    if (page.empty() || !isTold(page.front().id)) return;
    const ListedCheckpoint& head = page.front();
    if (asked_at_ != head.id) asked_.clear();
    asked_at_ = head.id;
    if (head.writes.empty()) return;
    const checkpoint::CommitFields commit = checkpoint::readCommit({thread_id_.view(), "", head.id}, head.bytes);
    const engine::Records records = engine::readRecords(log(), head.id, head.writes);
    const SnapshotData snapshot = engine::describe(log(), commit, dueTasks(head.id, commit, records, true), true, {});
    for (const TaskSnapshot& task : snapshot.tasks) {
        std::vector<Interrupt> fresh;
        for (const Interrupt& open : task.open_interrupts) {
            if (asked_.emplace(open.id, open.index).second) fresh.push_back(open);
        }
        if (fresh.empty()) continue;
        HubEvent event;
        event.mode = modes_.has(StreamMode::updates) ? StreamMode::updates : StreamMode::values;
        event.node = task.name;
        event.step = commit.step + 1;
        event.data = engine::questionsAsData(fresh);
        event.interrupts = std::move(fresh);
        event.time = timeOf(head.id);
        event.position = StreamPosition(head.id);
        out.push_back({std::move(event), event.position.sequence + 1});
    }
}

}  // namespace stategraph::stream
