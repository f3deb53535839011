#include "tests/async/support.hpp"
#include "tests/support/drivers.hpp"

// Where a node's Command leads, for every kind of node, every reason to stop it, and every driver.
using namespace graphs;

namespace {

constexpr sg::NodeId<int> work{"work"};

enum class Kind { blocking, coroutine, waiting };

/// Adds a node that returns `command`, which is created for each call.
template <class Make>
void addLeader(Graph& graph, const std::string& name, Kind kind, bool has_limit, Strings ends, Make command) {
    sg::NodeOptions options{.ends = std::move(ends)};
    if (has_limit) options.timeout = 10min;
    switch (kind) {
        case Kind::blocking:
            graph.addNode(
                name, [command](const State&) -> Command { return command(); }, options);
            return;
        case Kind::coroutine:
            graph.addNode(
                name, [command](const State&) -> Task<Command> { co_return command(); }, options);
            return;
        case Kind::waiting:
            graph.addNode(
                name,
                [command](const State&) -> Task<Command> {
                    co_await sg::sleepFor(1us);
                    co_return command();
                },
                options);
            return;
    }
}

Graph toNames(Kind kind, bool has_limit) {
    Graph graph;
    addLeader(graph, "lead", kind, has_limit, {"b", "c"}, [] {
        return Command{.update = bar("lead"), .go_to = {"b", "c"}};
    });
    graph.addNode("b", appends("b")).addNode("c", appends("c")).addEdge(sg::START, "lead");
    return graph;
}

Graph toSends(Kind kind, bool has_limit) {
    Graph graph;
    addLeader(graph, "lead", kind, has_limit, {"work"}, [] {
        return Command{.update = bar("lead"), .go_to = {work(1), work(2), work(1)}};
    });
    graph.addNode(work, [](const int& n) -> Update { return {sg::add(&State::bar, "work" + std::to_string(n))}; });
    graph.addEdge(sg::START, "lead");
    return graph;
}

Graph toParent(Kind kind, bool has_limit) {
    Graph inner;
    addLeader(inner, "lead", kind, has_limit, {}, [] {
        return Command{.update = bar("lead"), .go_to = {"b", work(7)}, .graph = sg::PARENT};
    });
    inner.addEdge(sg::START, "lead");
    Graph graph;
    graph.addNode("inner", inner.compile(), leadsTo({"b", "work"})).addNode("b", appends("b"));
    graph.addNode(work, [](const int& n) -> Update { return {sg::add(&State::bar, "work" + std::to_string(n))}; });
    graph.addEdge(sg::START, "inner");
    return graph;
}

}  // namespace

TEST_CASE(
    "a Command leads where it says: names, Sends and the graph around, of any kind of node, with any limit, on each "
    "driver") {
    const struct {
        const char* what;
        Graph (*make)(Kind, bool);
        Strings bar;
    } cases[] = {{"names", toNames, {"lead", "b", "c"}},
                 {"Sends", toSends, {"lead", "work1", "work2", "work1"}},
                 {"PARENT", toParent, {"lead", "b", "work7"}}};
    for (const auto& each : cases) {
        for (const Kind kind : {Kind::blocking, Kind::coroutine, Kind::waiting}) {
            for (const bool has_limit : {false, true}) {
                const auto app =
                    each.make(kind, has_limit).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
                for (const drivers::Driver& driver : drivers::crossed()) {
                    const int number = static_cast<int>(kind);
                    CAPTURE(each.what);
                    CAPTURE(number);
                    CAPTURE(has_limit);
                    CAPTURE(driver.name);
                    const auto outcome = driver.run(app, Update{}, {.thread_id = driver.name});
                    REQUIRE(outcome.what() == "");
                    CHECK(outcome.values.bar == each.bar);
                }
            }
        }
    }
}
