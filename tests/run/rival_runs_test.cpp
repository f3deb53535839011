#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/door.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Processes that resume one thread at the same time, inside whose superstep graphs are under way.
using namespace graphs;
using sg::Status;
using sg::testing::FaultSaver;

namespace {

/// START -> first, second (graphs of two nodes "a" and "b") -> last.
enum class Shape { subgraphs, calls, deep };

/// `at` is called in each node inside: with the number of the graph and the node's name.
template <class At>
App make(Shape shape, const std::shared_ptr<sg::BaseCheckpointSaver>& saver, Log& log, At at) {
    const auto inside = [&at](int number) {
        Graph graph;
        for (const char* name : {"a", "b"}) {
            graph.addNode(name, [at, number, name](const State&) -> Update {
                at(number, std::string_view(name));
                return bar(name);
            });
        }
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        return graph.compile();
    };
    Graph graph;
    const std::array<const char*, 2> names{"first", "second"};
    for (int number = 0; number < 2; ++number) {
        const char* const name = names.at(static_cast<std::size_t>(number));
        if (shape == Shape::calls) {
            graph.addNode(name, [called = inside(number)](const State&, sg::Runtime& runtime) -> Update {
                (void)runtime.invoke(called, Update{}, "call");
                return {};
            });
        } else {
            graph.addNode(name, inside(number));
        }
        graph.addEdge(sg::START, name);
    }
    graph.addNode("last", appends(log, "last")).addEdge({"first", "second"}, "last");
    if (shape != Shape::deep) return graph.compile({.checkpointer = saver});
    Graph outer;
    outer.addNode("outer", graph.compile()).addEdge(sg::START, "outer");
    return outer.compile({.checkpointer = saver});
}

/// Leaves a thread "t" as a process does that dies when both graphs have begun.
void leaveThread(Shape shape, const std::shared_ptr<sg::BaseCheckpointSaver>& store, Log& log) {
    const auto saver = std::make_shared<FaultSaver>(store);
    std::latch have_begun{2};
    const auto die = [&](int, std::string_view) {
        have_begun.arrive_and_wait();
        saver->arm({.fail_at = 1, .once = false, .calls = sg::testing::SaverCalls::put});
    };
    const App app = make(shape, saver, log, die);
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::sync}), sg::SaverError);
}

/// Two processes recover the thread. Process 0 is first in the graph 0, and process 1 in the graph 1: each ends the
/// node "a" of the other's graph when both are ahead in their own.
std::array<sg::RecoverReport, 2> recoverAtOnce(Shape shape, const std::shared_ptr<sg::BaseCheckpointSaver>& store,
                                               Log& log) {
    Meeting have_read(4);  // each process has read both logs
    std::array<Signal, 2> is_ahead;
    const auto recover = [&](int process) {
        std::array<std::atomic<bool>, 2> have_begun = {};
        return make(shape, std::make_shared<Door>(store), log,
                    [&, process](int graph, std::string_view node) {
                        const auto number = static_cast<std::size_t>(graph);
                        if (node == "b") {
                            if (graph != process) return;
                            is_ahead.at(number).give();
                            return;
                        }
                        if (!have_begun.at(number).exchange(true)) have_read.arrive();
                        if (graph == process) return;
                        for (Signal& ahead : is_ahead) ahead.await();
                    })
            .recover();
    };
    auto other = std::async(std::launch::async, [&] { return recover(1); });
    auto first = recover(0);
    return {std::move(first), other.get()};
}

/// Resumes the thread as another process, is first in one of the graphs, and dies in the node after that.
void beFirstAndDie(Shape shape, const std::shared_ptr<sg::BaseCheckpointSaver>& store, Log& log,
                   const std::string& thread) {
    const auto saver = std::make_shared<FaultSaver>(store);
    const App rival = make(shape, saver, log, [&](int, std::string_view node) {
        if (node == "a") return;
        saver->arm({.fail_at = 1, .once = false, .calls = sg::testing::SaverCalls::put});
        throw std::runtime_error("dies");
    });
    CHECK_THROWS(rival.invoke(sg::RESUME, {.thread_id = thread, .max_concurrency = 1}));
}

}  // namespace

TEST_CASE(
    "two processes recover a thread, each first in another graph inside: one finishes it, or else the next does") {
    for (const Shape shape : {Shape::subgraphs, Shape::calls, Shape::deep}) {
        CAPTURE(static_cast<int>(shape));
        const auto store = std::make_shared<sg::MemorySaver>();
        Log log;
        leaveThread(shape, store, log);
        const auto reports = recoverAtOnce(shape, store, log);
        for (const auto& report : reports) REQUIRE(report.size() == 1);
        const bool has_first = reports[0][0].status.has_value();
        const bool has_other = reports[1][0].status.has_value();
        CHECK_FALSE((has_first && has_other));
        // Both are refused if one stores the end of a graph between the other's reading and its put (docs/status.md).
        if (!has_first && !has_other) {
            CHECK(log.count("last") == 0);
            (void)make(shape, std::make_shared<Door>(store), log, [](int, std::string_view) {}).recover();
        }
        CHECK(log.count("last") == 1);
        CHECK(store->unfinishedThreads().empty());
    }
}

TEST_CASE("a run that was too late inside leaves the thread in flight, as the other one, which may have died since") {
    savers::onEach([](savers::Store& store) {
        for (const drivers::Driver& driver : drivers::crossed()) {
            for (const Shape shape : {Shape::subgraphs, Shape::calls, Shape::deep}) {
                CAPTURE(driver.name);
                CAPTURE(static_cast<int>(shape));
                const auto saver = store.open();
                const std::string thread = driver.name + std::to_string(static_cast<int>(shape));
                Log log;
                std::atomic<bool> has_rival = false;
                const App app = make(shape, saver, log, [&](int, std::string_view) {
                    if (!has_rival.exchange(true)) beFirstAndDie(shape, saver, log, thread);
                });
                const auto outcome = driver.run(
                    app, Update{}, {.thread_id = thread, .durability = sg::Durability::sync, .max_concurrency = 1});
                CHECK(outcome.template as<sg::ConcurrentUpdateError>() != nullptr);
                const auto found = saver->unfinishedThreads({.thread_ids = {thread}});
                REQUIRE(found.size() == 1);
                CHECK((found[0].reason == Status::in_flight));
                CHECK((app.recover().at(0).status == sg::Status::done));
                CHECK(log.count("last") == 1);
            }
        }
    });
}

TEST_CASE("the end of a task that was too late inside has the reason, which is not stored as its failure") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    std::atomic<bool> has_rival = false;
    const App app = make(Shape::subgraphs, saver, log, [&](int, std::string_view) {
        if (!has_rival.exchange(true)) beFirstAndDie(Shape::subgraphs, saver, log, "t");
    });
    Strings refused;
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::sync, .max_concurrency = 1};
    const auto note = [&](const sg::StreamEvent& event) {
        const std::string json = event.data.toJson();
        if (json.find("\"error\":\"another run committed first") != std::string::npos) refused.push_back(event.node);
    };
    CHECK_THROWS_AS(app.stream(Update{}, config, {.modes = sg::StreamMode::tasks}, note), sg::ConcurrentUpdateError);
    CHECK(refused == Strings{"first"});
    for (const auto& task : app.getState({.thread_id = "t"}).tasks) CHECK_FALSE(task.error.has_value());
}
