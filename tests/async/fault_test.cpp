#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/support.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/until.hpp"

// Awaited runs in which something fails, or which another writer disturbs.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

Graph three() { return chainOf(appendsLater("a"), appendsLater("b"), appendsLater("c")); }

Owner owns(App app, std::string thread) { (void)co_await app.asyncInvoke(Update{}, {.thread_id = thread}); }

}  // namespace

TEST_CASE("whichever call to the saver fails, the run fails with it and can be gone on with") {
    for (const bool slow : {false, true}) {
        for (std::size_t call = 1; call < 30; ++call) {
            const auto saver = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>(),
                                                                         sg::testing::FaultPlan{.fail_at = call}, slow);
            const auto app = three().compile({.checkpointer = saver});
            bool failed = false;
            try {
                (void)sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "x")}, {.thread_id = "t"}));
            } catch (const sg::Error&) {
                failed = true;
            }
            CHECK(failed == (saver->failures() > 0));
            saver->disarm();
            sg::Result<State> done;
            try {
                done = sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"}));
            } catch (const sg::EmptyInputError&) {
                done = sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "x")}, {.thread_id = "t"}));
            }
            CHECK(done.values == State{"x", {"a", "b", "c"}, 0});
            if (!failed) break;
            CHECK(call < 29);
        }
    }
}

TEST_CASE("a run that is destroyed while it waits leaves its thread to be gone on with") {
    savers::onEach([](savers::Store& store) {
        const auto executor = twoThreads();
        const auto saver = store.open();
        Graph graph = chainOf(appends("a"), appendsLater("never", 1h));
        const auto app = graph.compile({.checkpointer = saver, .executor = executor});
        const Owner owner = owns(app, "t");
        CHECK_FALSE(owner.handle.done());
        CHECK_THROWS_AS((void)app.invoke(Update{}, {.thread_id = "t"}), sg::ThreadBusyError);
        owner.handle.destroy();
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.values.bar == Strings{"a"});
        CHECK(state.next == Strings{"n2"});
        const auto other = chainOf(appends("a"), appends("b")).compile({.checkpointer = saver});
        CHECK(other.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"a", "b"});
    });
}

TEST_CASE("a run that is destroyed waits for its nodes that block") {
    std::atomic<bool> entered = false;
    std::atomic<bool> left = false;
    Graph graph;
    graph
        .addNode("block",
                 [&](const State&) -> Update {
                     entered = true;
                     std::this_thread::sleep_for(30ms);  // sleeps: work that takes time
                     left = true;
                     return Update{};
                 })
        .addNode("await", appendsLater("never", 1h));
    graph.addEdge(sg::START, "block").addEdge(sg::START, "await");
    const auto app = graph.compile();
    const Owner owner = owns(app, "");
    patience::until([&]() -> bool { return entered; });
    owner.handle.destroy();
    CHECK(left);
}

TEST_CASE("awaited runs wait for their turn on a thread without blocking, first come first served") {
    savers::onEach([](savers::Store& store) {
        const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
        const auto app = chainOf(appendsLater("a", 2ms), appendsLater("b", 2ms))
                             .compile({.checkpointer = store.open(), .executor = executor});
        std::vector<sg::Spawning<sg::Result<State>>> runs;
        for (int i = 0; i < 10; ++i) {
            runs.push_back(sg::spawn(
                executor, app.asyncInvoke({sg::set(&State::foo, std::to_string(i))},
                                          {.thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = 5min})));
        }
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const auto result = runs[i].get();
            CHECK(result.values.foo == std::to_string(i));
            CHECK(result.values.bar.size() == 2 * (i + 1));
        }
    });
}

TEST_CASE("an awaited run whose turn does not come in time is refused, and one that replaces gets it") {
    const auto executor = twoThreads();
    Graph loop;
    loop.addNode("a", appendsLater("a")).addEdge(sg::START, "a").addConditionalEdges("a", [](const State& state) {
        return state.foo == "stop" ? sg::END : "a";
    });
    const auto app = loop.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    auto endless = sg::spawn(executor, app.asyncInvoke(Update{}, {.thread_id = "t", .recursion_limit = 1'000'000}));
    patience::until([&] { return !app.getState({.thread_id = "t"}).values.bar.empty(); });
    const auto late = [&](int ms) {
        return app.asyncInvoke(
            Update{}, {.thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = std::chrono::milliseconds(ms)});
    };
    CHECK_THROWS_WITH_AS(sg::syncWait(late(5)), doctest::Contains("within 5 ms"), sg::ThreadBusyError);
    CHECK_THROWS_AS(sg::syncWait(late(0)), sg::ThreadBusyError);
    CHECK_THROWS_AS(sg::syncWait(late(-1)), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t"})), sg::ThreadBusyError);
    const auto replacing = sg::syncWait(
        app.asyncInvoke({sg::set(&State::foo, "stop")}, {.thread_id = "t", .on_busy = sg::OnBusy::replace}));
    CHECK((replacing.status == sg::Status::done));
    CHECK((endless.get().status == sg::Status::cancelled));
}

TEST_CASE("many runs on a slow saver and one thread come to their ends") {
    const auto saver = std::make_shared<RecordingSaver>();
    saver->is_slow = true;
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1});
    const auto app = three().compile({.checkpointer = saver, .executor = executor});
    std::vector<sg::Spawning<sg::Result<State>>> runs;
    for (int i = 0; i < 50; ++i)
        runs.push_back(sg::spawn(executor, app.asyncInvoke(Update{}, {.thread_id = std::to_string(i)})));
    for (auto& run : runs) CHECK(run.get().values.bar.size() == 3);
}

TEST_CASE("a thousand runs at once on two threads are each their own") {
    const auto executor = twoThreads();
    const auto app = three().compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::vector<sg::Spawning<sg::Result<State>>> runs;
    for (int i = 0; i < 1000; ++i) {
        runs.push_back(sg::spawn(
            executor, app.asyncInvoke({sg::set(&State::foo, std::to_string(i))}, {.thread_id = std::to_string(i)})));
    }
    for (int i = 0; i < 1000; ++i) CHECK(runs[static_cast<std::size_t>(i)].get().values.foo == std::to_string(i));
}
