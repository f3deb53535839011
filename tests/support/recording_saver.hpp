#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/record.hpp>

/// A memory saver that notes every `put` of rows as a line such as "commit 0 loop", "write pull:a" or "ns|commit 0 loop
/// write pull:a", followed by "fsync" if that was requested. Safe to use from any thread.
class RecordingSaver final : public stategraph::BaseCheckpointSaver {
public:
    bool is_slow = false;
    std::chrono::milliseconds delay{0};
    /// Called before and after each put with the number of earlier puts; may throw.
    std::function<void(std::size_t)> before_put;
    std::function<void(const stategraph::PutRequest&)> after_put;
    /// Called before each listing; may throw.
    std::function<void()> before_list;

    void put(const stategraph::PutRequest& request) override {
        if (request.commits.empty() && request.writes.empty()) return inner_.put(request);
        std::size_t number = 0;
        {
            const std::lock_guard lock(mutex_);
            number = puts_++;
        }
        if (before_put) before_put(number);
        if (delay.count() > 0) std::this_thread::sleep_for(delay);  // sleeps: a slow saver
        inner_.put(request);
        {
            const std::lock_guard lock(mutex_);
            lines_.push_back(describe(request));
        }
        if (after_put) after_put(request);
    }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        {
            const std::lock_guard lock(mutex_);
            ++reads_;
        }
        return inner_.getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        if (before_list) before_list();
        return inner_.list(query);
    }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const stategraph::PruneRequest& request) override { return inner_.prune(request); }
    bool putIsSlow() const noexcept override { return is_slow; }

    std::vector<std::string> lines() const {
        const std::lock_guard lock(mutex_);
        return lines_;
    }
    std::vector<std::string> takeLines() {
        const std::lock_guard lock(mutex_);
        return std::exchange(lines_, {});
    }
    std::size_t reads() const {
        const std::lock_guard lock(mutex_);
        return reads_;
    }

private:
    static std::string describe(const stategraph::PutRequest& request) {
        std::string line = request.log.checkpoint_ns.empty() ? "" : std::string(request.log.checkpoint_ns) + "|";
        const char* between = "";
        for (const auto& commit : request.commits) {
            const auto header =
                stategraph::readHeader({request.log.thread_id, request.log.checkpoint_ns, commit.id}, commit.bytes);
            line += std::exchange(between, " ");
            line += "commit " + std::to_string(header.step) + " " + stategraph::toString(header.source);
        }
        for (const auto& write : request.writes) {
            line += std::exchange(between, " ");
            line += "write " + std::string(write.path);
        }
        return line + (request.sync ? " fsync" : "");
    }

    stategraph::MemorySaver inner_;
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
    std::size_t puts_ = 0;
    std::size_t reads_ = 0;
};
