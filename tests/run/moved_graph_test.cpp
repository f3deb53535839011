#include <memory>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"

// A CompiledGraph that was moved from: every call says so, and it can be assigned to.
using namespace graphs;

TEST_CASE("a compiled graph that was moved from is refused by a sentence, and can be assigned to") {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    App from = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    App to = std::move(from);
    const auto refuses = [](auto call) {
        CHECK_THROWS_WITH_AS(call(), doctest::Contains("the CompiledGraph was moved from"), sg::InvalidArgumentError);
    };
    const sg::RunConfig config{.thread_id = "t"};
    // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
    refuses([&] { from.invoke(Update{}, config); });
    refuses([&] { from.invoke(sg::RESUME, config); });
    refuses([&] { from.invoke(sg::resume(1), config); });
    refuses([&] { from.submit(Update{}, config); });
    refuses([&] { from.stream(Update{}, config, {}); });
    refuses([&] { from.stream(Update{}, config, {}, [](const sg::StreamEvent&) {}); });
    refuses([&] { from.getState(config); });
    refuses([&] { from.getStateHistory(config); });
    refuses([&] { from.updateState(config, {}); });
    refuses([&] { from.cancelThread("t"); });
    refuses([&] { from.recover(); });
    refuses([&] { from.clearCache(); });
    refuses([&] { from.toMermaid(); });
    refuses([&] { sg::syncWait(from.asyncInvoke(Update{}, config)); });
    refuses([&] { (void)from.asyncStream(Update{}, config, {}); });
    refuses([&] { sg::StreamHub hub(from); });
    refuses([&] { Graph().addNode("inner", from); });
    // NOLINTEND(bugprone-use-after-move)
    CHECK(to.invoke(Update{}, config).values.bar == Strings{"a"});
    from = to;
    CHECK(from.getState(config).values.bar == Strings{"a"});
}
