// What somebody who knows LangGraph writes first, and what is therefore accepted.
#include <stategraph/agent/tool.hpp>
#include <stategraph/stategraph.hpp>

#include <iostream>
#include <map>

namespace sg = stategraph;

struct State {
    std::string foo = {};
    std::vector<std::string> bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::foo>(), sg::channel<&State::bar>(sg::append)); }
};

struct City {
    std::string name = {};
    static constexpr auto fields() { return sg::fields<&City::name>(); }
};

void build(sg::StateGraph<State>& graph) {
    graph.addEdge("plan", {"search", "write"});
    graph.addConditionalEdges(
        "write", [](const State&) { return "yes"; }, std::map<std::string, std::string>{{"yes", "plan"}, {"no", sg::END}});
}

void read(sg::BaseStore& store, const std::string& user) {
    const sg::StoreNamespace ns = {"users", user};
    (void)store.search({"users", user});
    (void)store.search(ns, {.query = "food"});
    (void)store.search({"users", "alice"}, {.limit = 1});
    (void)store.search({.namespace_prefix = {"users"}});
    (void)store.search({});
}

void print(const sg::CompiledGraph<State>& app) {
    const auto state = app.getState({.thread_id = "A"});
    std::cout << state.config.thread_id << state.config.checkpoint_id << state.interrupts();
    std::cout << std::vector<sg::Value>{1, "two"} << std::vector<sg::Message>{};
    for (const auto& event : app.stream({sg::set<&State::foo>("x")}, {.thread_id = "A"})) std::cout << event;
}

bool ask(sg::Runtime& runtime) { return sg::interrupt(runtime, "May we?") == "yes"; }

sg::agent::Tool tool() {
    return sg::agent::tool("weather", "The weather of a city", [](const City& city) { return city.name; });
}
