#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "inspect/run_chart.hpp"
#include "tests/support/inspected.hpp"

// What a chart has if the run is longer than a chart, and which graphs inside it.
namespace sg = stategraph;
using namespace inspected;
using sg::inspect::ChartBar;

namespace charts {

const sg::Config log{.thread_id = "t"};

}  // namespace charts

TEST_CASE("a chart that is too long has the end of the run, and the task around each subgraph that it has") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph outer;
    outer.addNode("inner", graph().compile()).addNode("before", note("before"));
    outer.addEdge(sg::START, "before").addEdge("before", "inner");
    const App app = outer.compile({.checkpointer = saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
    const auto whole = sg::inspect::readRunChart(*saver, charts::log);
    CHECK_FALSE(whole.is_cut);
    CHECK(whole.bars.back().name == "ask");
    for (std::size_t limit = 2; limit < whole.bars.size(); ++limit) {
        CAPTURE(limit);
        const auto cut = sg::inspect::readRunChart(*saver, charts::log, {.bars = limit});
        CHECK(cut.is_cut);
        REQUIRE(cut.bars.size() == limit);
        CHECK(cut.bars.front().depth == 0);
        CHECK(cut.bars.back().name == "ask");
        CHECK(std::ranges::count(cut.bars, "inner", &ChartBar::name) == 1);
    }
    const auto exact = sg::inspect::readRunChart(*saver, charts::log, {.bars = whole.bars.size()});
    CHECK_FALSE(exact.is_cut);
    CHECK(exact.bars.size() == whole.bars.size());
    // A subgraph that may not be read is missing, and the chart says so.
    const auto outside = sg::inspect::readRunChart(*saver, charts::log, {.entries = 1});
    CHECK(outside.is_cut);
    CHECK(std::ranges::count(outside.bars, "ask", &ChartBar::name) == 0);
}

TEST_CASE("a chart has the graphs that a node calls, whatever their keys are") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App called = graph().compile();
    Graph outer;
    outer
        .addNode("calls",
                 [&](const Order&, sg::Runtime& runtime) -> Update {
                     runtime.invoke(called, Update{sg::set(&Order::topic, std::string("tea"))}, "a:b");
                     return {};
                 })
        .addEdge(sg::START, "calls");
    outer.compile({.checkpointer = saver}).invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "t"});
    const auto chart = sg::inspect::readRunChart(*saver, charts::log);
    const auto asks = std::ranges::find(chart.bars, "ask", &ChartBar::name);
    REQUIRE(asks != chart.bars.end());
    CHECK(asks->depth == 1);
    CHECK(asks->state == "asks");
    CHECK(asks->checkpoint_ns.starts_with("calls:"));
    CHECK(asks->checkpoint_ns.ends_with(":a:b"));
    CHECK_FALSE(chart.is_cut);
}
