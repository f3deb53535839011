#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/export.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/sharded_saver.hpp>

// Shards in memory whose slots a test moves.

/// A saver that has some slots, as a cluster has: calls for a thread of another slot are refused.
class SlotSaver final : public stategraph::BaseCheckpointSaver {
public:
    void give(std::size_t slot) {
        const std::lock_guard lock(mutex_);
        slots_.insert(slot);
    }
    void take(std::size_t slot) {
        const std::lock_guard lock(mutex_);
        slots_.erase(slot);
    }
    bool has(std::size_t slot) const {
        const std::lock_guard lock(mutex_);
        return slots_.contains(slot);
    }

    std::atomic<bool> is_down{false};
    std::atomic<int> calls{0};
    std::function<void()> after_put;

    void put(const stategraph::PutRequest& request) override {
        check(request.log.thread_id);
        inner_.put(request);
        if (const auto call = std::exchange(after_put, nullptr)) call();
    }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        check(query.log.thread_id);
        return inner_.getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        if (query.thread_id) check(*query.thread_id);
        if (is_down) throw stategraph::SaverError("the storage is gone");
        auto rows = inner_.list(query);
        std::erase_if(rows, [&](const auto& row) { return !has(stategraph::slotOf(row.thread_id)); });
        return rows;
    }
    void deleteThread(std::string_view thread_id) override {
        check(thread_id);
        inner_.deleteThread(thread_id);
    }
    void copyThread(std::string_view from, std::string_view to) override {
        check(from);
        check(to);
        inner_.copyThread(from, to);
    }
    std::size_t prune(const stategraph::PruneRequest& request) override {
        if (is_down) throw stategraph::SaverError("the storage is gone");
        return inner_.prune(request);
    }
    stategraph::MemorySaver& inner() { return inner_; }

private:
    void check(std::string_view thread_id) {
        ++calls;
        if (is_down) throw stategraph::SaverError("the storage is gone");
        if (!has(stategraph::slotOf(thread_id))) throw stategraph::ThreadMovedError("the slot is elsewhere");
    }
    mutable std::mutex mutex_;
    std::set<std::size_t> slots_;
    stategraph::MemorySaver inner_;
};

/// Two of them, whose map a test changes.
class MovableShards : public stategraph::Shards {
public:
    MovableShards() {
        for (std::size_t slot = 0; slot < stategraph::shard_slots; ++slot) savers[map.shard_of[slot]].give(slot);
    }
    std::size_t count() const noexcept override { return savers.size(); }
    std::string_view name(std::size_t shard) const override { return shard == 0 ? "left" : "right"; }
    stategraph::BaseCheckpointSaver& saver(std::size_t shard) override { return savers.at(shard); }
    stategraph::ShardMap readMap() override {
        ++reads;
        if (during_read) during_read();
        return map;
    }
    stategraph::ThreadOrder order() const noexcept override { return stategraph::ThreadOrder::size_then_bytes; }

    void move(const std::string& thread_id) {
        const std::size_t slot = stategraph::slotOf(thread_id);
        std::size_t& shard = map.shard_of[slot];
        savers[shard].take(slot);
        auto& from = savers[shard].inner();
        if (from.getTuple({.log = {thread_id}})) {
            std::stringstream rows;
            stategraph::exportThread(from, thread_id, rows);
            stategraph::importThread(savers[1 - shard].inner(), rows);
            from.deleteThread(thread_id);
        }
        shard = 1 - shard;
        savers[shard].give(slot);
        ++map.version;
    }

    std::array<SlotSaver, 2> savers;
    stategraph::ShardMap map = stategraph::ShardMap::evenly(2);
    std::function<void()> during_read;
    int reads = 0;
};

/// Names of threads on the left, and on the right.
inline std::string nameOn(std::size_t shard, int number = 0) {
    for (int i = 0;; ++i) {
        const std::string name = "thread " + std::to_string(i);
        if (stategraph::ShardMap::evenly(2).shard_of[stategraph::slotOf(name)] == shard && number-- == 0) return name;
    }
}
