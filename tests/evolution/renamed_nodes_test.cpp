#include <functional>
#include <map>

#include <doctest/doctest.h>
#include <stategraph/json.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/fixed_ids.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Renamed nodes: the log keeps the old name, and everything else uses the new one.
namespace sg = stategraph;
using namespace history;

namespace {

const sg::Config T{.thread_id = "t"};

struct Inner {
    Words w = {};
    static constexpr auto channels() { return sg::channels(sg::channel("w", &Inner::w, sg::append)); }
};

/// The names in one version of the program. Renaming reverses the order of names.
class Names {
public:
    explicit Names(bool renamed) : renamed_(renamed) {}
    std::string operator()(const std::string& old) const {
        static const std::map<std::string, std::string> now{
            {"ask", "z_ask"}, {"fin", "fine"}, {"both", "a_both"}, {"late", "0late"}, {"work", "crew"},
            {"split", "cut"}, {"sub", "team"}, {"mem", "a_mem"},   {"x", "z"},        {"y", "b"}};
        return renamed_ ? now.at(old) : old;
    }
    sg::NodeOptions options(const std::string& old) const { return {.stored_as = renamed_ ? old : ""}; }

private:
    bool renamed_;
};

// START -> x -> y, which asks.
sg::CompiledGraph<Inner> innerOf(const Names& n, const sg::Checkpointer& checkpointer) {
    sg::StateGraph<Inner> graph;
    graph.addNode(
        n("x"), [](const Inner&) -> sg::Update<Inner> { return {sg::add(&Inner::w, "x")}; }, n.options("x"));
    graph.addNode(
        n("y"),
        [](const Inner& state, sg::Runtime& runtime) -> sg::Update<Inner> {
            return {sg::add(&Inner::w, std::to_string(state.w.size()) + sg::interrupt<std::string>(runtime, "inner"))};
        },
        n.options("y"));
    graph.addEdge(sg::START, n("x")).addEdge(n("x"), n("y"));
    return graph.compile({.checkpointer = checkpointer});
}

// Returns a graph with one of everything that can be in flight: a goto, Sends, a join, a deferred node, questions,
// subgraphs of both kinds.
LineApp everything(const SharedSaver& saver, bool renamed) {
    const Names n(renamed);
    const auto enter = [](const Line&) -> sg::Update<Inner> { return {}; };
    const auto leave = [](const Inner& inner) -> sg::Update<Line> { return {sg::add(&Line::v, inner.w)}; };
    LineGraph graph;
    graph.addNode(n("split"), saying("split"), n.options("split")).addEdge(sg::START, n("split"));
    graph.addConditionalEdges(n("split"), [n](const Line&) {
        return sg::Targets{n("ask"), n("fin"), sg::Send(n("work"), "1"), sg::Send(n("work"), "2")};
    });
    graph.addNode(n("ask"), asking("ask"), n.options("ask")).addNode(n("fin"), saying("fin"), n.options("fin"));
    graph.addNode(
        n("work"), [](const std::string& word) -> sg::Update<Line> { return says("work" + word); }, n.options("work"));
    sg::NodeOptions late = n.options("late");
    late.defer = true;
    graph.addNode(n("late"), saying("late"), late).addEdge(n("fin"), n("late"));
    sg::NodeOptions both = n.options("both");
    both.ends = {n("sub")};
    graph.addNode(
        n("both"), [n](const Line&) -> sg::Command<Line> { return {.update = says("both"), .go_to = {n("sub")}}; },
        both);
    graph.addEdge({n("fin"), n("ask")}, n("both"));
    graph.addNode(n("sub"), innerOf(n, {}), enter, leave, n.options("sub"));
    graph.addConditionalEdges(n("sub"), [n](const Line&) { return n("mem"); }, {n("mem"), sg::END});
    graph.addNode(n("mem"), innerOf(n, sg::PER_THREAD), enter, leave, n.options("mem"));
    graph.addConditionalEdges(n("mem"), [](const Line& state) { return state.v.back() == "3a" ? "end" : "again"; },
                              {{"again", n("mem")}, {"end", sg::END}});
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

// Runs from pause to pause, each time with the version of the program that `renamed` selects. Returns everything that
// is stored in the end.
Bytes session(const std::function<bool(int)>& renamed, int& pauses) {
    const SharedSaver saver = std::make_shared<sg::MemorySaver>();
    const std::map<bool, LineApp> versions{{false, everything(saver, false)}, {true, everything(saver, true)}};
    sg::RunConfig config{.thread_id = "t", .interrupt_before = {"*"}};
    versions.at(renamed(0)).invoke(says("in"), config);
    for (pauses = 1; pauses < 60; ++pauses) {
        const LineApp& app = versions.at(renamed(pauses));
        const auto state = app.getState(T, {.subgraphs = true});
        if (state.next.empty()) break;
        const auto open = state.interrupts();
        if (open.empty()) {
            app.invoke(sg::RESUME, config);
        } else {
            app.invoke(sg::Command<>{.answers = {{open.front().id, "a"}}}, config);
        }
    }
    const Words all{"in", "split", "ask:a", "fin", "work1", "work2", "both", "x",
                    "1a", "x",     "1a",    "x",   "1a",    "x",     "3a",   "late"};
    CHECK(versions.at(true).getState(T).values.v == all);
    return bytesOf(*saver);
}

// Runs `everything` with the old program until `ask` waits and its siblings have finished.
void stopAtQuestion(const SharedSaver& saver) {
    const auto result = everything(saver, false).invoke(says("in"), {.thread_id = "t"});
    REQUIRE((result.status == sg::Status::interrupted));
}

std::string faultsOf(const LineGraph& graph) {
    return errorOf<sg::InvalidGraphError>([&] { return graph.compile(); });
}

LineGraph two(const sg::NodeOptions& first, const sg::NodeOptions& second) {
    LineGraph graph;
    graph.addNode("a", saying("a"), first).addNode("b", saying("b"), second).addEdge(sg::START, "a").addEdge("a", "b");
    return graph;
}

}  // namespace

TEST_CASE("whichever of a renamed program's versions runs a thread, from pause to pause, the same bytes are stored") {
    int pauses = 0;
    const Bytes old = session([](int) { return false; }, pauses);
    CHECK(pauses > 9);
    const int as_many = pauses;
    CHECK(session([](int) { return true; }, pauses) == old);
    CHECK(session([](int i) { return i % 2 == 1; }, pauses) == old);
    CHECK(session([](int i) { return i % 2 == 0; }, pauses) == old);
    for (int change = 1; change < as_many; ++change) {
        CAPTURE(change);
        CHECK(session([change](int i) { return i >= change; }, pauses) == old);
        CHECK(pauses == as_many);
    }
}

TEST_CASE("a thread that waits at a question with finished siblings continues under new names on both savers") {
    onBothSavers([](const SharedSaver& saver) {
        stopAtQuestion(saver);
        const LineApp app = everything(saver, true);
        const auto state = app.getState(T);
        CHECK(state.next == Words{"z_ask"});
        CHECK(state.values.v == Words{"in", "split", "fin", "work1", "work2"});
        const auto result = app.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"});
        CHECK(result.values.v == Words{"in", "split", "ask:yes", "fin", "work1", "work2", "both"});
        CHECK(app.getState(T).next == Words{"team"});
    });
}

TEST_CASE("users see and write the new name; ids, paths and namespaces keep the stored one") {
    onBothSavers([](const SharedSaver& saver) {
        stopAtQuestion(saver);
        const auto before = everything(saver, false).getState(T);
        const LineApp app = everything(saver, true);
        const auto state = app.getState(T);
        CHECK(taskOf(state, "z_ask").path == "pull:ask");
        CHECK(taskOf(state, "z_ask").id == taskOf(before, "ask").id);
        CHECK(state.interrupts() == before.interrupts());
        for (const auto& snapshot : app.getStateHistory(T)) {
            for (const auto& name : snapshot.next)
                CHECK((name == "__start__" || name == "cut" || name == "z_ask" || name == "fine" || name == "crew"));
        }
        // The order is that of tasks, which is the order of stored names.
        CHECK(historyOf(app, T)[0].next == Words{"z_ask", "fine", "crew", "crew"});
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] {
                           return app.invoke(
                               sg::Command<>{.resume = "yes", .answers = {{"00000000000000000000000000000001", "no"}}},
                               {.thread_id = "t"});
                       }),
                       {"(z_ask)"}));
        CHECK(
            mentions(errorOf<sg::InvalidUpdateError>([&] { return app.updateState(T, says("e"), {.as_node = "ask"}); }),
                     {"'ask'"}));
        CHECK(mentions(errorOf<sg::InvalidArgumentError>(
                           [&] { return app.invoke(sg::RESUME, {.thread_id = "t", .interrupt_before = {"ask"}}); }),
                       {"'ask'"}));

        Words events;
        app.stream(sg::Command<>{.resume = "yes"}, {.thread_id = "t"},
                   {.modes = {sg::StreamMode::updates}, .subgraphs = true}, [&](const sg::StreamEvent& event) {
                       events.push_back((event.ns.empty() ? "" : event.ns[0].substr(0, 4) + "|") + event.node);
                   });
        CHECK(events == Words{"fine", "crew", "crew", "z_ask", "a_both", "sub:|z", "sub:|b", "team"});
        const auto inside = app.getState(T, {.subgraphs = true});
        REQUIRE(inside.tasks.size() == 1);
        CHECK(inside.tasks[0].name == "team");
        CHECK(inside.tasks[0].state_config->checkpoint_ns == "sub:" + inside.tasks[0].id.toString());
        CHECK(inside.tasks[0].state->next == Words{"b"});
        CHECK(mentions(errorOf<sg::InvalidArgumentError>(
                           [&] { return app.getState({.thread_id = "t", .checkpoint_ns = "team"}); }),
                       {"'team'", "'sub'"}));

        app.updateState(T, says("edit"), {.as_node = "team"});
        CHECK(app.getState(T).next == Words{"a_mem"});
        CHECK(everything(saver, false).getState(T).next == Words{"mem"});
        CHECK(app.toMermaid().find("team") != std::string::npos);
        CHECK(app.toMermaid().find("sub") == std::string::npos);
    });
}

TEST_CASE("the node that ran last is known under the new name, and a failing node is reported by it") {
    onBothSavers([](const SharedSaver& saver) {
        chainOf({"a", "b"})
            .compile({.checkpointer = saver, .interrupt_before = {"b"}})
            .invoke(says("i"), {.thread_id = "t"});
        LineGraph graph;
        graph.addNode("first", saying("a"), {.stored_as = "a"})
            .addNode("second", [](const Line&) -> sg::Update<Line> { throw std::runtime_error("broken"); },
                     {.stored_as = "b"})
            .addEdge(sg::START, "first")
            .addEdge("first", "second");
        const LineApp app = graph.compile({.checkpointer = saver});
        try {
            app.invoke(sg::RESUME, {.thread_id = "t"});
            FAIL("no error");
        } catch (const sg::NodeError& error) {
            CHECK(error.context().node == "second");
        }
        CHECK(taskOf(app.getState(T), "second").error == "broken");
        app.updateState(T, says("again"));  // as "first"
        CHECK(app.getState(T).next == Words{"second"});
        CHECK(app.getState(T).values.v == Words{"i", "a", "again"});
    });
}

TEST_CASE("a renamed node of a graph whose channels are named at run time continues too") {
    onBothSavers([](const SharedSaver& saver) {
        const auto app = [&](const std::string& name) {
            sg::JsonSchema schema;
            schema.channel("v", sg::JsonReducer::append());
            sg::StateGraph<sg::JsonState> graph(schema);
            const auto says_ok = [](const sg::JsonState&) -> sg::Update<sg::JsonState> {
                return {sg::write("v", boost::json::array{"ok"})};
            };
            const auto asks = [](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
                return {
                    sg::write("v", boost::json::array{boost::json::string(sg::interrupt<std::string>(runtime, "?"))})};
            };
            graph.addNode("sibling", says_ok)
                .addNode(name, asks, {.stored_as = "old"})
                .addEdge(sg::START, "sibling")
                .addEdge(sg::START, name);
            return graph.compile({.checkpointer = saver});
        };
        app("old").invoke({sg::write("v", boost::json::array{"i"})}, {.thread_id = "t"});
        const auto now = app("zz");
        CHECK(now.getState(T).next == Words{"zz"});
        CHECK(boost::json::serialize(now.invoke(sg::Command<>{.resume = "yes"}, {.thread_id = "t"}).values["v"]) ==
              R"(["i","yes","ok"])");
    });
}

TEST_CASE("a name of the log that is another node's by now is not mistaken for it") {
    onBothSavers([](const SharedSaver& saver) {
        chainOf({"a", "b", "c"})
            .compile({.checkpointer = saver, .interrupt_before = {"b"}})
            .invoke(says("i"), {.thread_id = "t"});
        // "b" was removed, and then "c" was renamed to "b".
        LineGraph graph;
        graph.addNode("a", saying("a"))
            .addNode("b", saying("c"), {.stored_as = "c"})
            .addEdge(sg::START, "a")
            .addEdge("a", "b");
        const LineApp app = graph.compile({.checkpointer = saver});
        CHECK(mentions(errorOf<sg::InvalidArgumentError>([&] { return app.invoke(sg::RESUME, {.thread_id = "t"}); }),
                       {"'b'", "no such node", "stored as 'c'"}));
    });
}

TEST_CASE("a stored name that another node has, or that no node can have had, is a fault of the graph") {
    CHECK(mentions(faultsOf(two({.stored_as = "x"}, {.stored_as = "x"})), {"'a'", "'b'", "stored as 'x'"}));
    CHECK(mentions(faultsOf(two({.stored_as = "b"}, {})), {"'a'", "stored_as is 'b'", "another node"}));
    CHECK(mentions(faultsOf(two({.stored_as = "b"}, {.stored_as = "a"})), {"stored_as is 'b'", "stored_as is 'a'"}));
    for (const std::string name : {"__start__", "__end__", "__x", "a:b", "a|b", "*", "\xff"}) {
        CAPTURE(name);
        CHECK(mentions(faultsOf(two({.stored_as = name}, {})), {"'a'", "no node can ever have been called"}));
    }
    CHECK_NOTHROW(two({.stored_as = "a"}, {.stored_as = "x"}).compile());
}
