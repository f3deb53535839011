#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/recover.hpp>
#include <stategraph/sqlite_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/temporary_folder.hpp"

// One process runs a thread of a SQLite file at a time.
using namespace graphs;

namespace {

struct File {
    TemporaryFolder folder;
    std::shared_ptr<sg::SqliteSaver> open() const {
        // A busy disk may delay a commit.
        return std::make_shared<sg::SqliteSaver>((folder.path() / "threads.db").string(),
                                                 sg::SqliteSaverOptions{.busy_timeout = std::chrono::minutes(5)});
    }
};

/// A graph of one node, which calls `in`.
template <class In>
App appOf(const std::shared_ptr<sg::SqliteSaver>& saver, In in) {
    Graph graph;
    graph.addNode("a", [in](const State&) -> Update {
        in();
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

TEST_CASE("a thread of a SQLite file is held by one saver object at a time, and given back") {
    const File file;
    const auto one = file.open();
    const auto two = file.open();
    auto held = one->tryHold("t");
    REQUIRE(held);
    CHECK_FALSE(two->tryHold("t"));
    CHECK(two->tryHold("u"));
    held.reset();
    CHECK(two->tryHold("t"));
}

TEST_CASE("a hold may outlive its saver") {
    const File file;
    auto held = file.open()->tryHold("t");
    CHECK_FALSE(file.open()->tryHold("t"));
    held.reset();
    CHECK(file.open()->tryHold("t"));
}

TEST_CASE("while a process runs a thread, another one is refused, or waits, with every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const File file;
        const App other = appOf(file.open(), [] {});
        bool is_refused = false;
        const App app = appOf(file.open(), [&] {
            try {
                (void)other.invoke(Update{}, {.thread_id = "t"});
            } catch (const sg::ThreadBusyError&) {
                is_refused = true;
            }
        });
        REQUIRE(driver.run(app, Update{}, {.thread_id = "t"}).what() == "");
        CHECK(is_refused);

        auto held = file.open()->tryHold("t");
        CHECK(driver.run(other, Update{}, {.thread_id = "t"}).as<sg::ThreadBusyError>() != nullptr);
        const sg::RunConfig short_wait{
            .thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = std::chrono::milliseconds(30)};
        CHECK(driver.run(other, Update{}, short_wait).as<sg::ThreadBusyError>() != nullptr);
        std::atomic<bool> waits{false};
        std::thread giver([&] {
            while (!waits) std::this_thread::yield();
            held.reset();
        });
        waits = true;
        const auto run = driver.run(other, Update{}, {.thread_id = "t", .on_busy = sg::OnBusy::wait});
        giver.join();
        CHECK(run.what() == "");
        CHECK(run.values.bar == Strings{"a", "a"});
    }
}

TEST_CASE("of several processes that recover threads at the same time, one runs each") {
    const File file;
    std::atomic<int> calls{0};
    constexpr int threads = 8;
    {
        const App app = appOf(file.open(), [] {});
        for (int i = 0; i < threads; ++i)
            (void)app.submit(Update{}, {.thread_id = sg::ThreadId("t" + std::to_string(i))});
    }
    std::vector<std::thread> processes;
    for (int process = 0; process < 3; ++process) {
        processes.emplace_back([&] {
            const App app = appOf(file.open(), [&] {
                ++calls;
                std::this_thread::yield();
            });
            for (int left = threads; left > 0;) {
                (void)app.recover();
                left = 0;
                for (int i = 0; i < threads; ++i)
                    left += app.getState({.thread_id = sg::ThreadId("t" + std::to_string(i))}).next.empty() ? 0 : 1;
            }
        });
    }
    for (std::thread& process : processes) process.join();
    CHECK(calls == threads);
}
