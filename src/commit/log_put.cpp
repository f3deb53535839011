#include <algorithm>

#include "checkpoint/thread_summary.hpp"
#include "src/commit/log_writer.hpp"

// Stores the records of a log at the times and in the way that the run's durability prescribes.
namespace stategraph::engine {
namespace {

// Returns what the thread waits for after a commit, as far as the commit alone says.
ThreadOutlook outlookOf(const CommitStep& step) noexcept {
    return {step.next.empty() ? ThreadStatus::finished : ThreadStatus::unknown, {}};
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

// If `commit` is null, only the rows that wait for a commit are stored.
void LogWriter::put(const CommitRow* commit, const ThreadReport& report) {
    std::vector<WriteRow> writes;
    for (const Row& kept : with_commit_.rows) writes.push_back({kept.checkpoint_id, kept.path, kept.bytes});
    const bool is_root = settings_.checkpoint_ns.empty();
    std::string room;
    std::string_view summary;
    if (report.outlook.status != ThreadStatus::unknown) summary = summaryOf(report, commit != nullptr, room);
    const PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                             .expected_head = head_,
                             .commits = {commit, commit == nullptr ? 0U : 1U},
                             .writes = writes,
                             .sync = settings_.durability == Durability::sync,
                             .outlook = is_root ? report.outlook : ThreadOutlook(),
                             .summary = summary};
    putRequest(request);
    told_.store(request.outlook.status, std::memory_order_relaxed);
    with_commit_.rows.clear();
    with_commit_.outlook.reset();
}

void LogWriter::putRequest(const PutRequest& request) {
    if (settings_.is_awaited) {
        queue_->add(*settings_.saver, request, PutQueue::Kind::commit);
    } else if (settings_.durability == Durability::async && settings_.saver->putIsSlow()) {
        makeQueue();
        queue_->put(*settings_.executor, *settings_.saver, request);
    } else {
        settings_.saver->put(request);
    }
}

void LogWriter::putTask(CheckpointId checkpoint_id, std::string_view path, std::string_view record,
                        const ThreadReport& report) {
    const WriteRow row{checkpoint_id, path, record};
    putTasks({&row, 1}, report);
}

void LogWriter::putTask(CheckpointId checkpoint_id, std::string_view path, std::string&& record,
                        const ThreadReport& report) {
    if (!hasSaver()) return;
    if (settings_.durability != Durability::exit) return putTask(checkpoint_id, path, std::string_view(record), report);
    const detail::LockGuard lock(mutex_);
    keepRow(checkpoint_id, path, std::move(record));
}

void LogWriter::putTaskNow(CheckpointId checkpoint_id, std::string_view path, std::string&& record,
                           const ThreadReport& report) {
    if (!isAwaited() || settings_.durability == Durability::exit)
        return putTask(checkpoint_id, path, std::move(record), report);
    std::string room;
    std::string_view summary;
    if (report.outlook.status != ThreadStatus::unknown) summary = summaryOf(report, false, room);
    const WriteRow row{checkpoint_id, path, record};
    const PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                             .expected_head = head_,
                             .commits = {},
                             .writes = {&row, 1},
                             .sync = settings_.durability == Durability::sync,
                             .outlook = report.outlook,
                             .summary = summary};
    queue_->wait(queue_->add(*settings_.saver, request, PutQueue::Kind::effect));
    told_.store(report.outlook.status, std::memory_order_relaxed);
}

void LogWriter::putEffectLater(CheckpointId checkpoint_id, std::string_view path, std::string_view record,
                               std::shared_ptr<PutQueue::Listener> listener) {
    const WriteRow row{checkpoint_id, path, record};
    const PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                             .expected_head = head_,
                             .commits = {},
                             .writes = {&row, 1},
                             .sync = settings_.durability == Durability::sync};
    queue_->addEffect(*settings_.saver, request, std::move(listener));
    told_.store(ThreadStatus::unknown, std::memory_order_relaxed);
}

void LogWriter::keepRow(CheckpointId checkpoint_id, std::string_view path, std::string record) {
    keeps_rows_.store(true, std::memory_order_relaxed);
    kept_rows_[checkpoint_id].insert_or_assign(std::string(path), std::move(record));
}

void LogWriter::putTasks(std::span<const WriteRow> rows, const ThreadReport& report) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        const detail::LockGuard lock(mutex_);
        for (const WriteRow& row : rows) keepRow(row.checkpoint_id, row.path, std::string(row.bytes));
        return;
    }
    if (queue_ && !isAwaited()) queue_->wait();
    std::string room;
    std::string_view summary;
    if (report.outlook.status != ThreadStatus::unknown) summary = summaryOf(report, false, room);
    const PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                             .expected_head = head_,
                             .commits = {},
                             .writes = rows,
                             .sync = settings_.durability == Durability::sync,
                             .outlook = report.outlook,
                             .summary = summary};
    try {
        if (isAwaited()) {
            // What depends on a condition is not stored if that does not hold.
            const bool has_condition =
                std::ranges::any_of(rows, [](const WriteRow& row) { return row.expected.has_value(); });
            queue_->add(*settings_.saver, request, has_condition ? PutQueue::Kind::commit : PutQueue::Kind::writes);
        } else {
            // No lock is held: a saver lets pending writes overlap, so that tasks that finish together wait for the
            // disk together.
            settings_.saver->put(request);
        }
    } catch (...) {
        has_lost_writes_.store(true, std::memory_order_relaxed);
        throw;
    }
    told_.store(report.outlook.status, std::memory_order_relaxed);
}

void LogWriter::tell(const ThreadReport& report, std::span<const WriteRow> compared) noexcept {
    try {
        std::string room;
        const PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                                 .expected_head = head_,
                                 .commits = {},
                                 .writes = {},
                                 .outlook = report.outlook,
                                 .compared = compared,
                                 .summary = summaryOf(report, false, room)};
        if (isAwaited()) {
            queue_->add(*settings_.saver, request, PutQueue::Kind::hint);
        } else {
            settings_.saver->put(request);
        }
        told_.store(report.outlook.status, std::memory_order_relaxed);
    } catch (...) {  // callers that list threads detect it themselves
    }
}

void LogWriter::putTaskWithCommit(CheckpointId checkpoint_id, std::string path, std::string record,
                                  std::optional<ThreadOutlook> outlook) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        putTask(checkpoint_id, path, std::move(record));
    } else {
        if (outlook) with_commit_.outlook = outlook;
        with_commit_.rows.push_back({checkpoint_id, std::move(path), std::move(record)});
    }
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
            for (auto& [path, bytes] : rows) with_commit_.rows.push_back({id, path, std::move(bytes)});
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
    if (queue_) queue_->wait();
}

void LogWriter::waitForRoom() {
    if (queue_) queue_->waitForRoom();
}

void LogWriter::waitForCommits() {
    if (queue_) queue_->waitForCommits();
}

}  // namespace stategraph::engine
