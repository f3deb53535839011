#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Which of many equal tasks failed: errors and snapshots name the Send and its payload, and state each fact once.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

constexpr sg::NodeId<int> work{"work"};

/// Sends 10, 11, 12 and 13 to "work", which fails for odd numbers.
Graph oddFails() {
    Graph graph;
    graph.addNode(work, [](int number) -> Update {
        if (number % 2 == 1) throw std::runtime_error("odd");
        return {sg::add(&State::n, number)};
    });
    graph.addConditionalEdges(sg::START,
                              [](const State&) {
                                  return std::vector<sg::Send>{work(10), work(11), work(12), work(13)};
                              },
                              {work.name});
    return graph;
}

std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a failed Send's error and snapshot name its index and its payload, in every driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        const App app = oddFails().compile(
            {.checkpointer = std::make_shared<sg::MemorySaver>(), .on_failure = sg::FailurePolicy::collect});
        const auto outcome = driver.run(app, Update{}, {.thread_id = "t", .max_concurrency = 1});
        const auto* error = outcome.as<sg::NodeError>();
        REQUIRE(error != nullptr);
        CHECK((error->sendIndex() == std::optional<std::uint64_t>(1)));
        CHECK(error->input() == sg::Value(11));
        CHECK(outcome.what() ==
              "node 'work' failed: odd [thread 't', step 1, node 'work', send 1 with 11]\n"
              "  and: node 'work' failed: odd [send 3 with 13]");
        const auto snapshot = app.getState({.thread_id = "t"});
        REQUIRE(snapshot.tasks.size() == 4);
        for (int i = 0; i < 4; ++i) {
            CHECK(snapshot.tasks[static_cast<std::size_t>(i)].input == sg::Value(10 + i));
            CHECK(snapshot.tasks[static_cast<std::size_t>(i)].error ==
                  (i % 2 == 1 ? std::optional<std::string>("odd") : std::nullopt));
        }
        CHECK(toJson(snapshot).find("\"input\":11") != std::string::npos);
        for (const auto& each : app.getStateHistory({.thread_id = "t"})) {
            for (const auto& task : each.tasks) CHECK(task.input.isNull() == task.path.starts_with("pull:"));
        }
    }
}

TEST_CASE("an error of a node without a Send has none, and a long payload is shortened where people read it") {
    Graph graph;
    graph.addNode("x", [](const State&) -> Update { throw std::runtime_error("no"); }).addEdge(sg::START, "x");
    try {
        graph.compile().invoke(Update{});
        FAIL("it must throw");
    } catch (const sg::NodeError& error) {
        CHECK(!error.sendIndex());
        CHECK(error.input().isNull());
    }
    Graph sends;
    sends.addNode("y", [](const std::string&) -> Update { throw std::runtime_error("no"); });
    std::string payload;
    for (int i = 0; i < 200; ++i) payload += "\xC3\xA4";
    sends.addConditionalEdges(sg::START,
                              [payload](const State&) { return std::vector<sg::Send>{sg::Send("y", payload)}; }, {"y"});
    try {
        sends.compile().invoke(Update{});
        FAIL("it must throw");
    } catch (const sg::NodeError& error) {
        CHECK(error.input() == sg::Value(payload));
        const std::string what = error.what();
        CHECK(what.size() < 300);
        CHECK(what.find("\xC3\xA4...") != std::string::npos);
    }
}

TEST_CASE("an error inside a subgraph that a Send visits is named by its own task") {
    Graph inner;
    inner.addNode("x", [](const State&) -> Update { throw std::runtime_error("no"); }).addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("inner", inner.compile());
    graph.addConditionalEdges(
        sg::START, [](const State&) { return std::vector<sg::Send>{sg::Send("inner", State{.foo = "f"})}; }, {"inner"});
    try {
        graph.compile().invoke(Update{});
        FAIL("it must throw");
    } catch (const sg::NodeError& error) {
        CHECK(error.context().node == "x");
        CHECK(!error.sendIndex());
    }
}

TEST_CASE("what an error of the library says of its place is said once") {
    const auto whatOf = [](auto node, const sg::NodeOptions& options = {}) {
        Graph graph;
        graph.addNode("x", node, options).addEdge(sg::START, "x");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        std::string what;
        try {
            app.invoke(Update{}, {.thread_id = "t"});
        } catch (const sg::NodeError& error) {
            what = error.what();
            CHECK(app.getState({.thread_id = "t"}).tasks.at(0).error == error.reason());
        }
        return what;
    };
    const std::string slow = whatOf(
        [](const State&, sg::Runtime& runtime) -> Update {
            runtime.waitFor(1min);
            return {};
        },
        {.timeout = 1ms});
    CHECK(slow.find("1 ms") != std::string::npos);
    CHECK(countOf(slow, "node 'x'") == 2);  // the failure and its place
    CHECK(countOf(slow, "step 1") == 1);
    const std::string known = whatOf(
        [](const State&) -> Update { throw sg::InvalidArgumentError("no such thing", {.node = "x", .step = 1}); });
    CHECK(known == "node 'x' failed: no such thing [thread 't', step 1, node 'x']");
    const std::string more = whatOf(
        [](const State&) -> Update { throw sg::InvalidArgumentError("no such thing", {.thread_id = "another"}); });
    CHECK(more == "node 'x' failed: no such thing [thread 'another'] [thread 't', step 1, node 'x']");
}
