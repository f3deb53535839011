#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

// What somebody who knows LangGraph writes first, where this library accepts it too.
namespace guesses {

namespace sg = stategraph;

struct State {
    std::string foo = {};
    int most = 0;
    std::vector<std::string> bar = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::foo>(),
                            sg::channel<&State::most>(sg::reduce([](int a, int b) { return a > b ? a : b; })),
                            sg::channel<&State::bar>(sg::append));
    }
};

sg::Update<State> noted(const std::string& name) { return {sg::add<&State::bar>(name)}; }

template <class T>
std::string printed(const T& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

}  // namespace guesses
using namespace guesses;

TEST_CASE("an edge to a list of nodes leads to each of them, and a router's labels may be in a map") {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) { return noted("a"); });
    graph.addNode("b", [](const State&) { return noted("b"); });
    graph.addNode("c", [](const State&) { return noted("c"); });
    graph.addNode("d", [](const State&) { return noted("d"); });
    graph.addEdge(sg::START, "a").addEdge("a", {"b", "c"}).addEdge("b", sg::END);
    graph.addConditionalEdges(
        "c", [](const State&) { return "yes"; }, std::map<std::string, std::string>{{"yes", "d"}, {"no", sg::END}});
    graph.addEdge("d", sg::END);
    const auto result = graph.compile().invoke({sg::add<&State::most>(3), sg::add<&State::most>(2)});
    CHECK(result.values.bar == std::vector<std::string>{"a", "b", "c", "d"});
    CHECK(result.values.most == 3);
}

TEST_CASE("ids, questions and lists of values are printed, and a stream has updates without options") {
    sg::StateGraph<State> graph;
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        return {sg::set<&State::foo>(sg::interrupt(runtime, "May we?") == "yes" ? "did" : "did not")};
    });
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke({sg::add<&State::bar>("x")}, {.thread_id = "A"});
    const auto asked = app.getState({.thread_id = "A"});
    CHECK(printed(asked.config.thread_id) == "A");
    CHECK(printed(asked.config.checkpoint_id) == asked.config.checkpoint_id.toString());
    REQUIRE(asked.interrupts().size() == 1);
    CHECK(printed(asked.interrupts()) ==
          R"([{"id":")" + asked.interrupts()[0].id.toString() + R"(","value":"May we?"}])");
    CHECK(printed(asked.interrupts()[0].id) == asked.interrupts()[0].id.toString());
    CHECK(printed(std::vector<sg::Value>{1, "two"}) == R"([1,"two"])");
    CHECK(printed(std::vector<sg::Message>{{.role = "user", .content = "hi"}}).find(R"("content":"hi")") !=
          std::string::npos);

    std::vector<std::string> nodes;
    for (const sg::StreamEvent& event : app.stream(sg::resume("yes"), {.thread_id = "A"})) {
        CHECK((event.mode == sg::StreamMode::updates));
        nodes.push_back(event.data.toJson());
    }
    CHECK(nodes.size() == 1);
    CHECK(app.getState({.thread_id = "A"}).values.foo == "did");
}

TEST_CASE("a store is searched below a namespace that is given as labels or as a list") {
    sg::MemoryStore store;
    store.put({"users", "ada"}, "1", std::map<std::string, int>{{"n", 1}});
    store.put({"users", "bob"}, "2", std::map<std::string, int>{{"n", 2}});
    const std::string user = "bob";
    const sg::StoreNamespace ns = {"users", user};
    CHECK(store.search({"users", "ada"}).size() == 1);
    CHECK(store.search({"users", user}).front().key == "2");
    CHECK(store.search(ns).front().key == "2");
    CHECK(store.search({"users"}, {.limit = 1}).size() == 1);
    CHECK(store.search({"users"}).size() == 2);
    CHECK(store.search({}).size() == 2);
    CHECK(store.search({{"users", "ada"}}).size() == 1);
}
