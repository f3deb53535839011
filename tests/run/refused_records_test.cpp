#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/recover.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/support/door.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// What a superstep stores before its commit belongs to one run: another process' rows are never replaced unseen, and a
// run that was refused leaves no trace.
using namespace graphs;

namespace {

const sg::RunConfig T{.thread_id = "t"};

/// Runs `other` in the middle of a node, once.
struct Meanwhile {
    std::function<void()> other;
    void operator()() {
        if (other) std::exchange(other, nullptr)();
    }
};

/// Runs `meanwhile` before a put.
class Interleaved : public Door {
public:
    Interleaved(std::shared_ptr<sg::BaseCheckpointSaver> store, Meanwhile& meanwhile)
        : Door(std::move(store)), meanwhile_(meanwhile) {}
    void put(const sg::PutRequest& request) override {
        meanwhile_();
        Door::put(request);
    }

private:
    Meanwhile& meanwhile_;
};

/// Three nodes that ask for their names, from two processes.
App asker(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, Log& log, Meanwhile* meanwhile) {
    Graph graph;
    for (const std::string name : {"x", "y", "z"}) {
        graph.addNode(name, [&log, name, meanwhile](const State&, sg::Runtime& runtime) -> Update {
            if (name == "y" && meanwhile != nullptr) (*meanwhile)();
            const auto answer = sg::interrupt<std::string>(runtime, name, name + "?");
            log.add(name);
            return bar(name + answer);
        });
        graph.addEdge(sg::START, name);
    }
    return graph.compile({.checkpointer = saver});
}

Command answer(const char* key, const char* text) { return sg::resume({{key, sg::Value(std::string(text))}}); }

/// START -> pay, which calls `pay` in its `once`.
App payer(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, std::function<Update(sg::Runtime&)> pay,
          sg::NodeOptions options = {}) {
    Graph graph;
    graph.addNode(
        "pay", [pay = std::move(pay)](const State&, sg::Runtime& runtime) { return pay(runtime); }, std::move(options));
    graph.addEdge(sg::START, "pay");
    return graph.compile({.checkpointer = saver});
}

/// Leaves a thread "t" whose node "pay" has not begun.
void leaveThread(const std::shared_ptr<sg::BaseCheckpointSaver>& store) {
    const App app = payer(std::make_shared<Door>(store), [](sg::Runtime&) -> Update { return {}; });
    sg::RunConfig config = T;
    config.interrupt_before = {"pay"};
    (void)app.invoke(Update{}, config);
}

}  // namespace

TEST_CASE("a question is not stored over the result of another process, whose effect happens once") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        savers::onEach([&](savers::Store& store) {
            const auto saver = store.open();
            Log log;
            Meanwhile meanwhile;
            const App one = asker(std::make_shared<Door>(saver), log, &meanwhile);
            const App two = asker(std::make_shared<Door>(saver), log, nullptr);
            (void)one.invoke(Update{}, T);
            meanwhile.other = [&] { (void)two.invoke(answer("y", "2"), T); };
            // One task after the other: "x" has ended when the other process begins.
            const auto first = driver.run(one, answer("x", "1"), {.thread_id = "t", .max_concurrency = 1});
            CAPTURE(first.what());
            CHECK(first.as<sg::ConcurrentUpdateError>() != nullptr);
            auto open = two.getState(T).interrupts();
            for (int i = 0; i < 3 && !open.empty(); ++i) {
                (void)two.invoke(answer(open.front().key.c_str(), "3"), T);
                open = two.getState(T).interrupts();
            }
            CHECK(open.empty());
            CHECK(two.getState(T).values.bar.size() == 3);
            CHECK(two.getState(T).values.bar.at(1) == "y2");
            CHECK(log.count("y") == 1);
        });
    }
}

TEST_CASE("an answer is not stored over one that another process has stored since the thread was read") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        savers::onEach([&](savers::Store& store) {
            const auto saver = store.open();
            const auto other = std::make_shared<Door>(saver);
            Meanwhile meanwhile;
            Graph graph;
            graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
                return bar(sg::interrupt<std::string>(runtime, "q", "?"));
            });
            graph.addEdge(sg::START, "ask");
            const App app = graph.compile({.checkpointer = std::make_shared<Interleaved>(saver, meanwhile)});
            (void)app.invoke(Update{}, T);
            meanwhile.other = [&] { (void)sg::answer(*other, T, sg::Value("no")); };
            const auto run = driver.run(app, answer("q", "yes"), T);
            CHECK(run.as<sg::ConcurrentUpdateError>() != nullptr);
            CHECK(app.invoke(sg::RESUME, T).values.bar == Strings{"no"});
        });
    }
}

TEST_CASE("a commit does not pass over an answer that another process has stored meanwhile") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        savers::onEach([&](savers::Store& store) {
            const auto saver = store.open();
            const auto other = std::make_shared<Door>(saver);
            Meanwhile meanwhile;
            bool asks = true;
            Graph graph;
            graph.addNode("ask", [&](const State&, sg::Runtime& runtime) -> Update {
                meanwhile();
                return bar(asks ? sg::interrupt<std::string>(runtime, "q", "?") : "without an answer");
            });
            graph.addEdge(sg::START, "ask");
            const App app = graph.compile({.checkpointer = std::make_shared<Door>(saver)});
            (void)app.invoke(Update{}, T);
            asks = false;
            meanwhile.other = [&] { (void)sg::answer(*other, T, sg::Value("yes")); };
            const auto run = driver.run(app, sg::RESUME, T);
            CHECK(run.as<sg::ConcurrentUpdateError>() != nullptr);
            asks = true;
            CHECK(app.invoke(sg::RESUME, T).values.bar == Strings{"yes"});
        });
    }
}

TEST_CASE("of two processes that have read the same thread, one begins an effect") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        savers::onEach([&](savers::Store& store) {
            const auto saver = store.open();
            leaveThread(saver);
            Log log;
            Meanwhile meanwhile;
            const auto pay = [&](sg::Runtime& runtime) -> Update {
                meanwhile();
                return bar(runtime.once("pay", [&] {
                    log.add("paid");
                    return std::string("receipt");
                }));
            };
            const App one = payer(std::make_shared<Door>(saver), pay);
            const App two = payer(std::make_shared<Door>(saver), [&](sg::Runtime& runtime) -> Update {
                (void)runtime.once("pay", [&] {
                    log.add("paid");
                    return std::string("receipt");
                });
                throw std::runtime_error("the process ends here");
            });
            meanwhile.other = [&] { CHECK_THROWS_AS(two.invoke(sg::RESUME, T), sg::NodeError); };
            const auto first = driver.run(one, sg::RESUME, T);
            CHECK(first.as<sg::ConcurrentUpdateError>() != nullptr);
            CHECK(log.count("paid") == 1);
            CHECK(one.invoke(sg::RESUME, T).values.bar == Strings{"receipt"});
            CHECK(log.count("paid") == 1);
        });
    }
}

TEST_CASE("a node that catches everything cannot swallow a refusal, and the thread stays in flight") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool fails : {false, true}) {
            CAPTURE(driver.name);
            CAPTURE(fails);
            const auto store = std::make_shared<sg::MemorySaver>();
            leaveThread(store);
            Meanwhile meanwhile;
            int calls = 0;
            const App one = payer(std::make_shared<Door>(store),
                                  [&](sg::Runtime& runtime) -> Update {
                                      ++calls;
                                      meanwhile();
                                      try {
                                          runtime.once("pay", [] {});
                                      } catch (...) {
                                          if (fails) throw std::runtime_error("it did not work");
                                      }
                                      return bar("paid");
                                  },
                                  {.retry = {.max_attempts = 3, .initial_interval = std::chrono::milliseconds(1)}});
            const App two = payer(std::make_shared<Door>(store), [](sg::Runtime& runtime) -> Update {
                runtime.once("pay", [] {});
                throw sg::CancelledError("the process ends here");
            });
            meanwhile.other = [&] { CHECK_THROWS(two.invoke(sg::RESUME, T)); };
            const auto first = driver.run(one, sg::RESUME, T);
            CHECK(first.as<sg::ConcurrentUpdateError>() != nullptr);
            CHECK(calls == 1);
            CHECK(one.getState(T).values.bar.empty());
            CHECK(one.invoke(sg::RESUME, T).values.bar == Strings{"paid"});
        }
    }
}

TEST_CASE("a refusal ends the run also beside a task that has failed by itself") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto store = std::make_shared<sg::MemorySaver>();
        Meanwhile meanwhile;
        const auto make = [&](bool is_first) {
            Graph graph;
            graph.addNode("bad", [](const State&) -> Update { throw std::runtime_error("bad"); });
            graph.addNode("pay", [&meanwhile, is_first](const State&, sg::Runtime& runtime) -> Update {
                if (is_first) meanwhile();
                runtime.once("pay", [] {});
                throw std::runtime_error("after the payment");
            });
            graph.addEdge(sg::START, "bad").addEdge(sg::START, "pay");
            return graph.compile({.checkpointer = std::make_shared<Door>(store)});
        };
        const App one = make(true);
        const App two = make(false);
        sg::RunConfig stopped = T;
        stopped.interrupt_before = {"pay"};
        (void)one.invoke(Update{}, stopped);
        meanwhile.other = [&] { CHECK_THROWS_AS(two.invoke(sg::RESUME, T), sg::NodeError); };
        const auto run = driver.run(one, sg::RESUME, {.thread_id = "t", .max_concurrency = 1});
        CHECK(run.as<sg::ConcurrentUpdateError>() != nullptr);
    }
}

TEST_CASE("new input takes the results of finished tasks of a superstep that waits, failed, or was stopped") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const bool fails : {false, true}) {
            CAPTURE(driver.name);
            CAPTURE(fails);
            savers::onEach([&](savers::Store& store) {
                Graph graph;
                graph.addNode("done", [](const State&) { return bar("done"); });
                graph.addNode("open", [fails](const State& state, sg::Runtime& runtime) -> Update {
                    if (state.n > 1) return {};
                    if (fails) throw std::runtime_error("not now");
                    return bar(sg::interrupt<std::string>(runtime, "q", "?"));
                });
                graph.addNode("after", [](const State&) { return bar("after"); });
                graph.addEdge(sg::START, "done").addEdge(sg::START, "open").addEdge("done", "after");
                const App app = graph.compile({.checkpointer = store.open()});
                const auto first = driver.run(app, Update{sg::add(&State::n, 1)}, T);
                CHECK(first.failed() == fails);
                const auto second = driver.run(app, Update{sg::add(&State::n, 1)}, T);
                REQUIRE(second.what() == "");
                CHECK(second.values.bar == Strings{"done", "done", "after"});
            });
        }
    }
}

TEST_CASE("new input that names the newest checkpoint takes them too, and one at an older checkpoint does not") {
    Graph graph;
    graph.addNode("done", [](const State&) { return bar("done"); });
    graph.addNode("open", [](const State&, sg::Runtime& runtime) -> Update {
        return bar(sg::interrupt<std::string>(runtime, "q", "?"));
    });
    graph.addEdge(sg::START, "done").addEdge(sg::START, "open");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto first = app.invoke(Update{sg::set(&State::foo, "1")}, T);
    (void)app.invoke(Update{sg::set(&State::foo, "2")}, first.config);
    CHECK(app.getState(T).values.bar == Strings{"done", "done"});
    (void)app.invoke(Update{sg::set(&State::foo, "3")}, first.config);
    CHECK(app.getState(T).values.bar == Strings{"done"});
}

TEST_CASE("the log of a subgraph that has not been visited yet can be edited") {
    savers::onEach([](savers::Store& store) {
        Graph inside;
        inside.addNode("i", [](const State&) { return bar("i"); }).addEdge(sg::START, "i");
        Graph outer;
        outer.addNode("sub", inside.compile({.checkpointer = sg::PER_THREAD})).addEdge(sg::START, "sub");
        const App app = outer.compile({.checkpointer = store.open(), .interrupt_before = {"sub"}});
        (void)app.invoke(bar("in"), T);
        (void)app.updateState({.thread_id = "t", .checkpoint_ns = "sub"}, bar("edit"), {.as_node = "i"});
        CHECK(app.getState({.thread_id = "t", .checkpoint_ns = "sub"}).values.bar == Strings{"edit"});
    });
}

TEST_CASE("nothing of a run is stored in a thread that was deleted under it, whatever it begins then") {
    for (const drivers::Driver& driver : drivers::all()) {
        for (const int kind : {0, 1, 2}) {
            CAPTURE(driver.name);
            CAPTURE(kind);
            savers::onEach([&](savers::Store& store) {
                const auto saver = store.open();
                Graph inside;
                inside.addNode("i", [](const State&) { return bar("i"); }).addEdge(sg::START, "i");
                const App inner = kind == 1 ? inside.compile({.checkpointer = sg::PER_THREAD}) : inside.compile();
                Graph outer;
                outer.addNode("a", [&](const State&, sg::Runtime& runtime) -> Update {
                    saver->deleteThread("t");
                    if (kind == 2) (void)runtime.invoke(inner, Update{sg::add(&State::n, 7)}, "key");
                    return bar("a");
                });
                outer.addEdge(sg::START, "a");
                if (kind < 2) outer.addNode("sub", inner).addEdge(sg::START, "sub");
                const App app = outer.compile({.checkpointer = saver});
                const auto run = driver.run(app, bar("in"), {.thread_id = "t", .max_concurrency = 1});
                CHECK(run.as<sg::ConcurrentUpdateError>() != nullptr);
                CHECK(saver->list({}).empty());
            });
        }
    }
}
