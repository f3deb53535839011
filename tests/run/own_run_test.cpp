#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/until.hpp"

// Calls that a node, a router or a callback makes on the thread of its own run: a wait for that run is refused.
using namespace graphs;
using namespace std::chrono_literals;

TEST_CASE("a call that would wait for the run that it is made in is refused immediately") {
    const auto patience = 5s;
    for (const bool has_sibling : {false, true}) {
        for (const bool is_apart : {false, true}) {
            CAPTURE(has_sibling);
            CAPTURE(is_apart);
            std::optional<App> self;
            const auto refuses = [&](auto call) {
                CHECK_THROWS_WITH_AS(call(), doctest::Contains("would wait for the run that it was made in"),
                                     sg::ThreadBusyError);
            };
            const auto calls = [&] {
                for (const auto on_busy : {sg::OnBusy::wait, sg::OnBusy::replace}) {
                    refuses([&] {
                        self->invoke(Update{}, {.thread_id = "t", .on_busy = on_busy, .busy_timeout = patience});
                    });
                    refuses([&] {
                        self->updateState({.thread_id = "t"}, bar("edit"),
                                          {.as_node = "a", .on_busy = on_busy, .busy_timeout = patience});
                    });
                }
            };
            Graph graph;
            graph.addNode("a", [&](const State&) -> Update {
                calls();
                return bar("a");
            });
            graph.addNode("b", appends("b")).addEdge(sg::START, "a").addEdge(has_sibling ? sg::START : "a", "b");
            graph.addConditionalEdges("b", [&](const State&) {
                calls();
                return std::string(sg::END);
            });
            self = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
            sg::RunConfig config{.thread_id = "t"};
            if (is_apart) config.control = std::make_shared<sg::RunControl>();
            CHECK(self->invoke(Update{}, config).values.bar == Strings{"a", "b"});
            int events = 0;
            (void)self->stream(Update{}, config, {.modes = {sg::StreamMode::updates}}, [&](const sg::StreamEvent&) {
                if (events++ == 0) calls();
            });
            CHECK(events == 2);
            for (const auto& event : self->stream(Update{}, config, {.modes = {sg::StreamMode::custom}})) (void)event;
        }
    }
}

TEST_CASE("a node that cancels its own thread is refused the wait for its run, and the cancel is stored") {
    std::optional<App> self;
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        CHECK_THROWS_AS(self->cancelThread("t", {.busy_timeout = 5s}), sg::ThreadBusyError);
        return bar("a");
    });
    graph.addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
    self = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .interrupt_after = {"a"}});
    (void)self->invoke(Update{}, {.thread_id = "t"});
    const auto state = self->getState({.thread_id = "t"});
    CHECK(state.cancelled);
    CHECK(state.next.empty());
}

TEST_CASE("an abandoned node may wait for its thread's next turn, because its run does not wait for it") {
    std::optional<App> self;
    std::promise<void> is_over;
    std::promise<sg::Status> waited;
    std::atomic<int> calls{0};
    Graph graph;
    graph.addNode("a", [&](const State&) -> Update {
        if (calls++ > 0) return bar("a");
        is_over.get_future().wait();
        try {
            waited.set_value(self->invoke(Update{}, {.thread_id = "t", .on_busy = sg::OnBusy::wait}).status);
        } catch (...) {
            waited.set_exception(std::current_exception());
        }
        return {};
    });
    graph.addEdge(sg::START, "a");
    self = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto control = std::make_shared<sg::RunControl>();
    std::jthread stops([&] {
        patience::until([&] { return calls != 0; });
        control->requestStop();
    });
    CHECK((self->invoke(Update{}, {.thread_id = "t", .control = control}).status == sg::Status::cancelled));
    is_over.set_value();
    CHECK((waited.get_future().get() == sg::Status::done));
}
