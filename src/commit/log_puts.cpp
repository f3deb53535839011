#include "src/commit/log_writer.hpp"

// What is given to the saver, and when: commits, and the records of tasks.
namespace stategraph::engine {

void LogWriter::commit(const CommitStep& step) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        ++folds_;
        dropKeptRows();
        return;
    }
    record_.clear();
    const CheckpointId parent = stored_;
    encode(step, record_);
    putCommit(step.id, parent, !step.next.empty());
}

void LogWriter::putCommit(CheckpointId id, CheckpointId parent, bool has_due) {
    record_bytes_ = record_.size();
    // What is too large to be kept for the next record.
    const bool may_take = record_.capacity() > kept_bytes_max;
    if (may_take) record_.copy(record_frame_.data(), record_frame_.size());
    const CommitRow row{id, parent, base_, record_, may_take ? &record_ : nullptr};
    put(&row, has_due);
    head_ = id;
    stored_ = id;
}

// Null: only the rows that wait for a commit.
void LogWriter::put(const CommitRow* commit, bool has_due) {
    std::vector<WriteRow> writes;
    bool is_finished = !has_due && settings_.checkpoint_ns.empty();
    for (const Row& kept : rows_with_commit_) {
        writes.push_back({kept.checkpoint_id, kept.path, kept.bytes});
        is_finished = is_finished && (commit == nullptr || kept.checkpoint_id != commit->id);
    }
    const PutRequest request{.log = {settings_.thread_id, settings_.checkpoint_ns},
                             .expected_head = head_,
                             .commits = {commit, commit == nullptr ? 0U : 1U},
                             .writes = writes,
                             .sync = settings_.durability == Durability::sync,
                             .leaves_finished = is_finished};
    if (settings_.durability == Durability::async && settings_.saver->putIsSlow()) {
        if (!queue_) queue_.emplace();
        queue_->put(*settings_.executor, *settings_.saver, request);
    } else {
        settings_.saver->put(request);
    }
    rows_with_commit_.clear();
}

void LogWriter::putTask(CheckpointId checkpoint_id, std::string_view path, std::string_view record) {
    const WriteRow row{checkpoint_id, path, record};
    putTasks({&row, 1});
}

void LogWriter::putTask(CheckpointId checkpoint_id, std::string_view path, std::string&& record) {
    if (!hasSaver()) return;
    if (settings_.durability != Durability::exit) return putTask(checkpoint_id, path, std::string_view(record));
    const detail::LockGuard lock(mutex_);
    keepRow(checkpoint_id, path, std::move(record));
}

void LogWriter::keepRow(CheckpointId checkpoint_id, std::string_view path, std::string record) {
    keeps_rows_.store(true, std::memory_order_relaxed);
    kept_rows_[checkpoint_id].insert_or_assign(std::string(path), std::move(record));
}

void LogWriter::putTasks(std::span<const WriteRow> rows) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        const detail::LockGuard lock(mutex_);
        for (const WriteRow& row : rows) keepRow(row.checkpoint_id, row.path, std::string(row.bytes));
        return;
    }
    if (queue_) queue_->wait();
    // Under no lock: a saver lets pending writes overlap, so that tasks that finish together wait for the disk
    // together.
    const bool is_sync = settings_.durability == Durability::sync;
    settings_.saver->putWrites({settings_.thread_id, settings_.checkpoint_ns}, head_, rows, is_sync);
}

void LogWriter::putTaskWithCommit(CheckpointId checkpoint_id, std::string path, std::string record) {
    if (!hasSaver()) return;
    if (settings_.durability == Durability::exit) {
        putTask(checkpoint_id, path, std::move(record));
    } else {
        rows_with_commit_.push_back({checkpoint_id, std::move(path), std::move(record)});
    }
}

// With exit, at a commit: the records of the superstep that it ends are never stored, unless they belong to the stored
// checkpoint.
void LogWriter::dropKeptRows() {
    // Most supersteps keep no rows. Tasks that kept some have ended; a row of an abandoned one may wait for the next
    // commit.
    if (!keeps_rows_.load(std::memory_order_relaxed)) return;
    const detail::LockGuard lock(mutex_);
    std::erase_if(kept_rows_, [this](const auto& kept) { return kept.first != stored_; });
    keeps_rows_.store(!kept_rows_.empty(), std::memory_order_relaxed);
}

void LogWriter::flush(const CommitStep& current) {
    if (!hasSaver() || settings_.durability != Durability::exit) return;
    if (keeps_rows_.load(std::memory_order_relaxed)) {
        const detail::LockGuard lock(mutex_);
        for (auto& [id, rows] : kept_rows_) {
            if (id != stored_ && id != current.id) continue;
            for (auto& [path, bytes] : rows) rows_with_commit_.push_back({id, path, std::move(bytes)});
        }
        kept_rows_.clear();
    }
    if (folds_ > 0) {
        record_.clear();
        const CheckpointId parent = stored_;
        try {
            encode(current, record_);
            putCommit(current.id, parent, !current.next.empty());
        } catch (...) {
            snapshot_forced_ = true;  // what has changed is forgotten, so the next attempt stores the whole state
            throw;
        }
        folds_ = 0;
    } else if (!rows_with_commit_.empty()) {
        put(nullptr, true);
    }
}

void LogWriter::wait() {
    if (queue_) queue_->wait();
}

}  // namespace stategraph::engine
