#include <array>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/recover.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Breakpoints hold, whatever ends a run before them: only a run that resumes from a stop there goes on behind it.
using namespace graphs;
using sg::testing::FaultSaver;
using sg::testing::SaverCalls;

namespace {

enum class Shape { root, subgraph, remembering, called, nested };
constexpr std::array shapes{Shape::root, Shape::subgraph, Shape::remembering, Shape::called, Shape::nested};

struct Parts {
    Log& log;
    std::function<void()> prepares = [] {};
    std::function<void(Graph&)> more = [](Graph&) {};  // nodes of the outermost graph
    sg::NodeNames before = {"pay"};
};

void addPayment(Graph& graph, const Parts& parts) {
    graph.addNode("prepare", [&log = parts.log, prepares = parts.prepares](const State&) -> Update {
        prepares();
        log.add("prepare");
        return {};
    });
    graph.addNode("pay", appends(parts.log, "pay"));
    graph.addEdge(sg::START, "prepare").addEdge("prepare", "pay");
}

App payment(const Parts& parts, sg::Checkpointer checkpointer = {}) {
    Graph graph;
    addPayment(graph, parts);
    return graph.compile({.checkpointer = std::move(checkpointer), .interrupt_before = parts.before});
}

/// prepare -> [breakpoint] -> pay: the graph itself, or inside its node "inside".
App make(Shape shape, const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const Parts& parts) {
    Graph graph;
    switch (shape) {
        case Shape::root:
            addPayment(graph, parts);
            parts.more(graph);
            return graph.compile({.checkpointer = saver, .interrupt_before = parts.before});
        case Shape::subgraph:
            graph.addNode("inside", payment(parts));
            break;
        case Shape::remembering:
            graph.addNode("inside", payment(parts, sg::PER_THREAD));
            break;
        case Shape::called:
            graph.addNode("inside", [inner = payment(parts)](const State&, sg::Runtime& runtime) -> Update {
                return bar(runtime.invoke(inner, Update{}, "call").bar.back());
            });
            break;
        case Shape::nested: {
            Graph middle;
            middle.addNode("deep", payment(parts));
            middle.addEdge(sg::START, "deep");
            graph.addNode("inside", middle.compile());
            break;
        }
    }
    graph.addEdge(sg::START, "inside");
    parts.more(graph);
    return graph.compile({.checkpointer = saver});
}

sg::Status reasonOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    return saver.unfinishedThreads({.thread_ids = {thread}}).at(0).reason;
}

}  // namespace

TEST_CASE("a breakpoint holds wherever a process dies before it") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const Shape shape : shapes) {
            for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
                CAPTURE(driver.name);
                CAPTURE(static_cast<int>(shape));
                CAPTURE(static_cast<int>(durability));
                std::size_t failures = 1;
                for (std::size_t dies_at = 1; failures > 0; ++dies_at) {
                    CAPTURE(dies_at);
                    Log log;
                    const auto store = std::make_shared<sg::MemorySaver>();
                    const auto dying = std::make_shared<FaultSaver>(
                        store, sg::testing::FaultPlan{
                                   .fail_at = dies_at, .once = false, .calls = SaverCalls::put | SaverCalls::tell});
                    (void)driver.run(make(shape, dying, {log}), Update{}, {.thread_id = "1", .durability = durability});
                    failures = dying->failures();
                    const App next = make(shape, store, {log});
                    for (int i = 0; i < 2; ++i) (void)next.recover();
                    CHECK(log.count("pay") == 0);
                    if (store->list({.thread_id = "1", .checkpoint_ns = ""}).empty()) continue;
                    CHECK((reasonOf(*store, "1") == sg::Status::breakpoint));
                    // Somebody resumes the thread, and that process dies too.
                    const auto again = std::make_shared<FaultSaver>(
                        store, sg::testing::FaultPlan{
                                   .fail_at = 2, .once = false, .calls = SaverCalls::put | SaverCalls::tell});
                    (void)driver.run(make(shape, again, {log}), sg::RESUME, {.thread_id = "1"});
                    (void)next.recover();
                    CHECK(log.count("pay") > 0);
                    CHECK(next.getState({.thread_id = "1"}).next.empty());
                }
            }
        }
    }
}

TEST_CASE("a breakpoint counts before a drain, and is kept by recover()") {
    savers::onEach([](savers::Store& store) {
        for (const drivers::Driver& driver : drivers::all()) {
            for (const Shape shape : shapes) {
                CAPTURE(driver.name);
                CAPTURE(static_cast<int>(shape));
                Log log;
                const auto control = std::make_shared<sg::RunControl>();
                const std::string thread = driver.name + std::to_string(static_cast<int>(shape));
                const App app = make(shape, store.open(), {log, [&] { control->requestDrain("deployed"); }});
                const auto ended = driver.run(app, Update{}, {.thread_id = thread, .control = control});
                CHECK((ended.get().status == sg::Status::breakpoint));
                (void)app.recover();
                CHECK(log.count("pay") == 0);
                CHECK((app.invoke(sg::RESUME, {.thread_id = thread}).status == sg::Status::done));
                CHECK(log.count("pay") == 1);
            }
        }
    });
}

TEST_CASE("a run that reached a limit before a breakpoint is stopped there when it is resumed") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        for (const bool has_no_time : {false, true}) {
            CAPTURE(has_no_time);
            // The time is over while the commit before the breakpoint is stored.
            struct Slow final : sg::Observer {
                void checkpointStored(const sg::CheckpointStored& stored) override {
                    if (stored.step == 1) control->requestStop();
                }
                std::shared_ptr<sg::RunControl> control = std::make_shared<sg::RunControl>();
            };
            const auto slow = std::make_shared<Slow>();
            Log log;
            const App app = make(Shape::root, std::make_shared<sg::MemorySaver>(), {log});
            sg::RunConfig config{.thread_id = "1"};
            if (has_no_time) {
                config.observer = slow.get();
                config.control = slow->control;
            } else {
                config.recursion_limit = 1;
            }
            const auto ended = driver.run(app, Update{}, config);
            CHECK((ended.failed() || ended.status == sg::Status::cancelled));
            (void)app.recover();
            CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::breakpoint));
            CHECK(log.count("pay") == 0);
            CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::done));
            CHECK(log.count("pay") == 1);
        }
    }
}

TEST_CASE("a breakpoint inside a subgraph holds while a sibling sleeps, and until somebody has seen it") {
    for (const Shape shape : shapes) {
        if (shape == Shape::root) continue;
        CAPTURE(static_cast<int>(shape));
        Log log;
        bool is_morning = false;
        const auto sleeps = [&](Graph& graph) {
            graph.addNode("sleeper", [&](const State&, sg::Runtime& runtime) -> Update {
                const auto now = std::chrono::system_clock::now();
                if (!is_morning) runtime.sleepUntil(now + std::chrono::hours(1));
                return {};
            });
            graph.addEdge(sg::START, "sleeper");
        };
        const App app = make(shape, std::make_shared<sg::MemorySaver>(), {log, [] {}, sleeps});
        CHECK((app.invoke(Update{}, {.thread_id = "1"}).status == sg::Status::sleeping));
        CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::sleeping));
        CHECK(log.count("pay") == 0);
        is_morning = true;
        CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::breakpoint));
        CHECK(log.count("pay") == 0);
        CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::done));
        CHECK(log.count("pay") == 1);
    }
}

TEST_CASE("a breakpoint inside a subgraph beside a question waits until the question is answered") {
    savers::onEach([](savers::Store& store) {
        for (const Shape shape : shapes) {
            if (shape == Shape::root) continue;
            CAPTURE(static_cast<int>(shape));
            Log log;
            const auto also = [&](Graph& graph) {
                graph.addNode("asker", asks(log, "asker"));
                graph.addEdge(sg::START, "asker");
            };
            const std::string thread = std::to_string(static_cast<int>(shape));
            const auto saver = store.open();
            const App app = make(shape, saver, {log, [] {}, also});
            CHECK((app.invoke(Update{}, {.thread_id = thread}).status == sg::Status::interrupted));
            CHECK((reasonOf(*saver, thread) == sg::Status::interrupted));
            (void)app.recover();
            CHECK(log.count("pay") == 0);
            CHECK((app.invoke(sg::resume("yes"), {.thread_id = thread}).status == sg::Status::breakpoint));
            (void)app.recover();
            CHECK(log.count("pay") == 0);
            CHECK((app.invoke(sg::RESUME, {.thread_id = thread}).status == sg::Status::done));
            CHECK(log.count("pay") == 1);
        }
    });
}

TEST_CASE("a breakpoint inside a subgraph beside a failure waits until the failure is mended") {
    Log log;
    int failures = 1;
    const auto also = [&](Graph& graph) {
        graph.addNode("failing", [&](const State&) -> Update {
            if (failures-- > 0) throw std::runtime_error("no");
            return {};
        });
        graph.addEdge(sg::START, "failing");
    };
    const App app = make(Shape::subgraph, std::make_shared<sg::MemorySaver>(), {log, [] {}, also});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "1"}), sg::NodeError);
    CHECK(app.recover().empty());
    CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::breakpoint));
    CHECK(log.count("pay") == 0);
    CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::done));
    CHECK(log.count("pay") == 1);
}

TEST_CASE("a Command does not open the breakpoints of nodes that were due before, and names those that it leads to") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto more = [&](Graph& graph) {
            graph.addNode("tell", appends(log, "tell"));
            graph.addConditionalEdges("pay", [](const State&) { return Strings(); }, {"tell"});
        };
        const auto saver = store.open();
        const Parts parts{log, [] {}, more, {"pay", "tell"}};
        const App app = make(Shape::root, saver, parts);
        sg::RunConfig limited{.thread_id = "1"};
        limited.recursion_limit = 1;
        CHECK_THROWS_AS(app.invoke(Update{}, limited), sg::GraphRecursionError);
        CHECK((app.invoke(sg::go("tell"), {.thread_id = "1"}).status == sg::Status::breakpoint));
        CHECK(log.count("pay") == 0);
        CHECK((app.invoke(sg::RESUME, {.thread_id = "1"}).status == sg::Status::done));
        CHECK(log.takeSorted() == Strings{"pay", "prepare", "tell"});

        CHECK((app.invoke(sg::go("pay"), {.thread_id = "2"}).status == sg::Status::done));
        CHECK(log.take() == Strings{"pay"});
        // The same through another process.
        (void)app.submit(sg::go("pay"), {.thread_id = "3"});
        CHECK(app.recover().at(0).status == sg::Status::done);
        CHECK(log.take() == Strings{"pay"});
    });
}

TEST_CASE("a breakpoint that was passed stays passed when the node asks, fails or runs out of time") {
    Log log;
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("pay", [&](const State&, sg::Runtime& runtime) -> Update {
        log.add("pay");
        const auto first = sg::interrupt<std::string>(runtime, "first?");
        if (log.count("pay") == 2) throw std::runtime_error("no");
        return bar(first + sg::interrupt<std::string>(runtime, "second?"));
    });
    graph.addEdge(sg::START, "pay");
    const App app = graph.compile({.checkpointer = saver, .interrupt_before = {"pay"}});
    const sg::RunConfig config{.thread_id = "1"};
    CHECK((app.invoke(Update{}, config).status == sg::Status::breakpoint));
    CHECK((app.invoke(sg::RESUME, config).status == sg::Status::interrupted));
    CHECK_THROWS_AS(app.invoke(sg::resume("a"), config), sg::NodeError);
    CHECK((app.invoke(sg::RESUME, config).status == sg::Status::interrupted));
    CHECK(app.invoke(sg::resume("b"), config).values.bar == Strings{"ab"});
}
