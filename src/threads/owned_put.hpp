#pragma once
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/saver.hpp>

namespace stategraph::engine {

/// A request with its own bytes, to which more pending writes, or later commits, can be added.
class OwnedPut {
public:
    explicit OwnedPut(const PutRequest& request)
        : thread_id_(request.log.thread_id),
          checkpoint_ns_(request.log.checkpoint_ns),
          summary_(request.summary),
          request_{.log = {thread_id_, checkpoint_ns_},
                   .expected_head = request.expected_head,
                   .commits = {},
                   .writes = {},
                   .sync = request.sync,
                   .outlook = request.outlook,
                   .compared = {},
                   .summary = summary_} {
        for (const CommitRow& row : request.commits) {
            bytes_ += row.bytes.size();
            commits_.push_back({row.id, row.parent, row.base, keep(row.bytes)});
        }
        for (const WriteRow& row : request.writes) addRow(row);
        for (const WriteRow& row : request.compared) compared_.push_back(copy(row));
    }
    OwnedPut(const OwnedPut&) = delete;
    OwnedPut& operator=(const OwnedPut&) = delete;

    /// Valid until something is added.
    const PutRequest& request() noexcept {
        request_.commits = commits_;
        request_.writes = writes_;
        request_.compared = compared_;
        return request_;
    }

    /// Returns whether it is only commits.
    static bool isAppend(const PutRequest& request) noexcept {
        return !request.commits.empty() && request.writes.empty() && request.compared.empty();
    }
    /// Returns whether it is only pending writes without conditions, and says nothing about the thread.
    static bool isPlain(const PutRequest& request) noexcept {
        if (!request.commits.empty() || !request.compared.empty() || request.outlook.status != ThreadStatus::unknown)
            return false;
        for (const WriteRow& row : request.writes) {
            if (row.expected) return false;
        }
        return true;
    }
    /// Returns whether both are plain, or the other one's commits follow those of this, and whether this is small
    /// enough to take more.
    bool mayTake(const PutRequest& other) noexcept {
        if (isFull() || request_.sync != other.sync) return false;
        if (isAppend(request())) return isAppend(other) && commits_.back().id == other.expected_head;
        return isPlain(request_) && isPlain(other) && request_.expected_head == other.expected_head;
    }
    /// A row replaces the row of the same checkpoint and path. If it throws, some rows of pending writes may have been
    /// added, and no commit.
    void take(const PutRequest& other) {
        if (!other.commits.empty()) return takeCommits(other);
        for (const WriteRow& row : other.writes) addRow(row);
    }
    /// Returns whether it takes no more.
    bool isFull() const noexcept { return bytes_ >= joined_bytes_max; }

private:
    // A saver bounds the size of a request, and a large one delays those after it.
    static constexpr std::size_t joined_bytes_max = std::size_t{1} << 20U;

    // What the thread waits for is what the later request says.
    void takeCommits(const PutRequest& other) {
        std::string summary(other.summary);
        const std::size_t before = commits_.size();
        try {
            for (const CommitRow& row : other.commits)
                commits_.push_back({row.id, row.parent, row.base, keep(row.bytes)});
        } catch (...) {
            commits_.erase(commits_.begin() + static_cast<std::ptrdiff_t>(before), commits_.end());
            throw;
        }
        for (const CommitRow& row : other.commits) bytes_ += row.bytes.size();
        summary_.swap(summary);
        request_.summary = summary_;
        request_.outlook = other.outlook;
    }
    std::string_view keep(std::string_view text) { return kept_.emplace_back(text); }
    WriteRow copy(const WriteRow& row) {
        WriteRow copied{row.checkpoint_id, keep(row.path), keep(row.bytes)};
        if (row.expected) copied.expected = keep(*row.expected);
        return copied;
    }
    void addRow(const WriteRow& row) {
        const WriteRow copied = copy(row);
        bytes_ += row.path.size() + row.bytes.size();
        const auto [at, is_new] = places_.try_emplace({copied.checkpoint_id, copied.path}, writes_.size());
        if (!is_new) {
            writes_[at->second] = copied;
            return;
        }
        try {
            writes_.push_back(copied);
        } catch (...) {
            places_.erase(at);
            throw;
        }
    }

    std::string thread_id_;
    std::string checkpoint_ns_;
    std::string summary_;
    std::deque<std::string> kept_;  // the rows' texts, which stay where they are
    std::vector<CommitRow> commits_;
    std::vector<WriteRow> writes_;
    std::vector<WriteRow> compared_;
    std::map<std::pair<CheckpointId, std::string_view>, std::size_t> places_;  // in `writes_`
    std::size_t bytes_ = 0;
    PutRequest request_;
};

}  // namespace stategraph::engine
