#include <atomic>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Sends: tasks with their own input.
using namespace graphs;

namespace {

struct Item {
    int number = 0;
    std::string text = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("number", &Item::number), sg::field("text", &Item::text));
    }
};

constexpr sg::NodeId<Item> work{"work"};

Update worked(const Item& item) {
    return {sg::add(&State::bar, item.text + std::to_string(item.number)), sg::add(&State::n, item.number)};
}

template <class F>
void checkRefused(F build, const std::string& part) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    Graph graph;
    graph.addNode("a", appends(log, "a"), leadsTo({"work", "z", "bad"}));
    graph.addNode(work, [&log](const Item& item) {
        log.add("work");
        return worked(item);
    });
    graph.addNode("z", appends(log, "z")).addEdge(sg::START, "a");
    build(graph);
    const App app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, {.thread_id = "other", .interrupt_before = {"bad"}});
    app.invoke(bar("i"), {.thread_id = "t", .interrupt_before = {"bad"}});
    const auto before = app.getState({.thread_id = "t"});
    log.take();
    const auto error = thrown<sg::InvalidUpdateError>([&] { app.invoke(sg::RESUME, {.thread_id = "t"}); });
    CAPTURE(error.what());
    CHECK(contains(error.message(), part));
    CHECK(error.context().node == "bad");
    CHECK(error.context().thread_id == "t");
    CHECK(log.take().empty());
    const auto after = app.getState({.thread_id = "t"});
    CHECK(after.config == before.config);
    CHECK(after.values == before.values);
    CHECK(after.next == before.next);
}

}  // namespace

TEST_CASE("map and reduce: a task for each Send, results in the order of sends, one follow-up") {
    Log log;
    Graph graph;
    graph.addNode("split", appends("split"));
    graph.addConditionalEdges("split", [](const State& state) {
        std::vector<sg::Send> sends;
        for (int i = 0; i < state.n; ++i) sends.push_back(work({i, "w"}));
        return sends;
    });
    graph.addNode(work, worked).addNode("reduce", appends(log, "reduce"));
    graph.addEdge(sg::START, "split").addEdge("work", "reduce");
    const auto result = graph.compile().invoke({sg::add(&State::n, 3)});
    CHECK(result.values.bar == Strings{"split", "w0", "w1", "w2", "reduce"});
    CHECK(result.values.n == 6);
    CHECK(log.count("reduce") == 1);
}

// quirk 30: triggered nodes, by name, come before sends, by index
TEST_CASE("a node that is triggered in the superstep of Sends writes before them") {
    Graph graph;
    graph.addNode(
        "a",
        [](const State&) -> Command {
            return {.go_to = {work({0, "w"}), "y", work({1, "w"}), "b"}};
        },
        leadsTo({"b", "work", "y"}));
    graph.addNode(work, worked).addNode("y", appends("y")).addNode("b", appends("b")).addEdge(sg::START, "a");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"b", "y", "w0", "w1"});
}

TEST_CASE("no sends at all lead nowhere") {
    Graph graph;
    graph.addNode("a", appends("a")).addNode(work, worked).addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const State&) { return std::vector<sg::Send>{}; });
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"a"});
}

TEST_CASE("a send may come from START, and the payload is all the node sees") {
    Graph graph;
    graph.setConditionalEntryPoint([](const State& state) { return work({state.n, state.foo}); });
    graph.addNode(work, worked);
    const auto result = graph.compile().invoke({sg::set(&State::foo, "f"), sg::add(&State::n, 4)});
    CHECK(result.values.bar == Strings{"f4"});
}

TEST_CASE("sends from sends are collected in the order of their tasks") {
    Graph graph;
    graph.addNode(
        "a",
        [](const State&) -> Command {
            return {.go_to = {work({2, "p"}), work({1, "q"})}};
        },
        leadsTo({"work"}));
    graph.addNode(work, [](const Item& item) -> Command {
        Command command{.update = worked(item)};
        for (int i = 0; i < item.number; ++i) command.go_to.add(work({0, item.text + std::to_string(i) + "."}));
        return command;
    });
    graph.addEdge(sg::START, "a");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"p2", "q1", "p0.0", "p1.0", "q0.0"});
}

TEST_CASE("a send to a node that takes the state gives it exactly that state") {
    Graph graph;
    graph.addNode(
        "a", [](const State&) -> Command { return {.go_to = {sg::Send("b", State{.foo = "sent"})}}; }, leadsTo({"b"}));
    graph.addNode("b", [](const State& state) -> Update { return bar(state.foo + std::to_string(state.bar.size())); });
    graph.addEdge(sg::START, "a");
    CHECK(graph.compile().invoke(bar("i")).values.bar == Strings{"i", "sent0"});
}

TEST_CASE("a send to a subgraph gives it the payload as input") {
    Graph inner;
    inner.addNode("in", [](const State& state) -> Update { return bar(state.foo + "!"); }).addEdge(sg::START, "in");
    Graph graph;
    graph.addNode(
        "a",
        [](const State&) -> Command {
            return {.go_to = {sg::Send("sub", State{.foo = "x"}), sg::Send("sub", State{.foo = "y"})}};
        },
        leadsTo({"sub"}));
    const auto mapped = [](const State& state) { return Update{sg::add(&State::bar, state.bar)}; };
    graph
        .addNode(
            "sub", inner.compile(), [](const State&) { return Update{}; }, mapped)
        .addEdge(sg::START, "a");
    CHECK(graph.compile().invoke(bar("i")).values.bar == Strings{"i", "x!", "y!"});
}

TEST_CASE("payloads are stored, and decoded when another process continues") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto app = [&] {
            Graph graph;
            graph.addNode(
                "a",
                [&log](const State&) -> Command {
                    log.add("a");
                    return {.go_to = {work({1, "one"}), work({2, "two"})}};
                },
                leadsTo({"work"}));
            graph.addNode(work, [&log](const Item& item) {
                log.add(item.text);
                return worked(item);
            });
            graph.addEdge(sg::START, "a");
            return graph.compile({.checkpointer = store.open()});
        };
        CHECK((app().invoke(bar("i"), {.thread_id = "t", .interrupt_before = {"work"}}).status ==
               sg::Status::breakpoint));
        {
            const auto state = app().getState({.thread_id = "t"});
            CHECK(state.next == Strings{"work", "work"});
            CHECK(state.tasks.at(1).path == "push:0000000001");
        }
        CHECK(log.take() == Strings{"a"});
        CHECK(app().invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "one1", "two2"});
        CHECK(log.takeSorted() == Strings{"one", "two"});
    });
}

TEST_CASE("finished sends do not run again when one of them failed, and keep their places") {
    savers::onEach([](savers::Store& store) {
        Log log;
        std::atomic<bool> fails{true};
        const auto app = [&] {
            Graph graph;
            graph.addNode(
                "a",
                [](const State&) -> Command {
                    return {.go_to = {work({0, "w"}), work({1, "w"}), work({2, "w"})}};
                },
                leadsTo({"work"}));
            graph.addNode(work, [&](const Item& item) {
                log.add(std::to_string(item.number));
                if (item.number == 1 && fails) throw std::runtime_error("one fails");
                return worked(item);
            });
            graph.addNode("z", appends("z")).addEdge(sg::START, "a").addEdge("work", "z");
            return graph.compile({.checkpointer = store.open()});
        };
        CHECK_THROWS_AS(app().invoke(bar("i"), {.thread_id = "t"}), sg::NodeError);
        CHECK(log.takeSorted() == Strings{"0", "1", "2"});
        CHECK(app().getState({.thread_id = "t"}).next == Strings{"work"});
        fails = false;
        CHECK(app().invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "w0", "w1", "w2", "z"});
        CHECK(log.take() == Strings{"1"});
    });
}

// issue 2, bad input: "a payload of the wrong type", "Send to nowhere"; quirk 24
TEST_CASE("sends that nothing can take are refused and the thread stays as it was") {
    const auto goes = [](sg::Send send) { return [send](const State&) -> Command { return {.go_to = {send}}; }; };
    checkRefused(
        [&](Graph& graph) {
            graph.addNode("bad", goes({"work", std::string("text")})).addEdge("a", "bad");
        },
        "payload");
    checkRefused([&](Graph& graph) { graph.addNode("bad", goes({"work", 1})).addEdge("a", "bad"); }, "'work'");
    checkRefused([&](Graph& graph) { graph.addNode("bad", goes({"nowhere", 1})).addEdge("a", "bad"); }, "'nowhere'");
    checkRefused([&](Graph& graph) { graph.addNode("bad", goes({sg::END, 1})).addEdge("a", "bad"); }, "__end__");
    checkRefused([&](Graph& graph) { graph.addNode("bad", goes({"z", 1})).addEdge("a", "bad"); }, "'z'");
}

TEST_CASE("a router's sends are refused alike, and so is leading to a node that takes a payload without one") {
    const auto routes = [](auto target) {
        return [target](Graph& graph) {
            graph.addNode("bad", appends("bad")).addEdge("a", "bad");
            graph.addConditionalEdges("bad", [target](const State&) { return target; });
        };
    };
    checkRefused(routes(sg::Send("nowhere", 1)), "'nowhere'");
    checkRefused(routes(sg::Send("work", 1)), "payload");
    checkRefused(routes(std::string("nowhere")), "'nowhere'");
    checkRefused(routes(std::string("work")), "use a Send");
}

TEST_CASE("a goto that is refused is answered with what was probably meant, or with the labels that the router has") {
    const auto routes = [](const std::string& target) {
        return [target](Graph& graph) {
            graph.addNode("bad", appends("bad")).addEdge("a", "bad");
            graph.addConditionalEdges("bad", [target](const State&) { return target; });
        };
    };
    checkRefused(routes("Z"), "add it with addNode or correct the name");  // one letter may mean anything
    checkRefused(routes("wrok"), "did you mean 'work'?");
    checkRefused(routes("END"), "did you mean sg::END?");
    checkRefused(routes("start"), "did you mean sg::START?");
    const auto sends = [](Graph& graph) {
        graph.addNode("bad", appends("bad")).addEdge("a", "bad");
        graph.addConditionalEdges("bad", [](const State&) { return sg::Send("work", 1); });
    };
    checkRefused(sends, "sg::NodeId");
    const auto labels = [](Graph& graph) {
        graph.addNode("bad", appends("bad")).addEdge("a", "bad");
        const auto router = [](const State&) { return "maybe"; };
        graph.addConditionalEdges("bad", router, sg::PathMap{{"yes", "z"}, {"no", sg::END}});
    };
    checkRefused(labels, "'maybe', which its router's ends do not have; they are 'yes', 'no'");
}
