// A run whose process's lease has ended by the process's own clock.
#include <atomic>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/stategraph.hpp>

#include "src/threads/run_control.hpp"

namespace {

namespace sg = stategraph;

struct State {
    int effects = 0;
    std::vector<int> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::effects>(), sg::channel<&State::log>(sg::append));
    }
};

}  // namespace

TEST_CASE("when the lease of a thread has ended, its run calls no function of once, and no further node") {
    for (const bool catches : {false, true}) {
        CAPTURE(catches);
        std::atomic<bool> lasts{true};
        int effects = 0;
        int later = 0;
        sg::StateGraph<State> graph;
        graph.addNode("first", [&](const State&, sg::Runtime& runtime) -> sg::Update<State> {
            runtime.once("before", [&] { ++effects; });
            lasts = false;  // as if the process had been frozen here
            try {
                runtime.once("after", [&] { ++effects; });
            } catch (const std::exception&) {
                if (!catches) throw;
            }
            return {};
        });
        graph.addNode("next", [&](const State&) -> sg::Update<State> {
            ++later;
            return {};
        });
        graph.addEdge(sg::START, "first").addEdge("first", "next").addEdge("next", sg::END);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto app = graph.compile({.checkpointer = saver});
        const auto control = std::make_shared<sg::RunControl>();
        sg::detail::RunControlLease::set(*control, [&] { return lasts.load(); });
        const auto ended = app.invoke(sg::Update<State>{}, {.thread_id = "t", .control = control});
        CHECK((ended.status == sg::Status::cancelled));
        CHECK(effects == 1);
        CHECK(later == 0);
        CHECK(control->stopRequested());

        lasts = true;
        const auto done = app.invoke(sg::RESUME, {.thread_id = "t", .control = std::make_shared<sg::RunControl>()});
        CHECK((done.status == sg::Status::done));
        CHECK(later == 1);
    }
}

TEST_CASE("a control inside another one ends with the lease of the outer one") {
    std::atomic<bool> lasts{true};
    const auto outer = std::make_shared<sg::RunControl>();
    sg::detail::RunControlLease::set(*outer, [&] { return lasts.load(); });
    const sg::RunControl inner(outer);
    CHECK_FALSE(inner.stopRequested());
    lasts = false;
    CHECK(inner.stopRequested());
}
