#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include <stategraph/memory_saver.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/support/until.hpp"

// A node fails while a subgraph beside it is drained.
namespace sg = stategraph;

namespace {

struct Note {
    std::string text = {};
    std::string other = {};
    static constexpr auto channels() { return sg::channels<&Note::text, &Note::other>(); }
};

}  // namespace

TEST_CASE("a thread whose node failed while a subgraph beside it was drained has failed, and is not recovered") {
    const auto control = std::make_shared<sg::RunControl>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    int failures = 0;
    sg::StateGraph<Note> inner;
    inner.addNode("first", [&](const Note&) { control->requestDrain(); });
    inner.addNode("second", [](const Note&) { return sg::set<&Note::text>("reached"); });
    inner.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
    sg::StateGraph<Note> graph;
    graph.addNode("inside", inner.compile());
    graph.addNode("wrong", [&](const Note&) {
        patience::until([&] { return control->drainRequested(); });
        ++failures;
        throw std::runtime_error("no");
    });
    graph.addEdge(sg::START, "inside").addEdge(sg::START, "wrong");
    graph.addEdge("inside", sg::END).addEdge("wrong", sg::END);
    sg::CompileOptions options;
    options.checkpointer = saver;
    const auto app = graph.compile(options);
    sg::RunConfig config{.thread_id = "t"};
    config.control = control;
    config.max_concurrency = 2;
    CHECK_THROWS_AS(app.invoke({}, config), sg::NodeError);
    const auto unfinished = saver->unfinishedThreads({});
    REQUIRE(unfinished.size() == 1);
    CHECK((unfinished[0].reason == sg::Status::failed));
    CHECK(app.recover({}).empty());
    CHECK(failures == 1);
}
