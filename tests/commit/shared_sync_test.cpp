// With durability sync, the pending writes of a superstep reach the saver while others wait there for the disk.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace {

namespace sg = stategraph;

constexpr int tasks = 4;

/// Waits until this many threads are here at the same time. After a time it stops waiting, so that a test can fail.
class Meeting {
public:
    void arrive() {
        std::unique_lock lock(mutex_);
        most_ = std::max(most_, ++here_);
        changed_.notify_all();
        changed_.wait_for(lock, std::chrono::minutes(5), [&] { return most_ == tasks; });
        --here_;
    }
    int most() {
        const std::lock_guard lock(mutex_);
        return most_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int here_ = 0;
    int most_ = 0;
};

class SlowDisk final : public sg::BaseCheckpointSaver {
public:
    void put(const sg::PutRequest& request) override {
        const bool is_task = request.commits.empty() && !request.writes.empty() && request.sync;
        if (is_task) meeting.arrive();
        saver_.put(request);
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override { return saver_.getTuple(query); }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override { return saver_.list(query); }
    void deleteThread(std::string_view thread_id) override { saver_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { saver_.copyThread(from, to); }
    std::size_t prune(const sg::PruneRequest& request) override { return saver_.prune(request); }
    bool putIsSlow() const noexcept override { return false; }

    Meeting meeting;

private:
    sg::MemorySaver saver_;
};

struct State {
    int sum = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("sum", &State::sum, sg::sum)); }
};

}  // namespace

TEST_CASE("with sync, tasks that finish together wait for the disk together") {
    const auto saver = std::make_shared<SlowDisk>();
    Meeting nodes;  // all of them run at once
    sg::StateGraph<State> graph;
    for (int n = 0; n < tasks; ++n) {
        const std::string name = "node" + std::to_string(n);
        graph.addNode(name, [&nodes](const State&) -> sg::Update<State> {
            nodes.arrive();
            return {sg::add(&State::sum, 1)};
        });
        graph.addEdge(sg::START, name).addEdge(name, sg::END);
    }
    const auto app = graph.compile({.checkpointer = saver});
    const auto result = app.invoke({}, {.thread_id = "t", .durability = sg::Durability::sync});
    CHECK(result.values.sum == tasks);
    CHECK(nodes.most() == tasks);
    CHECK(saver->meeting.most() == tasks);
}
