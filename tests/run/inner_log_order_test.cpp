#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// A log inside is stored after the checkpoints of all graphs around it, whichever of them have logs.
using namespace graphs;

namespace {

/// The thread's own commits are stored late, and everything else at once.
class RootIsLate final : public sg::ForwardingSaver {
public:
    using ForwardingSaver::ForwardingSaver;
    ~RootIsLate() override {
        for (std::thread& each : later_) each.join();
    }
    bool putIsSlow() const noexcept override { return true; }
    bool answersLater() const noexcept override { return true; }
    void put(const sg::PutRequest& request) override {
        if (isLate(request)) pause();
        inner()->put(request);
    }
    void asyncPut(const sg::PutRequest& request, sg::PutCompletion& completion) noexcept override {
        if (!isLate(request)) return inner()->asyncPut(request, completion);
        const std::lock_guard lock(mutex_);  // a thread may add the next one before its own place is filled
        later_.emplace_back([this, &request, &completion]() noexcept {
            pause();
            inner()->asyncPut(request, completion);
        });
    }

private:
    static bool isLate(const sg::PutRequest& request) noexcept {
        return request.log.checkpoint_ns.empty() && !request.commits.empty();
    }
    static void pause() {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // sleeps: the latency of a store
    }

    std::mutex mutex_;
    std::vector<std::thread> later_;
};

const std::vector<std::pair<std::string, sg::Checkpointer>>& memories() {
    static const std::vector<std::pair<std::string, sg::Checkpointer>> all = {
        {"none", sg::NO_CHECKPOINTER}, {"fresh", {}}, {"per thread", sg::PER_THREAD}};
    return all;
}

App leaf(const sg::Checkpointer& memory) {
    Graph graph;
    graph.addNode("a", appends("a")).addNode("b", appends("b"));
    graph.addEdge(sg::START, "a").addEdge("a", "b");
    return graph.compile({.checkpointer = memory});
}
App around(const App& inner, const sg::Checkpointer& memory) {
    Graph graph;
    graph.addNode("in", inner);
    graph.addEdge(sg::START, "in");
    return graph.compile({.checkpointer = memory});
}

}  // namespace

TEST_CASE("a log inside is stored after the checkpoints around it, also if the graph next to it stores nothing") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const auto& [middle, middle_memory] : memories()) {
            for (const auto& [innermost, innermost_memory] : memories()) {
                CAPTURE(driver.name);
                CAPTURE(middle);
                CAPTURE(innermost);
                const auto kept = std::make_shared<sg::MemorySaver>();
                const App inner = around(leaf(innermost_memory), middle_memory);
                const App app = around(inner, std::make_shared<RootIsLate>(kept));
                const auto outcome =
                    driver.run(app, bar("in"), {.thread_id = "t", .durability = sg::Durability::async});
                CHECK(outcome.what() == "");
                CHECK((outcome.status == sg::Status::done));
            }
        }
    }
}
