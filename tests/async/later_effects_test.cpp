#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/control.hpp>
#include <stategraph/retry.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/later.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/hand_home.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/until.hpp"

// Effects (onceAsync) and called graphs of awaited runs, with a saver that answers later: their records are stored
// without a thread that waits.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

App called() {
    Graph inside;
    inside.addNode("inner", appendsLater("inner", 0us)).addEdge(sg::START, "inner");
    return inside.compile();
}

/// A node with an effect, another one about which is asked in doubt, and a called graph.
App effects(std::shared_ptr<sg::BaseCheckpointSaver> saver, std::atomic<int>& paid) {
    Graph graph;
    const auto node = [&paid, inside = called()](const State&, sg::Runtime& runtime) -> Task<Update> {
        auto pay = [&paid]() -> Task<std::string> {
            ++paid;
            co_return "paid";
        };
        auto tell = []() -> Task<std::string> { co_return "told"; };
        const std::string first = co_await sg::onceAsync(runtime, "pay", std::move(pay));
        const std::string second = co_await sg::onceAsync(runtime, "tell", std::move(tell), sg::OnDoubt::ask);
        Update none;
        const State result = co_await runtime.asyncInvoke(inside, std::move(none), "call");
        co_return bar(first + " " + second + " " + result.bar.at(0));
    };
    graph.addNode("node", node).addNode("end", appendsLater("end", 0us));
    graph.addEdge(sg::START, "node").addEdge("node", "end");
    return graph.compile({.checkpointer = std::move(saver), .ids = FixedIds::make()});
}

}  // namespace

TEST_CASE("no thread waits while the effects of a hundred awaited runs on two threads are stored") {
    constexpr std::size_t runs = 100;
    for (const bool calls : {false, true}) {
        const auto saver = std::make_shared<LaterSaver>();
        const auto executor = twoThreads();
        std::atomic<std::size_t> reached = 0;
        std::atomic<bool> go = false;
        const auto hold = [&]() -> Task<std::string> {
            ++reached;
            while (!go) co_await sg::sleepFor(1ms);
            co_return "held";
        };
        Graph inside;
        inside.addNode("inner", [&](const State&) -> Task<Update> { co_return bar(co_await hold()); });
        inside.addEdge(sg::START, "inner");
        const auto node = [&, inner = inside.compile()](const State&, sg::Runtime& runtime) -> Task<Update> {
            if (calls) {
                Update none;
                const State result = co_await runtime.asyncInvoke(inner, std::move(none), "call");
                co_return bar(result.bar.at(0));
            }
            auto effect = hold;
            co_return bar(co_await sg::onceAsync(runtime, "hold", std::move(effect)));
        };
        Graph graph;
        graph.addNode("node", node).addEdge(sg::START, "node");
        const App app = graph.compile({.checkpointer = saver, .executor = executor});
        std::vector<sg::Spawning<sg::Result<State>>> spawned;
        for (std::size_t i = 0; i < runs; ++i) {
            spawned.push_back(sg::spawn(executor, app.asyncInvoke(Update{}, {.thread_id = std::to_string(i),
                                                                             .durability = sg::Durability::sync})));
        }
        patience::until([&] { return reached >= runs; });
        saver->closePuts();
        go = true;
        saver->awaitPuts(runs);  // the two threads wait for none of them
        saver->open();
        for (auto& run : spawned) CHECK(run.get().values.bar == Strings{"held"});
    }
}

TEST_CASE("effects and called graphs leave the same bytes with a saver that answers later, with each driver") {
    for (const auto durability : durabilities) {
        std::optional<history::Bytes> expected;
        for (const drivers::Driver& driver : drivers::affordable()) {
            CAPTURE(driver.name);
            for (const bool is_later : {false, true}) {
                const auto inner = std::make_shared<sg::MemorySaver>();
                std::shared_ptr<sg::BaseCheckpointSaver> saver = inner;
                if (is_later) saver = std::make_shared<LaterSaver>(inner);
                std::atomic<int> paid = 0;
                const auto done = driver.run(effects(saver, paid), Update{sg::set(&State::foo, "x")},
                                             {.thread_id = "t", .durability = durability});
                REQUIRE(done.what() == "");
                CHECK(done.values.bar == Strings{"paid told inner", "end"});
                CHECK(paid == 1);
                const auto bytes = history::bytesOf(*inner);
                if (!expected) expected = bytes;
                CHECK((bytes == *expected));
            }
        }
    }
}

TEST_CASE("whichever put of an effect fails later, the run fails with it, and what was stored is not done again") {
    for (const auto answer : {LaterSaver::Answer::later, LaterSaver::Answer::at_once}) {
        for (const auto durability : durabilities) {
            for (std::size_t call = 1;; ++call) {
                CAPTURE(call);
                REQUIRE(call < 60);
                const auto faults = std::make_shared<sg::testing::FaultSaver>(
                    std::make_shared<sg::MemorySaver>(),
                    sg::testing::FaultPlan{
                        .fail_at = call, .after_effect = call % 2 == 0, .calls = sg::testing::SaverCalls::put});
                std::atomic<int> paid = 0;
                const App app = effects(std::make_shared<LaterSaver>(faults, 0us, answer), paid);
                const sg::RunConfig config{.thread_id = "t", .durability = durability};
                std::optional<sg::Result<State>> done;
                try {
                    done = sg::syncWait(app.asyncInvoke(Update{}, config));
                } catch (const sg::SaverError&) {
                } catch (const sg::NodeError& error) {  // as Runtime::once fails its node
                    CHECK(contains(error.what(), "injected failure"));
                }
                const bool has_failed = faults->failures() > 0;
                CHECK(done.has_value() == !has_failed);
                faults->disarm();
                if (!done) {
                    try {
                        done = sg::syncWait(app.asyncInvoke(sg::RESUME, config));
                    } catch (const sg::EmptyInputError&) {
                        done = sg::syncWait(app.asyncInvoke(Update{}, config));
                    }
                }
                if (done->status == sg::Status::interrupted) {  // its end was not stored, so it is in doubt
                    CHECK(done->interrupts.size() == 1);
                    done = sg::syncWait(app.asyncInvoke(sg::Command<>{.resume = "repeat"}, config));
                }
                CHECK(done->values.bar == Strings{"paid told inner", "end"});
                CHECK(paid <= 2);
                if (!has_failed) break;
            }
        }
    }
}

TEST_CASE("an attempt that times out while its effect is being stored is followed by one that knows the effect") {
    const auto isPaidOnce = [](std::chrono::milliseconds limit, sg::Durability durability) {
        const auto saver = std::make_shared<LaterSaver>();
        std::atomic<int> paid = 0;
        const auto node = [&](const State&, sg::Runtime& runtime) -> Task<Update> {
            auto pay = [&]() -> Task<std::string> {
                ++paid;
                saver->closePuts();  // so that the effect's record stays under way
                co_return "paid";
            };
            co_return bar(co_await sg::onceAsync(runtime, "pay", std::move(pay)));
        };
        Graph graph;
        graph.addNode("node", node, {.retry = {.max_attempts = 1'000'000, .initial_interval = 0ms}, .timeout = limit})
            .addEdge(sg::START, "node");
        const App app = graph.compile({.checkpointer = saver, .executor = twoThreads()});
        std::jthread opens([&](const std::stop_token& is_over) {
            patience::until([&] { return paid != 0; });
            do {
                std::this_thread::sleep_for(3 * limit);  // sleeps: usually enough; what is checked holds in any case
                saver->open();
            } while (!is_over.stop_requested());
        });
        const auto done = sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t", .durability = durability}));
        CHECK(done.values.bar == Strings{"paid"});
        return paid == 1;  // an attempt that ends between the effect and its record leaves it to the next one
    };
    for (const auto durability : {sg::Durability::sync, sg::Durability::async})
        CHECK(withEnoughTime(20ms, [&](std::chrono::milliseconds limit) { return isPaidOnce(limit, durability); }));
}

TEST_CASE("a run that is destroyed while its effect is being stored waits for it, and its thread can continue") {
    for (const bool can_be_left : {false, true}) {
        const auto saver = std::make_shared<LaterSaver>();
        std::atomic<int> paid = 0;
        const auto node = [&](const State&, sg::Runtime& runtime) -> Task<Update> {
            auto pay = [&]() -> Task<std::string> {
                if (++paid == 1) saver->closePuts();
                co_return "paid";
            };
            co_return bar(co_await sg::onceAsync(runtime, "pay", std::move(pay)));
        };
        Graph graph;
        graph.addNode("node", node).addEdge(sg::START, "node");
        const App app = graph.compile({.checkpointer = saver, .executor = twoThreads()});
        sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::sync};
        if (can_be_left) config.control = std::make_shared<sg::RunControl>();
        HandHome home;
        bool is_over = false;
        const auto run = [](App graph_of, sg::RunConfig with) -> Task<> {
            (void)co_await graph_of.asyncInvoke(Update{}, with);
        };
        std::optional<Task<>> task(run(app, config));
        task->handle().promise().startWith(
            task->handle(), [](void* over) { *static_cast<bool*>(over) = true; }, &is_over, home.home());
        while (paid == 0) home.runOne(1ms);
        saver->awaitPuts(1);
        std::thread opens([&] {
            std::this_thread::sleep_for(5ms);  // sleeps: usually enough; what is checked holds in any case
            saver->open();
        });
        task.reset();
        CHECK_FALSE(is_over);
        opens.join();
        CHECK(sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"})).values.bar == Strings{"paid"});
        CHECK(paid == 1);
    }
}
