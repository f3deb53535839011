#include "src/stream/visit_reader.hpp"

#include <algorithm>
#include <utility>

#include "src/commit/restore.hpp"
#include "src/value/next_id.hpp"

namespace stategraph::stream {
namespace {

// How many ids of a visit are kept at most; those of a longer visit are read again.
constexpr std::size_t visit_ids_max = 32768;
constexpr std::size_t visit_rows_at_once = 16;
constexpr std::size_t visit_page_max = 64;

}  // namespace

/// The commits of one visit, oldest first.
class VisitReader::Log {
public:
    /// `after`: only commits with a greater number.
    Log(const Visit& visit, BaseCheckpointSaver& saver, const ThreadId& thread_id, StreamModes modes,
        std::string_view outer_ns, const LedTo& led, std::int64_t after)
        : events_(visit.log, saver, thread_id, modes),
          saver_(saver),
          thread_id_(thread_id),
          outer_ns_(outer_ns),
          outer_(led.row.id),
          led_to_(led.commit),
          end_(visit.end),
          after_(after) {
        find();
    }

    CommitEvents& events() noexcept { return events_; }
    /// The next commit; null: there is none.
    const ListedCheckpoint* front() {
        for (;;) {
            if (ids_.empty() && std::exchange(is_cut_, false)) find();
            if (ids_.empty()) return nullptr;
            if (const ListedCheckpoint* const row = events_.row(ids_.front())) return row;
            readRows();
            if (const ListedCheckpoint* const row = events_.row(ids_.front())) return row;
            pop();  // it was pruned meanwhile
        }
    }
    bool isLast() const noexcept { return ids_.size() == 1 && !is_cut_; }
    void pop() noexcept {
        after_ = sequenceOf(ids_.front());
        ids_.pop_front();
    }

private:
    ListQuery query(CheckpointId before, std::size_t limit) const {
        return {.thread_id = thread_id_.toString(),
                .checkpoint_ns = events_.log().ns,
                .before = before,
                .limit = limit,
                .with_writes = true};
    }

    checkpoint::CommitFields headerOf(const ListedCheckpoint& listed) const {
        return checkpoint::readCommit({thread_id_.view(), events_.log().ns, listed.id}, listed.bytes, true);
    }
    // Whether an edit was made in the log of a task after that had ended.
    bool isLaterEdit(const checkpoint::CommitFields& commit) const noexcept {
        return end_.empty() && commit.source == Source::update && commit.id > led_to_;
    }

    // Walks back from the visit's end to its beginning, or to what was delivered.
    void find() {
        Way way{.wanted = end_};
        CheckpointId before = end_ ? detail::nextId(end_) : CheckpointId();
        for (std::size_t limit = visit_rows_at_once + 1;; limit = visit_page_max) {
            std::vector<ListedCheckpoint> page = saver_.list(query(before, limit));
            if (page.empty()) break;
            before = page.back().id;
            const bool is_over = std::any_of(page.begin(), page.end(),
                                             [&](const ListedCheckpoint& listed) { return !goOn(listed, way); });
            if (limit <= visit_rows_at_once + 1) {  // few commits: they need not be read again
                std::reverse(page.begin(), page.end());
                events_.setRows(std::move(page));
            }
            if (is_over) break;
        }
        ids_ = std::move(way.ids);
        is_cut_ = way.is_cut;
    }
    struct Way {
        CheckpointId wanted;  // none: the first that counts
        std::deque<CheckpointId> ids = {};
        bool is_cut = false;
    };
    // Takes a commit, if it is of the way. False: the way ends here.
    bool goOn(const ListedCheckpoint& listed, Way& way) const {
        if (way.wanted && listed.id > way.wanted) return true;  // of another branch
        const checkpoint::CommitFields commit = headerOf(listed);
        if (way.wanted.empty() && isLaterEdit(commit)) return true;
        if (way.wanted && listed.id != way.wanted) return false;  // it was pruned
        if (!engine::isOfVisit(commit, outer_ns_, outer_) || sequenceOf(listed.id) <= after_) return false;
        if (way.ids.size() == visit_ids_max) {
            way.ids.pop_back();
            way.is_cut = true;
        }
        way.ids.push_front(listed.id);
        way.wanted = commit.parent;
        return !way.wanted.empty();
    }

    void readRows() {
        const std::size_t count = std::min(ids_.size(), visit_rows_at_once);
        std::vector<ListedCheckpoint> rows = saver_.list(query(detail::nextId(ids_[count - 1]), count + 1));
        std::reverse(rows.begin(), rows.end());
        events_.setRows(std::move(rows));
    }

    CommitEvents events_;
    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    std::string outer_ns_;
    CheckpointId outer_;   // the checkpoint of the graph around whose task the visit is
    CheckpointId led_to_;  // the commit that ended that task's superstep
    CheckpointId end_;
    std::int64_t after_;
    std::deque<CheckpointId> ids_;
    bool is_cut_ = false;  // newer ones than those follow
};

/// One superstep of a graph, with the visit whose commits come now.
struct VisitReader::Level {
    const CommitEvents* around = nullptr;
    const LedTo* led = nullptr;
    std::vector<Visit> visits;
    std::size_t at = 0;
    std::optional<Log> log;
    bool has_entered = false;  // what is nested in the superstep before the log's next commit has been read

    const Visit& visit() const noexcept { return visits[at]; }
};

VisitReader::VisitReader(BaseCheckpointSaver& saver, const ThreadId& thread_id, StreamModes modes)
    : saver_(saver), thread_id_(thread_id), modes_(modes) {}
VisitReader::~VisitReader() = default;

void VisitReader::end() noexcept { levels_.clear(); }

void VisitReader::push(const CommitEvents& around, const LedTo& led, const checkpoint::CommitFields& commit) {
    std::vector<Visit> visits = findVisits(around, led, commit, *calls_);
    if (visits.empty()) return;
    auto level = std::make_unique<Level>();
    level->around = &around;
    level->led = &led;
    level->visits = std::move(visits);
    levels_.push_back(std::move(level));
}

void VisitReader::begin(const CommitEvents& root, const LedTo& led, const checkpoint::CommitFields& commit,
                        const StreamPosition& after) {
    levels_.clear();
    told_ = after;
    sequence_ = sequenceOf(commit.id);
    superstep_ = sequenceOf(led.row.id);
    calls_ = std::make_unique<EndedCalls>(saver_, thread_id_, led.row);
    push(root, led, commit);
}

// The step inside the level under way of where the reader began; null: that was elsewhere.
const StreamPosition::Inside* VisitReader::begunAt() const {
    const auto way = told_.inside();
    const std::size_t depth = levels_.size() - 1;
    if (told_.sequence != sequence_ || way.size() <= depth) return nullptr;
    for (std::size_t i = 0; i < depth; ++i) {
        StreamPosition::Inside step = levels_[i]->visit().place;
        step.sequence = sequenceOf(levels_[i]->log->front()->id);
        if (way[i] != step) return nullptr;
    }
    return &way[depth];
}

// Opens the log of the level's visit, after what was delivered of it. False: all of it was.
bool VisitReader::open(Level& level) {
    const Visit& visit = level.visit();
    std::int64_t after = 0;
    if (const StreamPosition::Inside* const begun = begunAt()) {
        const auto place = [](const StreamPosition::Inside& step) { return std::pair(step.task, step.visit); };
        if (place(visit.place) < place(*begun)) return false;
        if (place(visit.place) == place(*begun)) after = begun->sequence - 1;  // it may have more events
    }
    level.log.emplace(visit, saver_, thread_id_, modes_, level.around->log().ns, *level.led, after);
    return true;
}

// Goes into the superstep that led to the log's next commit.
void VisitReader::enter(Level& level) {
    if (levels_.size() == StreamPosition::depth_max) return;
    CommitEvents& events = level.log->events();
    const ListedCheckpoint& listed = *level.log->front();
    const auto commit = checkpoint::readCommit({thread_id_.view(), events.log().ns, listed.id}, listed.bytes);
    if (const LedTo* const led = events.ledTo(listed, commit)) push(events, *led, commit);
}

// Reads a commit of the innermost log.
StreamPosition VisitReader::place(std::int64_t sequence) const {
    std::vector<StreamPosition::Inside> way;
    way.reserve(levels_.size());
    for (const auto& level : levels_) {
        StreamPosition::Inside step = level->visit().place;
        step.sequence = level == levels_.back() ? sequence : sequenceOf(level->log->front()->id);
        way.push_back(step);
    }
    return {sequence_, std::move(way)};
}

void VisitReader::create(Level& level, bool shows_state, std::deque<Durable>& out) {
    CommitEvents& events = level.log->events();
    const ListedCheckpoint& listed = *level.log->front();
    const auto commit = checkpoint::readCommit({thread_id_.view(), events.log().ns, listed.id}, listed.bytes);
    StreamPosition at = place(sequenceOf(listed.id));
    events.create(listed, commit, shows_state, [&](StreamEvent&& event, std::uint32_t index) {
        at.index = index;
        if (at <= told_) return;
        HubEvent told;
        static_cast<StreamEvent&>(told) = std::move(event);
        told.time = timeOf(listed.id);
        told.position = at;
        told.durable = true;
        out.push_back({std::move(told), sequence_, superstep_});
    });
}

std::optional<StreamPosition> VisitReader::next(std::deque<Durable>& out, bool shows_state, bool newest_state) {
    while (!levels_.empty()) {
        Level& level = *levels_.back();
        if (level.at == level.visits.size()) {
            levels_.pop_back();
            continue;
        }
        if ((!level.log && !open(level)) || level.log->front() == nullptr) {
            level.log.reset();
            ++level.at;
            continue;
        }
        if (!level.has_entered) {
            const std::size_t depth = levels_.size();
            enter(level);
            level.has_entered = true;
            if (levels_.size() > depth) continue;
        }
        std::deque<Durable> events;
        create(level, shows_state && (!newest_state || level.log->isLast()), events);
        const StreamPosition told = place(sequenceOf(level.log->front()->id));
        for (Durable& event : events) out.push_back(std::move(event));
        level.log->pop();
        level.has_entered = false;
        return told;
    }
    return {};
}

}  // namespace stategraph::stream
