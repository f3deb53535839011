#include <map>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// What nodes and inputs write, from the user's view: operations, parts of the state, unset channels.
using namespace graphs;

namespace {

struct Kinds {
    std::string last = {};
    std::string once = {};
    std::string hidden = {};
    Strings news = {};
    std::map<std::string, int> table = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("last", &Kinds::last), sg::channel("once", &Kinds::once, sg::ephemeral),
                            sg::channel("hidden", &Kinds::hidden, sg::untracked),
                            sg::channel("news", &Kinds::news, sg::topic),
                            sg::channel("table", &Kinds::table, sg::merge));
    }
};

struct OnlyBar {
    Strings bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel("bar", &OnlyBar::bar, sg::append)); }
};
struct OnlyN {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &OnlyN::n, sg::sum)); }
};

sg::InvalidUpdateError refusal(Update update, bool as_input) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("a", [update](const State&) { return update; }).addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = saver});
    const auto error =
        thrown<sg::InvalidUpdateError>([&] { app.invoke(as_input ? update : bar("i"), {.thread_id = "t"}); });
    CHECK(error.context().node == (as_input ? "" : "a"));
    if (as_input) CHECK(saver->list({}).empty());
    if (!as_input) CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i"});
    return error;
}

}  // namespace

TEST_CASE("the wrong operation for a channel is refused, from a node and as input, and says what to do") {
    for (const bool as_input : {true, false}) {
        // Operations that the compiler accepts because another channel of the same type supports them.
        const auto set_on_list = refusal({sg::detail::setMember(&State::bar, Strings{"x"})}, as_input);
        CHECK(set_on_list.context().channel == "bar");
        CHECK(contains(set_on_list.message(), "use add() to give it a value, or overwrite() to replace what it holds"));
        const auto set_on_sum = refusal({sg::detail::setMember(&State::n, 1)}, as_input);
        CHECK(contains(set_on_sum.message(), "reducer sum"));
        const auto add_on_last = refusal({sg::detail::addToMember(&State::foo, std::string("x"))}, as_input);
        CHECK(add_on_last.context().channel == "foo");
        CHECK(contains(add_on_last.message(), "use set()"));
    }
}

TEST_CASE("two overwrites of a channel in one superstep are refused") {
    Graph graph;
    for (const char* name : {"a", "b"}) {
        graph.addNode(name, [name](const State&) -> Update { return {sg::overwrite(&State::bar, Strings{name})}; })
            .addEdge(sg::START, name);
    }
    CHECK(contains(thrown<sg::InvalidUpdateError>([&] { graph.compile().invoke(Update{}); }).message(), "'a', 'b'"));
}

// quirk 6
TEST_CASE("an overwrite beats its siblings, and the next superstep adds to it") {
    Graph graph;
    graph.addNode("a", appends("lost")).addNode("b", [](const State&) -> Update {
        return {sg::overwrite(&State::bar, Strings{"b"})};
    });
    graph.addNode("c", appends("lost")).addNode("d", appends("d"));
    for (const char* name : {"a", "b", "c"}) graph.addEdge(sg::START, name);
    graph.addEdge("b", "d");
    CHECK(graph.compile().invoke(bar("i")).values.bar == Strings{"b", "d"});
}

TEST_CASE("an empty update is a finished node, and is not run again when a sibling failed") {
    // quirk 33
    Log log;
    bool fails = true;
    Graph graph;
    graph.addNode("empty", [&log](const State&) -> Update {
        log.add("empty");
        return {};
    });
    graph.addNode("bad", [&fails](const State&) -> Update {
        if (fails) throw std::runtime_error("broken");
        return {};
    });
    graph.addNode("end", appends("end")).addEdge(sg::START, "empty").addEdge(sg::START, "bad");
    graph.addEdge(std::vector<std::string>{"empty", "bad"}, "end");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"bad"});
    fails = false;
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"end"});
    CHECK(log.take() == Strings{"empty"});
}

TEST_CASE("input goes through the reducers before the first node, and an empty one starts a run too") {
    Graph graph;
    graph.addNode("a", [](const State& state) -> Update { return bar("saw " + std::to_string(state.n)); })
        .addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke({sg::add(&State::n, 2)}, {.thread_id = "t"});
    CHECK(app.invoke({sg::add(&State::n, 3)}, {.thread_id = "t"}).values.bar == Strings{"saw 2", "saw 5"});
    CHECK(app.invoke(Update{}, {.thread_id = "t"}).values.bar.size() == 3);
}

TEST_CASE("several writes of one node to one channel are applied in order") {
    Graph graph;
    graph.addNode("a", [](const State&) -> Update {
        Update update{sg::add(&State::bar, "1"), sg::add(&State::bar, Strings{"2", "3"})};
        return update.with(sg::add(&State::bar, "4")).with(sg::add(&State::n, 2));
    });
    graph.addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke(Update{}, {.thread_id = "t"});
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"1", "2", "3", "4"});
}

TEST_CASE("a node may take a part of the state, and routers and other nodes the whole") {
    Graph graph;
    graph.addNode("part", [](const OnlyN& part) -> Update { return bar("n " + std::to_string(part.n)); });
    graph.addNode("whole", [](const State& state) -> Update { return bar(state.foo); });
    graph.addEdge(sg::START, "part").addEdge("part", "whole");
    CHECK(graph.compile().invoke({sg::add(&State::n, 7), sg::set(&State::foo, "f")}).values.bar == Strings{"n 7", "f"});
}

TEST_CASE("a graph may take and return parts of its state") {
    savers::onEach([](savers::Store& store) {
        sg::StateGraph<State, OnlyN, OnlyBar> graph;
        graph.addNode("a", [](const State& state) -> Update {
            return {sg::add(&State::bar, std::to_string(state.n)), sg::set(&State::foo, "f")};
        });
        graph.addEdge(sg::START, "a");
        const auto app = graph.compile({.checkpointer = store.open()});
        const sg::Result<OnlyBar> result = app.invoke({sg::add(&OnlyN::n, 4)}, {.thread_id = "t"});
        CHECK(result.values.bar == Strings{"4"});
        CHECK(app.getState({.thread_id = "t"}).values == State{.foo = "f", .bar = {"4"}, .n = 4});
    });
}

TEST_CASE("a channel without reducer is absent until it is written, those with one are there") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("a", [](const State& state) -> Update {
            if (state.n == 0) return {};
            return {sg::set(&State::foo, "")};
        });
        graph.addNode("b", [](const State&) -> Update { return {sg::clear(&State::foo)}; });
        graph.addEdge(sg::START, "a").addEdge("a", "b");
        const App app = graph.compile({.checkpointer = store.open(), .interrupt_before = {"b"}});
        app.invoke(Update{}, {.thread_id = "t"});
        const auto unset = app.getState({.thread_id = "t"});
        CHECK_FALSE(unset.isSet(&State::foo));
        CHECK(unset.isSet(&State::bar));
        CHECK(unset.valuesAsJson() == R"({"bar":[],"n":0})");
        app.invoke({sg::add(&State::n, 1)}, {.thread_id = "t"});
        const auto set = app.getState({.thread_id = "t"});
        CHECK(set.isSet(&State::foo));
        CHECK(set.valuesAsJson() == R"({"foo":"","bar":[],"n":1})");
        app.invoke(sg::RESUME, {.thread_id = "t"});
        CHECK_FALSE(app.getState({.thread_id = "t"}).isSet(&State::foo));
    });
}

TEST_CASE("ephemeral values and topics are seen for one superstep, in a new process too") {
    savers::onEach([](savers::Store& store) {
        Strings seen;
        const auto app = [&] {
            sg::StateGraph<Kinds> graph;
            graph.addNode("a", [](const Kinds&) -> sg::Update<Kinds> {
                return {sg::set(&Kinds::once, "1"), sg::add(&Kinds::news, "n")};
            });
            for (const char* name : {"b", "c"}) {
                graph.addNode(name, [&seen](const Kinds& state) -> sg::Update<Kinds> {
                    seen.push_back(state.once + std::to_string(state.news.size()));
                    return {};
                });
            }
            graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", "c");
            return graph.compile({.checkpointer = store.open(), .interrupt_after = {"*"}});
        };
        app().invoke({}, {.thread_id = "t"});
        CHECK(app().getState({.thread_id = "t"}).isSet(&Kinds::once));
        app().invoke(sg::RESUME, {.thread_id = "t"});
        app().invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(seen == Strings{"11", "0"});
        CHECK_FALSE(app().getState({.thread_id = "t"}).isSet(&Kinds::news));
    });
}

TEST_CASE("an untracked value is seen by the run and by no saver") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Strings seen;
        sg::StateGraph<Kinds> graph;
        for (const char* name : {"a", "beside"}) {
            graph.addNode(name, [name](const Kinds&) -> sg::Update<Kinds> {
                if (std::string(name) == "a")
                    return {sg::set(&Kinds::hidden, "topsecret"), sg::merge(&Kinds::table, {{"a", 1}})};
                return {};
            });
            graph.addEdge(sg::START, name);
        }
        graph.addNode("b", [&seen](const Kinds& state) -> sg::Update<Kinds> {
            seen.push_back(state.hidden);
            return {};
        });
        graph.addEdge(std::vector<std::string>{"a", "beside"}, "b");
        const auto app = graph.compile({.checkpointer = saver});
        CHECK(app.invoke({sg::set(&Kinds::last, "l")}, {.thread_id = "t"}).values.hidden == "topsecret");
        CHECK(seen == Strings{"topsecret"});
        CHECK_FALSE(app.getState({.thread_id = "t"}).isSet(&Kinds::hidden));
        for (const auto& row : saver->list({.with_writes = true})) {
            CHECK_FALSE(contains(std::string(row.bytes), "topsecret"));
            for (const auto& write : row.writes) CHECK_FALSE(contains(write.bytes, "topsecret"));
        }
        CHECK(app.getState({.thread_id = "t"}).values.table == std::map<std::string, int>{{"a", 1}});
    });
}

TEST_CASE("metadata of a run cannot take the names that are taken, nor one twice") {
    Graph graph;
    graph.addNode("a", appends("a")).addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const char* key : {"source", "step", "parents", ""}) {
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t", .metadata = {{key, 1}}}), sg::InvalidArgumentError);
    }
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t", .metadata = {{"a", 1}, {"a", 2}}}),
                    sg::InvalidArgumentError);
    app.invoke(Update{}, {.thread_id = "t", .metadata = {{"who", "me"}}});
    CHECK(app.getState({.thread_id = "t"}).metadata == sg::Metadata{{"who", "me"}});
}
