#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/fork.hpp>
#include <stategraph/json.hpp>

#include "tests/run/handled_errors.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"

// What is stored about a failure and its handler, and how a thread continues after it.
using namespace graphs;
using namespace std::chrono_literals;
using namespace handled_errors;

TEST_CASE("a handler that throws fails the run with its exception, and RESUME runs it again, not the node") {
    savers::onEach([](savers::Store& store) {
        for (const bool beside : {false, true}) {
            for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
                Log log;
                std::atomic<bool> bad{true};
                const auto make = [&](const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
                    Graph graph = broken(log, beside);
                    graph.onError("x", [&](const State&, const sg::NodeFailure& failure) -> Update {
                        log.add("handler");
                        if (bad) throw std::domain_error("no idea");
                        return bar(failure.node + failure.error + std::to_string(failure.attempts));
                    });
                    return graph.compile({.checkpointer = saver});
                };
                const sg::RunConfig config{.thread_id = std::to_string(2 * static_cast<int>(durability) + beside),
                                           .durability = durability};
                bad = true;
                for (int i = 0; i < 2; ++i) {
                    const auto saver = store.open();
                    const App app = make(saver);
                    const auto error = thrown<sg::NodeError>(
                        [&] { i == 0 ? app.invoke(Update{}, config) : app.invoke(sg::RESUME, config); });
                    CHECK(error.message() == "the error handler of node 'x' failed: no idea");
                    CHECK_THROWS_AS(std::rethrow_exception(error.original()), std::domain_error);
                    const auto state = app.getState({.thread_id = config.thread_id});
                    CHECK(state.next == Strings{"x"});
                    CHECK(state.tasks.back().error == "no idea");
                    const auto unfinished = saver->unfinishedThreads();
                    REQUIRE(unfinished.size() == 1);
                    CHECK((unfinished.front().reason == sg::Status::failed));
                }
                bad = false;
                CHECK(make(store.open()).invoke(sg::RESUME, config).values.bar ==
                      (beside ? Strings{"ok", "xx is broken1"} : Strings{"xx is broken1"}));
                CHECK(log.count("x") == 1);
                CHECK(log.count("handler") == 3);
            }
        }
    });
}

// Simulates a process that dies after the failure is stored and before the handler ends: the thread is copied in that
// state, and a new thread continues the copy.
TEST_CASE("after a crash in the handler the handler runs again with the stored text, and the node does not") {
    savers::onEach([](savers::Store& store) {
        for (const bool beside : {false, true}) {
            for (const auto durability : {sg::Durability::async, sg::Durability::sync}) {
                CAPTURE(beside);
                const std::string thread = std::to_string(2 * static_cast<int>(durability) + beside);
                Log log;
                {
                    const auto saver = store.open();
                    Graph graph = broken(log, false);
                    if (beside) graph.addNode("ok", appends(log, "ok")).addEdge(sg::START, "ok");
                    graph.onError("x", [&](const State&, const sg::NodeFailure&) -> Update {
                        saver->copyThread(thread, thread + " at the crash");
                        return bar("never seen");
                    });
                    graph.compile({.checkpointer = saver})
                        .invoke(bar("i"), {.thread_id = thread, .durability = durability, .max_concurrency = 1});
                }
                log.take();
                const auto saver = store.open();
                for (const auto& unfinished : saver->unfinishedThreads()) {
                    if (unfinished.thread_id == thread + " at the crash")
                        CHECK((unfinished.reason == sg::Status::in_flight));
                }
                Graph graph = broken(log, beside);
                graph.onError("x", handles(log));
                const App app = graph.compile({.checkpointer = saver});
                CHECK(app.getState({.thread_id = thread + " at the crash"}).tasks.back().error == "x is broken");
                const auto report = app.recover();
                REQUIRE(report.size() == 1);
                CHECK(report.front().why == "");
                const auto state = app.getState({.thread_id = thread + " at the crash"});
                CHECK(log.count("x") == 0);
                CHECK(log.count("handler") == 1);
                CHECK(state.values.bar == (beside ? Strings{"i", "ok", text} : Strings{"i", text}));
                CHECK(state.next.empty());
                saver->deleteThread(thread + " at the crash");
            }
        }
    });
}

TEST_CASE("what a handled task wrote is kept while a sibling waits, and it leads nowhere but where the handler said") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto make = [&] {
            Graph graph = broken(log, false);
            graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask").onError("x", handles(log));
            return graph.compile({.checkpointer = store.open()});
        };
        CHECK((make().invoke(Update{}, {.thread_id = "t"}).status == sg::Status::interrupted));
        CHECK(log.count("x") == 1);
        CHECK(make().invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}).values.bar == Strings{"ask:yes", text});
        CHECK(log.count("x") == 1);
        CHECK(log.count("handler") == 1);
        CHECK(log.count("next") == 0);
    });
}

TEST_CASE("the failure is stored before the handler is called, and if it cannot be the handler is not called") {
    const auto saver = std::make_shared<RecordingSaver>();
    Log log;
    Graph graph = broken(log, false);
    graph.onError("x", [&](const State&, const sg::NodeFailure&) -> Update {
        log.add("handler");
        CHECK(saver->lines().back() == "write pull:x fsync");
        return {};
    });
    const App app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::sync});
    CHECK(log.take() == Strings{"x", "handler"});
    const std::size_t puts = saver->lines().size();
    saver->before_put = [puts](std::size_t number) {
        // The puts of the input and of __start__ come first.
        if (number == puts + 2) throw sg::SaverError("the disk is full");
    };
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "u", .durability = sg::Durability::sync}), sg::SaverError);
    CHECK(log.take() == Strings{"x"});
}

TEST_CASE("a slow saver has the failure before the handler is called") {
    const auto saver = std::make_shared<RecordingSaver>();
    saver->is_slow = true;
    Log log;
    Graph graph = broken(log, false);
    graph.onError("x", [&](const State&, const sg::NodeFailure&) -> Update {
        CHECK(saver->lines().back() == "write pull:x");
        return bar("handled");
    });
    CHECK(graph.compile({.checkpointer = saver}).invoke(Update{}, {.thread_id = "t"}).values.bar == Strings{"handled"});
}

TEST_CASE("a handler may ask, its questions are not the node's, and its answer is kept") {
    Log log;
    Graph graph;
    graph.addNode("x", [&log](const State&, sg::Runtime& runtime) -> Update {
        log.add("x");
        const auto answer = sg::interrupt<std::string>(runtime, "node?");
        throw std::runtime_error(answer);
    });
    graph.addEdge(sg::START, "x")
        .onError("x", [&log](const State&, const sg::NodeFailure& failure, sg::Runtime& runtime) -> Update {
            log.add("handler");
            return bar(failure.error + "/" + sg::interrupt<std::string>(runtime, "handler?"));
        });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(app.invoke(Update{}, {.thread_id = "t"}).interrupts.at(0).value == sg::Value("node?"));
    const auto second = app.invoke(sg::Command<>{.resume = "one"}, {.thread_id = "t"});
    REQUIRE(second.interrupts.size() == 1);
    CHECK(second.interrupts[0].value == sg::Value("handler?"));
    CHECK(app.invoke(sg::Command<>{.resume = "two"}, {.thread_id = "t"}).values.bar == Strings{"one/two"});
    CHECK(log.take() == Strings{"x", "x", "handler", "handler"});
}

TEST_CASE("a graph without the handler runs the node again, and a fork runs both") {
    Log log;
    std::atomic<bool> bad{true};
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto make = [&](bool handled) {
        Graph graph;
        graph.addNode("x", [&](const State&) -> Update {
            log.add("x");
            if (bad) throw std::runtime_error("x is broken");
            return bar("x");
        });
        graph.addEdge(sg::START, "x");
        if (handled)
            graph.onError("x", [&log](const State&, const sg::NodeFailure&) -> Update {
                log.add("handler");
                throw std::runtime_error("no idea");
            });
        return graph.compile({.checkpointer = saver});
    };
    CHECK_THROWS_AS(make(true).invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
    saver->copyThread("t", "u");
    (void)sg::fork(*saver, {.thread_id = "u"});
    bad = false;
    log.take();
    CHECK(make(false).invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"x"});
    CHECK(make(true).invoke(sg::RESUME, {.thread_id = "u"}).values.bar == Strings{"x"});
    CHECK(log.take() == Strings{"x", "x"});
}
