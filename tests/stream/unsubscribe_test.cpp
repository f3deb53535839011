// ALSO PLAIN: it fails or counts allocations
// NOT WITH: sanitize=thread
#include <doctest/doctest.h>

#include <optional>

#include <stategraph/stategraph.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/failing_new.hpp"

namespace sg = stategraph;

namespace {

struct Watched {
    int n = 0;
    static constexpr auto channels() { return sg::channels<&Watched::n>(); }
};

}  // namespace

TEST_CASE("a subscription can be destroyed without memory") {
    if (!failing_new::available()) return;
    sg::StateGraph<Watched> graph;
    graph.addNode("n", [](const Watched& state) -> sg::Update<Watched> { return {sg::set<&Watched::n>(state.n + 1)}; });
    graph.addEdge(sg::START, "n").addEdge("n", sg::END);
    const auto app = graph.compile();
    sg::StreamHub hub(app);
    const sg::ThreadId thread("t");
    const sg::Subscription stays = hub.subscribe(thread);
    std::optional<sg::Subscription> ends = hub.subscribe(thread);
    CHECK(hub.subscribers() == 2);
    failing_new::arm(1, 1000);
    ends.reset();
    CHECK(failing_new::disarm() > 0);
    const sg::Subscription next = hub.subscribe(thread);  // removes the subscription that could not be removed before
    CHECK(hub.subscribers() == 2);
}
