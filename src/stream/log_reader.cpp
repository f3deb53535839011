#include "src/stream/log_reader.hpp"

#include <algorithm>

#include "src/value/interrupts.hpp"
#include "src/value/next_id.hpp"

// Follows the commits of a thread's root, with those of graphs inside.
namespace stategraph::stream {
namespace {

// The largest number of ids that is kept; a reader that is further back reads the log again.
constexpr std::size_t ids_max = 32768;
constexpr std::size_t rows_at_once = 16;
constexpr std::size_t page_min = 8;
constexpr std::size_t page_max = 64;

constexpr StreamModes durable_modes = {StreamMode::updates, StreamMode::values, StreamMode::checkpoints};

}  // namespace

LogReader::LogReader(std::shared_ptr<const detail::Core> core, BaseCheckpointSaver& saver, const ThreadId& thread_id,
                     const ReadEvents& reads, std::optional<StreamPosition> from)
    : saver_(saver),
      thread_id_(thread_id),
      reads_(reads),
      events_({std::move(core), ""}, saver, thread_id, reads.modes),
      visits_(saver, thread_id, reads.modes) {
    reads_.subgraphs = reads.subgraphs && overlap(reads.modes, durable_modes);
    if (from) {
        told_ = *std::move(from);
        return;
    }
    const auto head = saver_.list({.thread_id = thread_id_.toString(), .checkpoint_ns = "", .limit = 1});
    if (!head.empty()) told_ = StreamPosition(head.front().id);
}

bool LogReader::isTold(CheckpointId id) const noexcept {
    const std::int64_t sequence = sequenceOf(id);
    return sequence < told_.sequence ||
           (sequence == told_.sequence && told_.inside().empty() && told_.index == StreamPosition::whole);
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

// If it is not there, reads the next commits and the one before them, with its tasks' records as they were in the end.
const ListedCheckpoint* LogReader::row(CheckpointId id) {
    if (const ListedCheckpoint* const found = events_.row(id)) return found;
    const std::size_t count = std::min(ids_.size(), rows_at_once);
    std::vector<ListedCheckpoint> rows = saver_.list({.thread_id = thread_id_.toString(),
                                                      .checkpoint_ns = "",
                                                      .before = detail::nextId(ids_[count - 1]),
                                                      .limit = count + 1,
                                                      .with_writes = true});
    std::reverse(rows.begin(), rows.end());
    visits_.end();
    visits_of_ = {};
    events_.setRows(std::move(rows));
    return events_.row(id);
}

checkpoint::CommitFields LogReader::read(const ListedCheckpoint& listed) const {
    return checkpoint::readCommit({thread_id_.view(), "", listed.id}, listed.bytes);
}

std::optional<StreamPosition> LogReader::next(std::deque<Durable>& out, bool newest_only) {
    if (ids_.empty()) {
        try {
            findIds();
        } catch (...) {
            ids_.clear();
            throw;
        }
        visits_.end();
        visits_of_ = {};
        events_.setRows({});
    }
    if (ids_.empty()) {
        events_.forgetStates();
        return {};
    }
    const CheckpointId id = ids_.front();
    if (const ListedCheckpoint* const listed = row(id)) {  // else it was pruned meanwhile
        const bool shows_state = !newest_only || ids_.size() == 1;
        if (reads_.subgraphs) {
            if (auto told = nextInside(*listed, out, shows_state, newest_only)) return told_ = *std::move(told);
        }
        std::deque<Durable> events;
        create(*listed, shows_state, events);
        for (Durable& event : events) out.push_back(std::move(event));
    }
    told_ = StreamPosition(id);
    ids_.pop_front();
    return told_;
}

std::optional<StreamPosition> LogReader::nextInside(const ListedCheckpoint& listed, std::deque<Durable>& out,
                                                    bool shows_state, bool newest_only) {
    if (visits_of_ != listed.id) {
        visits_.end();
        const checkpoint::CommitFields commit = read(listed);
        // At a place among the root's own events of the commit, those of the graphs inside have been delivered.
        const bool is_told = told_.sequence == sequenceOf(listed.id) && told_.inside().empty();
        if (const LedTo* const led = is_told ? nullptr : events_.ledTo(listed, commit))
            visits_.begin(events_, *led, commit, told_);
        visits_of_ = listed.id;
    }
    return visits_.next(out, shows_state, newest_only);
}

void LogReader::create(const ListedCheckpoint& listed, bool shows_state, std::deque<Durable>& out) {
    events_.create(listed, read(listed), shows_state, [&](StreamEvent&& event, std::uint32_t index) {
        const StreamPosition position(sequenceOf(listed.id), index);
        if (position <= told_) return;
        HubEvent told;
        static_cast<StreamEvent&>(told) = std::move(event);
        told.time = timeOf(listed.id);
        told.position = position;
        told.durable = true;
        out.push_back({std::move(told), position.sequence});
    });
}

void LogReader::openQuestions(std::deque<Durable>& out) {
    if (!reads_.modes.has(StreamMode::updates) && !reads_.modes.has(StreamMode::values)) return;
    const auto page =
        saver_.list({.thread_id = thread_id_.toString(), .checkpoint_ns = "", .limit = 1, .with_writes = true});
    if (page.empty() || !isTold(page.front().id)) return;
    const ListedCheckpoint& head = page.front();
    if (asked_at_ != head.id) asked_.clear();
    asked_at_ = head.id;
    if (head.writes.empty()) return;
    const checkpoint::CommitFields commit = read(head);
    const engine::Records records = engine::readRecords(log(), head.id, head.writes);
    const SnapshotData snapshot =
        engine::describe(log(), commit, events_.dueTasks(head.id, commit, records, true), true, {});
    for (const TaskSnapshot& task : snapshot.tasks) {
        std::vector<Interrupt> fresh;
        for (const Interrupt& open : task.open_interrupts) {
            if (asked_.emplace(open.id, open.index).second) fresh.push_back(open);
        }
        if (fresh.empty()) continue;
        HubEvent event;
        event.mode = reads_.modes.has(StreamMode::updates) ? StreamMode::updates : StreamMode::values;
        event.node = task.name;
        event.step = commit.step + 1;
        event.data = engine::questionsAsData(fresh);
        event.interrupts = std::move(fresh);
        event.time = timeOf(head.id);
        event.position = StreamPosition(head.id);
        const auto next_sequence = event.position.sequence + 1;
        out.push_back({std::move(event), next_sequence});
    }
}

}  // namespace stategraph::stream
