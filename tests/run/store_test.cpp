#include <stategraph/store.hpp>

#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/savers.hpp"

using namespace std::chrono_literals;

namespace stategraph {
namespace {

struct State {
    std::string user = {};
    std::vector<std::string> said = {};
    static constexpr auto channels() {
        return stategraph::channels(channel("user", &State::user), channel("said", &State::said, append));
    }
};

struct Note {
    std::string text = {};
    static constexpr auto fields() { return stategraph::fields(field("text", &Note::text)); }
};

Update<State> remember(const State& state, Runtime& runtime) {
    BaseStore& store = runtime.store();
    const auto known = store.get<Note>({"users", state.user}, "note");
    store.put({"users", state.user}, "note", Note{"seen by " + std::string(runtime.threadId())});
    return {add(&State::said, known ? known->text : "nothing")};
}

StateGraph<State> remembering() {
    StateGraph<State> graph;
    graph.addNode("remember", remember).addEdge(START, "remember");
    return graph;
}

TEST_CASE("nodes of all threads share the graph's store") {
    const auto store = std::make_shared<MemoryStore>();
    savers::onEach([&](savers::Store& home) {
        store->remove({"users", "alice"}, "note");
        const auto app = remembering().compile({.checkpointer = home.open(), .store = store});
        const auto ask = [&](const char* thread, const char* user) {
            return app.invoke({set(&State::user, user)}, {.thread_id = thread}).values.said.back();
        };
        CHECK(ask("1", "alice") == "nothing");
        CHECK(ask("2", "alice") == "seen by 1");
        CHECK(ask("3", "alice") == "seen by 2");
        CHECK(store->get<Note>({"users", "alice"}, "note")->text == "seen by 3");
    });
}

TEST_CASE("a node that may be abandoned has the store too") {
    const auto store = std::make_shared<MemoryStore>();
    const auto app = remembering().compile({.store = store});
    RunConfig config;
    config.control = std::make_shared<RunControl>();
    CHECK(app.invoke({set(&State::user, "bob")}, config).values.said.back() == "nothing");
    CHECK(app.invoke({set(&State::user, "bob")}, config).values.said.back() == "seen by ");
}

TEST_CASE("a graph without a store says how to give it one") {
    const auto app = remembering().compile();
    try {
        app.invoke({set(&State::user, "alice")}, {});
        FAIL("nothing was thrown");
    } catch (const NodeError& error) {
        CHECK(error.reason().find("node 'remember' uses the store") != std::string::npos);
        CHECK(error.reason().find("compile({.store = ") != std::string::npos);
        CHECK_THROWS_AS(std::rethrow_exception(error.original()), MissingStoreError);
    }
}

TEST_CASE("a subgraph's nodes use the store of the graph around it, unless it has its own") {
    const auto outer_store = std::make_shared<MemoryStore>();
    const auto own_store = std::make_shared<MemoryStore>();
    for (const bool has_own : {false, true}) {
        StateGraph<State> middle;
        CompileOptions options;
        if (has_own) options.store = own_store;
        middle.addNode("deep", remembering().compile(options)).addEdge(START, "deep");
        StateGraph<State> graph;
        graph.addNode("middle", middle.compile())
            .addNode("after", remember)
            .addEdge(START, "middle")
            .addEdge("middle", "after");
        const auto app = graph.compile({.store = outer_store});
        const auto said = app.invoke({set(&State::user, has_own ? "bob" : "alice")}, {}).values.said;
        CHECK(said == std::vector<std::string>{"nothing", has_own ? "nothing" : "seen by "});
    }
    CHECK(own_store->search({}).size() == 1);
    CHECK(outer_store->search({}).size() == 2);
}

TEST_CASE("routers reach the store, also where their node's state is edited") {
    const auto store = std::make_shared<MemoryStore>();
    StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> Update<State> { return {}; })
        .addNode("new", [](const State&) -> Update<State> { return {add(&State::said, "new")}; })
        .addNode("known", [](const State&) -> Update<State> { return {add(&State::said, "known")}; })
        .addEdge(START, "a")
        .addConditionalEdges("a",
                             [](const State& state, Runtime& runtime) {
                                 return runtime.store().get({"users", state.user}, "note") ? "known" : "new";
                             },
                             {"known", "new"});
    const auto app = graph.compile({.checkpointer = std::make_shared<MemorySaver>(), .store = store});
    CHECK(app.invoke({set(&State::user, "alice")}, {.thread_id = "1"}).values.said.back() == "new");
    store->put({"users", "alice"}, "note", Note{"x"});
    CHECK(app.invoke({set(&State::user, "alice")}, {.thread_id = "1"}).values.said.back() == "known");
    app.updateState({.thread_id = "1"}, {set(&State::user, "bob")}, {.as_node = "a"});
    CHECK(app.getState({.thread_id = "1"}).next == std::vector<std::string>{"new"});
    app.updateState({.thread_id = "1"}, {set(&State::user, "alice")}, {.as_node = "a"});
    CHECK(app.getState({.thread_id = "1"}).next.back() == "known");
}

TEST_CASE("a router of a subgraph whose state is edited has the store of the nearest graph around it") {
    const auto outer_store = std::make_shared<MemoryStore>();
    const auto inner_store = std::make_shared<MemoryStore>();
    inner_store->put({"users", "alice"}, "note", Note{"x"});
    for (const bool has_own : {false, true}) {
        StateGraph<State> inner;
        CompileOptions options{.interrupt_before = {"new", "known"}};
        if (has_own) options.store = inner_store;
        inner.addNode("a", [](const State&) -> Update<State> { return {}; })
            .addNode("new", [](const State&) -> Update<State> { return {}; })
            .addNode("known", [](const State&) -> Update<State> { return {}; })
            .addEdge(START, "a")
            .addConditionalEdges("a",
                                 [](const State& state, Runtime& runtime) {
                                     return runtime.store().get({"users", state.user}, "note") ? "known" : "new";
                                 },
                                 {"known", "new"});
        StateGraph<State> graph;
        graph.addNode("inner", inner.compile(options)).addEdge(START, "inner");
        const auto app = graph.compile({.checkpointer = std::make_shared<MemorySaver>(), .store = outer_store});
        app.invoke({set(&State::user, "alice")}, {.thread_id = "1"});
        const auto config = app.getState({.thread_id = "1"}).tasks.at(0).state_config;
        REQUIRE(config.has_value());
        CHECK(app.getState(*config).next == std::vector<std::string>{has_own ? "known" : "new"});
        const auto edited = app.updateState(*config, {set(&State::user, "alice")}, {.as_node = "a"});
        CHECK(app.getState(edited).next.back() == (has_own ? "known" : "new"));
    }
}

TEST_CASE("a task that is run again by a retry finds in the store what its failed attempt put there") {
    const auto store = std::make_shared<MemoryStore>();
    StateGraph<State> graph;
    int attempts = 0;
    graph
        .addNode("count",
                 [&](const State&, Runtime& runtime) -> Update<State> {
                     const auto before = runtime.store().search({.namespace_prefix = {"tries"}}).size();
                     runtime.store().put({"tries"}, std::to_string(runtime.attempt()), Note{"x"});
                     if (++attempts < 3) throw std::runtime_error("again");
                     return {add(&State::said, std::to_string(before))};
                 },
                 {.retry = {.max_attempts = 3, .initial_interval = 0ms}})
        .addEdge(START, "count");
    CHECK(graph.compile({.store = store}).invoke({set(&State::user, "x")}, {}).values.said.back() == "2");
}

}  // namespace
}  // namespace stategraph
