#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <set>
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
                   .summary = summary_,
                   .root = request.root,
                   .answers = request.answers} {
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
    /// Returns whether it is only pending writes, and says nothing about the thread.
    static bool isPlain(const PutRequest& request) noexcept {
        return request.commits.empty() && request.compared.empty() && request.outlook.status == Status::in_flight;
    }
    /// Returns whether both are plain and of different rows, or the other one's commits follow those of this, and
    /// whether this is small enough to take more.
    bool mayTake(const PutRequest& other) noexcept {
        if (isFull() || request_.sync != other.sync) return false;
        if (isAppend(request())) return isAppend(other) && commits_.back().id == other.expected_head;
        if (!isPlain(request_) || !isPlain(other) || request_.expected_head != other.expected_head ||
            request_.answers != other.answers)
            return false;
        return std::ranges::none_of(other.writes, [this](const WriteRow& row) {
            return rows_.contains({row.checkpoint_id, row.path});
        });
    }
    /// If it throws, some rows of pending writes may have been added, and no commit.
    void take(const PutRequest& other) {
        if (!other.commits.empty()) return takeCommits(other);
        for (const WriteRow& row : other.writes) addRow(row);
    }
    /// Returns the number of pending writes.
    std::size_t writes() const noexcept { return writes_.size(); }
    /// Returns a request of only some of the pending writes. Valid until the next call.
    const PutRequest& partOf(std::size_t begin, std::size_t end) noexcept {
        part_ = request();
        part_.writes = part_.writes.subspan(begin, end - begin);
        return part_;
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
        rows_.insert({copied.checkpoint_id, copied.path});
        writes_.push_back(copied);
    }

    std::string thread_id_;
    std::string checkpoint_ns_;
    std::string summary_;
    std::deque<std::string> kept_;  // the rows' texts, which stay where they are
    std::vector<CommitRow> commits_;
    std::vector<WriteRow> writes_;
    std::vector<WriteRow> compared_;
    std::set<std::pair<CheckpointId, std::string_view>> rows_;
    std::size_t bytes_ = 0;
    PutRequest request_;
    PutRequest part_;
};

}  // namespace stategraph::engine
