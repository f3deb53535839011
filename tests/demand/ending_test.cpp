#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/support/door.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Runs that are cancelled wherever a run can be: in a wait, an effect, a subgraph, a commit, or a queue for its thread.
using namespace graphs;
using namespace std::chrono_literals;
using sg::Status;

namespace {

/// A saver whose puts wait for the test once `holds` is set.
class Held final : public Door {
public:
    using Door::Door;
    std::atomic<bool> holds{false};
    std::latch in_put{1};
    std::latch go_on{1};

    void put(const sg::PutRequest& request) override {
        if (holds.exchange(false)) {
            in_put.count_down();
            go_on.wait();
        }
        Door::put(request);
    }
};

sg::RunConfig with(const std::shared_ptr<sg::RunControl>& control) {
    sg::RunConfig config;
    config.thread_id = "t";
    config.control = control;
    return config;
}

const sg::Config thread_t{.thread_id = "t"};

// Runs `graph` (a node before, "here", a node after), stops it when "here" says so, and resumes it. Nothing is lost or
// doubled, nothing of the stopped attempt is kept, and the thread stays cancelled until it is resumed.
template <class Here>
void stopsIn(savers::Store& store, Here here) {
    auto saver = store.open();
    auto control = std::make_shared<sg::RunControl>();
    std::latch is_there(1);
    std::atomic<bool> again{false};
    Log log;
    Graph graph;
    graph.addNode("before", appends(log, "before")).addNode("after", appends(log, "after"));
    here(graph, is_there, again);
    graph.addEdge(sg::START, "before").addEdge("before", "here").addEdge("here", "after");
    const auto app = graph.compile({.checkpointer = saver});
    std::jthread stopper([&] {
        is_there.wait();
        control->requestStop();
    });
    const auto result = app.invoke({}, with(control));
    CHECK((result.status == Status::cancelled));
    CHECK(result.values.bar == Strings{"before"});
    CHECK(app.recover().empty());
    const auto unfinished = saver->unfinishedThreads();
    REQUIRE(unfinished.size() == 1);
    CHECK((unfinished.front().reason == Status::cancelled));
    CHECK(unfinished.front().error.empty());
    again = true;
    CHECK(app.invoke(sg::RESUME, thread_t).values.bar == Strings{"before", "here", "after"});
    CHECK(log.take() == Strings{"before", "after"});
    CHECK(saver->unfinishedThreads().empty());
}

}  // namespace

TEST_CASE("cancelled in a wait") {
    savers::onEach([](savers::Store& store) {
        stopsIn(store, [](Graph& graph, std::latch& is_there, std::atomic<bool>& again) {
            graph.addNode("here", [&](const State&, sg::Runtime& rt) -> Update {
                if (again) return bar("here");
                is_there.count_down();
                rt.waitFor(1h);
                return bar("never");
            });
        });
    });
}

TEST_CASE("cancelled in an effect: its result is not stored, so it is in doubt and done again") {
    savers::onEach([](savers::Store& store) {
        std::atomic<int> effects{0};
        stopsIn(store, [&effects](Graph& graph, std::latch& is_there, std::atomic<bool>& again) {
            graph.addNode("here", [&](const State&, sg::Runtime& rt) -> Update {
                rt.once("pay", [&] {
                    ++effects;
                    if (again) return;
                    is_there.count_down();
                    rt.waitFor(1h);
                });
                return bar("here");
            });
        });
        CHECK(effects == 2);
    });
}

TEST_CASE("cancelled in a subgraph") {
    savers::onEach([](savers::Store& store) {
        std::atomic<int> firsts{0};
        stopsIn(store, [&firsts](Graph& graph, std::latch& is_there, std::atomic<bool>& again) {
            Graph inner;
            inner.addNode("first", [&firsts](const State&) -> Update {
                ++firsts;
                return {sg::set(&State::foo, "inner")};
            });
            inner.addNode("second", [&](const State& state, sg::Runtime& rt) -> Update {
                if (again) return {sg::overwrite(&State::bar, Strings{state.foo == "inner" ? "here" : "wrong"})};
                is_there.count_down();
                rt.waitFor(1h);
                return {};
            });
            inner.addEdge(sg::START, "first").addEdge("first", "second");
            graph.addNode(
                "here", inner.compile(), [](const State&) -> Update { return {}; },
                [](const State& state) -> Update { return {sg::add(&State::bar, state.bar)}; });
        });
        CHECK(firsts == 1);  // what was committed inside is kept
    });
}

TEST_CASE("cancelled in a commit: the commit ends, and the run after it") {
    savers::onEach([](savers::Store& store) {
        auto saver = std::make_shared<Held>(store.open());
        auto control = std::make_shared<sg::RunControl>();
        Graph graph;
        graph.addNode("a", [&saver](const State&) -> Update {
            saver->holds = true;
            return bar("a");
        });
        graph.addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
        const auto app = graph.compile({.checkpointer = saver});
        std::jthread stopper([&] {
            saver->in_put.wait();
            control->requestStop();
            saver->go_on.count_down();
        });
        const auto result = app.invoke({}, with(control));
        CHECK((result.status == Status::cancelled));
        CHECK(result.values.bar == Strings{"a"});
        CHECK(app.getState(thread_t).values.bar == Strings{"a"});
        CHECK(app.invoke(sg::RESUME, thread_t).values.bar == Strings{"a", "b"});
    });
}

TEST_CASE("cancelled while it waits for its turn on the thread: an error, and nothing was done") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        std::latch holds(1);
        std::latch let_go(1);
        Graph graph;
        graph.addNode("a", [&](const State& state) -> Update {
            if (state.foo == "holder") {
                holds.count_down();
                let_go.wait();
            }
            return bar(state.foo);
        });
        graph.addEdge(sg::START, "a");
        const auto app = graph.compile({.checkpointer = saver});
        std::jthread holder([&] { app.invoke({sg::set(&State::foo, "holder")}, thread_t); });
        holds.wait();
        auto control = std::make_shared<sg::RunControl>();
        sg::RunConfig config = with(control);
        config.on_busy = sg::OnBusy::wait;
        config.busy_timeout = 1h;
        std::jthread stopper([&] {
            // sleeps: usually enough; what is checked holds in any case
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            control->requestStop();
        });
        CHECK_THROWS_WITH_AS(app.invoke({sg::set(&State::foo, "late")}, config),
                             doctest::Contains("before it had its turn"), sg::CancelledError);
        config.control.reset();
        config.timeout = 10ms;
        CHECK_THROWS_AS(app.invoke({sg::set(&State::foo, "later")}, config), sg::CancelledError);
        let_go.count_down();
        holder.join();
        CHECK(app.getState(thread_t).values.bar == Strings{"holder"});
    });
}
