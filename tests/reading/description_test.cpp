#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "tests/support/inspected.hpp"
#include "tests/support/savers.hpp"

// The structure of a graph, stored with the threads of that graph.
namespace sg = stategraph;
using namespace inspected;

namespace {
Update about(std::string topic) { return {sg::set(&Order::topic, std::move(topic))}; }
}  // namespace

TEST_CASE("a description says what the graph is, as JSON and back") {
    const App app = graph().compile();
    const sg::GraphDescription description = sg::describeGraph(app);
    CHECK(description.nodes.size() == 7);
    CHECK(description.find("last")->deferred);
    CHECK(description.edges.size() == 4);
    REQUIRE(description.joins.size() == 1);
    CHECK(description.joins[0].from == std::vector<std::string>{"left", "right"});
    REQUIRE(description.branches.size() == 1);
    CHECK((*description.branches[0].ends)[0].to == "price");
    REQUIRE(description.gotos.size() == 1);
    CHECK(description.gotos[0].to == std::vector<std::string>{"ask"});
    CHECK(description.channels[1].name == "notes");
    CHECK(description.channels[1].kind == "reduced");
    CHECK(description.channels[1].initial == sg::Value(std::vector<std::string>()));
    CHECK(!description.channels[0].initial);
    const std::string json = sg::toJson(description);
    CHECK(sg::toJson(sg::fromJson<sg::GraphDescription>(json)) == json);
    CHECK_THROWS_AS(sg::fromJson<sg::GraphDescription>(R"({"fingerprint":"x"})"), sg::WrongTypeError);
}

TEST_CASE("a run stores the description of its graph, and of a subgraph, under their fingerprints") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Graph outer;
        outer.addNode("inner", graph().compile()).addEdge(sg::START, "inner");
        const App app = outer.compile({.checkpointer = saver});
        CHECK(!sg::readGraph(*saver, sg::describeGraph(app).fingerprint));
        app.invoke(about("tea"), {.thread_id = "t"});
        const auto stored = sg::readGraph(*saver, {.thread_id = "t"});
        REQUIRE(stored);
        CHECK(sg::toJson(*stored) == sg::toJson(sg::describeGraph(app)));
        REQUIRE(stored->nodes[0].subgraph);
        const auto inner = sg::readGraph(*saver, *stored->nodes[0].subgraph);
        REQUIRE(inner);
        CHECK(inner->joins.size() == 1);
        CHECK(!sg::readGraph(*saver, {.thread_id = "nobody"}));
    });
}

TEST_CASE("an old thread keeps the graph that made it when the program has another") {
    savers::onEach([](savers::Store& store) {
        {
            const auto saver = store.open();
            graph().compile({.checkpointer = saver}).invoke(about("tea"), {.thread_id = "old"});
        }
        const auto saver = store.open();
        Graph changed;
        changed.addNode("other", note("other")).addEdge(sg::START, "other");
        changed.compile({.checkpointer = saver}).invoke(about("tea"), {.thread_id = "new"});
        CHECK(sg::readGraph(*saver, {.thread_id = "old"})->nodes.size() == 7);
        CHECK(sg::readGraph(*saver, {.thread_id = "new"})->nodes.size() == 1);
    });
}

TEST_CASE("readers show renamed nodes by the names that users know") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph renamed;
    renamed
        .addNode("asks",
                 [](const Order&, sg::Runtime& runtime) -> Update {
                     return {sg::set(&Order::topic, sg::interrupt<std::string>(runtime, "?"))};
                 },
                 {.stored_as = "ask_before"})
        .addEdge(sg::START, "asks");
    renamed.compile({.checkpointer = saver}).invoke(about("tea"), {.thread_id = "t"});
    CHECK(sg::readCheckpoint(*saver, {.thread_id = "t"})->next == std::vector<std::string>{"asks"});
}

TEST_CASE("a memory saver keeps a limited number of descriptions") {
    sg::MemorySaver saver;
    for (std::uint64_t i = 0; i < 1000; ++i) saver.putGraph({i, 0}, "\xf6");
    std::size_t kept = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) kept += saver.getGraph({i, 0}).has_value();
    CHECK(kept == 256);
    saver.putGraph({0, 0}, std::string("\xa0"));
    CHECK(saver.getGraph({0, 0}) == std::string("\xa0"));
    saver.putGraph({0, 0}, std::string(std::size_t{17} << 20U, 'x'));
    CHECK(saver.getGraph({0, 0}) == std::string("\xa0"));
}
