#include <algorithm>

#include "src/checkpoint/thread_summary.hpp"
#include "src/commit/log_writer.hpp"

// Stores the records of a log at the times and in the way that the run's durability prescribes.
namespace stategraph::engine {
namespace {

// Returns what the thread waits for after a commit, as far as the commit alone says.
ThreadOutlook outlookOf(const CommitStep& step) noexcept {
    if (!step.next.empty()) return {};
    return {step.failure ? Status::failed : Status::done, {}};
}

}  // namespace

void LogWriter::commit(const CommitStep& step) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        ++folds_;
        dropKeptRows();
        return;
    }
    record_.text.clear();
    const CheckpointId parent = stored_;
    encode(step, record_.text);
    putCommit(step.id, parent, {with_commit_.outlook ? *with_commit_.outlook : outlookOf(step)});
}

void LogWriter::putCommit(CheckpointId id, CheckpointId parent, const ThreadReport& report) {
    record_.size = record_.text.size();
    // A buffer that is too large to be kept for the next record may be given away.
    const bool may_take = record_.text.capacity() > kept_bytes_max;
    if (may_take) record_.text.copy(record_.frame.data(), record_.frame.size());
    const CommitRow row{id, parent, account_.base, record_.text, may_take ? &record_.text : nullptr};
    put(&row, report);
    head_ = id;
    stored_ = id;
    head_has_metadata_ = true;
}

// Returns the summary that the index of threads stores besides an outlook with a known status. It is empty if nothing
// else is known, or the log is a subgraph's. Its bytes are made in `room` if necessary.
std::string_view LogWriter::summaryOf(const ThreadReport& report, bool has_commit, std::string& room) const {
    if (!settings_.checkpoint_ns.empty()) return {};
    if (!report.knows_questions || !(has_commit || head_has_metadata_)) return {};
    if (settings_.metadata.empty() && report.questions.empty()) return checkpoint::plain_summary;
    room = checkpoint::writeSummary(settings_.metadata, report.questions);
    return room;
}

// Has the run know that a put was refused, whoever receives the exception.
template <class F>
auto LogWriter::asRun(F put) {
    if (settings_.refusal == nullptr) return put();
    try {
        return put();
    } catch (...) {
        settings_.refusal->notePut(std::current_exception());
        throw;
    }
}

// Each put of the log is one of these. `commit` may be null. The summary's bytes are made in `room` if necessary.
PutRequest LogWriter::requestOf(const CommitRow* commit, std::span<const WriteRow> rows,
                                std::span<const WriteRow> compared, const ThreadReport& report,
                                std::string& room) const {
    PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                       .expected_head = head_,
                       .commits = {commit, commit == nullptr ? 0U : 1U},
                       .writes = rows,
                       .sync = settings_.durability == Durability::sync,
                       .outlook = settings_.checkpoint_ns.empty() ? report.outlook : ThreadOutlook(),
                       .compared = compared};
    if (report.outlook.status != Status::in_flight) request.summary = summaryOf(report, commit != nullptr, room);
    if (commit != nullptr) {
        const bool begins_inside = head_.empty() && settings_.root != nullptr;
        request.root = begins_inside ? settings_.root->stored() : settings_.edited_at;
    }
    return request;
}

// Passes a request on in the way in which the run waits for its puts.
void LogWriter::pass(const PutRequest& request, PutQueue::Kind kind) {
    asRun([&] {
        if (settings_.is_awaited) {
            (void)queue_->add(*settings_.saver, request, kind);
        } else if (!request.commits.empty() && settings_.durability == Durability::async &&
                   settings_.saver->putIsSlow()) {
            makeQueue();
            queue_->put(*settings_.executor, *settings_.saver, request);
        } else {
            // No lock is held: a saver lets pending writes overlap, so that tasks that finish together wait for the
            // disk together.
            if (queue_) queue_->wait();
            settings_.saver->put(request);
        }
    });
    noteTold(request);
}

// If `commit` is null, only the rows that wait for a commit are stored.
void LogWriter::put(const CommitRow* commit, const ThreadReport& report) {
    std::vector<WriteRow> writes;
    for (const Row& kept : with_commit_.rows)
        writes.push_back({kept.checkpoint_id, kept.path, kept.bytes, std::string_view(kept.expected)});
    std::vector<WriteRow> compared;
    for (const Row& row : with_commit_.compared)
        compared.push_back({row.checkpoint_id, row.path, {}, std::string_view(row.expected)});
    std::string room;
    pass(requestOf(commit, writes, compared, report, room), PutQueue::Kind::commit);
    with_commit_.rows.clear();
    with_commit_.compared.clear();
    with_commit_.outlook.reset();
}

void LogWriter::putTask(const WriteRow& row, const ThreadReport& report) {
    putRows({&row, 1}, report, PutQueue::Kind::writes);
}

void LogWriter::putAnswers(std::span<const WriteRow> rows) { putRows(rows, {}, PutQueue::Kind::commit); }

void LogWriter::putTaskNow(const WriteRow& row, const ThreadReport& report) {
    if (!isAwaited() || settings_.durability == Durability::exit) return putTask(row, report);
    std::string room;
    const PutRequest request = requestOf(nullptr, {&row, 1}, {}, report, room);
    asRun([&] { queue_->wait(queue_->add(*settings_.saver, request, PutQueue::Kind::effect)); });
    noteTold(request);
}

void LogWriter::putEffectLater(const WriteRow& row, std::shared_ptr<PutQueue::Listener> listener) {
    std::string room;
    const PutRequest request = requestOf(nullptr, {&row, 1}, {}, {}, room);
    asRun([&] { queue_->addEffect(*settings_.saver, request, std::move(listener)); });
    noteTold(request);
}

// What was there before the first of several rows of a path counts, because none of them is stored yet.
void LogWriter::keepRow(const WriteRow& row) {
    keeps_rows_.store(true, std::memory_order_relaxed);
    auto& rows = kept_rows_[row.checkpoint_id];
    const auto known = rows.find(row.path);
    if (known != rows.end()) {
        known->second.bytes = row.bytes;
    } else {
        rows.emplace(row.path, Kept{std::string(row.bytes), std::string(row.expected.value_or(std::string_view()))});
    }
}

void LogWriter::putRows(std::span<const WriteRow> rows, const ThreadReport& report, PutQueue::Kind kind) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        const detail::LockGuard lock(mutex_);
        for (const WriteRow& row : rows) keepRow(row);
        return;
    }
    try {
        std::string room;
        PutRequest request = requestOf(nullptr, rows, {}, report, room);
        request.answers = kind == PutQueue::Kind::commit;
        pass(request, kind);
    } catch (...) {
        has_lost_writes_.store(true, std::memory_order_relaxed);
        throw;
    }
}

void LogWriter::tell(const ThreadReport& report, std::span<const WriteRow> compared) noexcept {
    try {
        std::string room;
        PutRequest request = requestOf(nullptr, {}, compared, report, room);
        request.sync = false;
        if (isAwaited()) {
            (void)queue_->add(*settings_.saver, request, PutQueue::Kind::hint);
        } else {
            settings_.saver->put(request);  // which somebody may refuse: the run has ended nevertheless
        }
        noteTold(request);
    } catch (...) {  // callers that list threads detect it themselves
    }
}

void LogWriter::putTaskWithCommit(const WriteRow& row, std::optional<ThreadOutlook> outlook) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) return putTask(row);
    if (outlook) with_commit_.outlook = outlook;
    with_commit_.rows.push_back({row.checkpoint_id, std::string(row.path), std::string(row.bytes),
                                 std::string(row.expected.value_or(std::string_view()))});
}

void LogWriter::compareWithCommit(CheckpointId checkpoint_id, std::string_view path, std::string_view expected) {
    if (!hasSaver()) return;
    with_commit_.compared.push_back({checkpoint_id, std::string(path), {}, std::string(expected)});
}

// With exit durability: when a superstep ends in a commit, its records are never stored, unless they belong to the
// stored checkpoint.
void LogWriter::dropKeptRows() {
    // Most supersteps keep no rows. The tasks that kept some have ended; a row of an abandoned task may wait for the
    // next commit.
    if (!keeps_rows_.load(std::memory_order_relaxed)) return;
    const detail::LockGuard lock(mutex_);
    std::erase_if(kept_rows_, [this](const auto& kept) { return kept.first != stored_; });
    keeps_rows_.store(!kept_rows_.empty(), std::memory_order_relaxed);
}

void LogWriter::flush(const CommitStep& current, const ThreadReport& report) {
    if (!hasSaver() || settings_.durability != Durability::exit) return;
    if (keeps_rows_.load(std::memory_order_relaxed)) {
        const detail::LockGuard lock(mutex_);
        for (auto& [id, rows] : kept_rows_) {
            if (id != stored_ && id != current.id) continue;
            for (auto& [path, kept] : rows)
                with_commit_.rows.push_back({id, path, std::move(kept.bytes), std::move(kept.expected)});
        }
        kept_rows_.clear();
    }
    if (folds_ > 0) {
        record_.text.clear();
        const CheckpointId parent = stored_;
        try {
            encode(current, record_.text);
            putCommit(current.id, parent, current.next.empty() ? ThreadReport{outlookOf(current)} : report);
        } catch (...) {
            snapshot_forced_ = true;  // the changes are no longer known, so the next attempt stores the whole state
            throw;
        }
        folds_ = 0;
    } else if (!with_commit_.rows.empty()) {
        put(nullptr, report);
    }
}

void LogWriter::wait() {
    if (queue_) asRun([this] { queue_->wait(); });
}

void LogWriter::waitForRoom() {
    if (queue_) asRun([this] { queue_->waitForRoom(); });
}

void LogWriter::waitForCommits() {
    if (queue_) asRun([this] { queue_->waitForCommits(); });
}

}  // namespace stategraph::engine
