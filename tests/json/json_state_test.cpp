#include <stategraph/json.hpp>

#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/support/sanitized.hpp"

namespace sg = stategraph;
namespace json = boost::json;
using sg::JsonReducer;
using sg::JsonSchema;
using sg::JsonState;
using Update = sg::Update<JsonState>;
using Graph = sg::StateGraph<JsonState>;

namespace {

json::value parsed(const char* text) { return json::parse(text); }

// Returns what a channel holds after nodes wrote these, one in each superstep, with and without a saver in between.
json::value folded(JsonReducer reducer, const std::vector<Update>& writes) {
    JsonSchema schema;
    schema.channel("x", std::move(reducer)).channel("go");
    Graph graph(schema);
    std::string last = sg::START;
    for (std::size_t i = 0; i < writes.size(); ++i) {
        const std::string name = "n" + std::to_string(i);
        graph.addNode(name, [write = writes[i]](const JsonState&) { return write; }).addEdge(last, name);
        last = name;
    }
    const auto plain = graph.compile().invoke({sg::write("go", true)});
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto kept = app.invoke({sg::write("go", true)}, {.thread_id = "1", .durability = durability});
        CHECK(kept.values == plain.values);
        CHECK(app.getState({.thread_id = "1"}).values == plain.values);
    }
    return plain.values["x"];
}

Update written(const char* text) { return {sg::write("x", parsed(text))}; }

std::shared_ptr<sg::MemorySaver> memory() { return std::make_shared<sg::MemorySaver>(); }

}  // namespace

TEST_CASE("a json state knows its set channels, and names those it has when asked for another") {
    JsonSchema schema;
    schema.channel("foo").channel("bar", JsonReducer::append());
    const JsonState state(schema);
    CHECK_FALSE(state.has("foo"));
    CHECK(state.has("bar"));
    CHECK(state["foo"].is_null());
    CHECK(state.find("nothing") == nullptr);
    CHECK(json::value(state) == parsed(R"({"bar":[]})"));
    CHECK_THROWS_WITH_AS(state.at("foo"), doctest::Contains("unset"), sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(state["baz"], doctest::Contains("the state has foo, bar"), sg::InvalidArgumentError);
    JsonState assigned;
    CHECK(assigned.toObject().empty());
    assigned = JsonState(schema, {{"foo", 1}});
    CHECK(assigned.at("foo") == 1);
    std::ostringstream out;
    out << assigned;
    CHECK(out.str() == R"({"foo":1,"bar":[]})");
}

TEST_CASE("faults of a schema are all reported when a graph is created from it") {
    JsonSchema schema;
    schema.channel("a").channel("a").channel("").input({"a", "b"}).output({"a", "a"});
    try {
        const Graph graph(schema);
        FAIL("no error");
    } catch (const sg::InvalidGraphError& error) {
        CHECK(error.faults().size() == 4);
    }
}

TEST_CASE("copies of a schema change apart") {
    JsonSchema one;
    one.channel("a");
    JsonSchema two = one;
    two.channel("b");
    CHECK_FALSE(JsonState(two).has("b"));
    CHECK_THROWS_AS(JsonState{one}["b"], sg::InvalidArgumentError);
    CHECK(JsonState(two)["b"].is_null());
}

TEST_CASE("reducers fold what supersteps write") {
    CHECK(folded(JsonReducer::lastValue(), {written("1"), written("\"b\"")}) == "b");
    CHECK(folded(JsonReducer::append(), {written("1"), written("[2,3]"), written("{}")}) == parsed("[1,2,3,{}]"));
    CHECK(folded(JsonReducer::sum(), {written("1"), written("2")}) == 3);
    CHECK(folded(JsonReducer::sum(), {written("1"), written("2")}).is_int64());
    CHECK(folded(JsonReducer::sum(10), {written("0.5")}) == 10.5);
    CHECK(folded(JsonReducer::min(), {written("-1"), written("3")}) == -1);
    CHECK(folded(JsonReducer::max(5), {written("3"), written("7.5")}) == 7.5);
    CHECK(folded(JsonReducer::merge(), {written(R"({"a":1,"b":1})"), written(R"({"b":2})")}) ==
          parsed(R"({"a":1,"b":2})"));
    CHECK(folded(JsonReducer::topic(), {written("1"), written("[2,3]")}) == parsed("[2,3]"));
    CHECK(folded(JsonReducer::topic(), {written("1"), {}}).is_null());
    CHECK(folded(JsonReducer::anyValue(), {written("1"), {}}).is_null());
    CHECK(folded(JsonReducer::ephemeral(), {written("1")}) == 1);
    const auto minus = [](const json::value& value, const json::value& by) -> json::value {
        return value.as_int64() - by.as_int64();
    };
    CHECK(folded(JsonReducer::binary("minus", minus, 10), {written("1"), written("2")}) == 7);
}

TEST_CASE("a sum of integers that leaves 64 bits continues as unsigned and then as a double") {
    CHECK(folded(JsonReducer::sum(INT64_MAX), {written("1")}) == static_cast<std::uint64_t>(INT64_MAX) + 1);
    CHECK(folded(JsonReducer::sum(UINT64_MAX), {written("-1")}) == UINT64_MAX - 1);
    CHECK(folded(JsonReducer::sum(UINT64_MAX), {written("1")}).is_double());
}

TEST_CASE("overwrite and clear go past the reducer") {
    CHECK(folded(JsonReducer::append(), {written("[1,2]"), {sg::overwrite("x", {"new"})}, written("3")}) ==
          parsed(R"(["new",3])"));
    CHECK(folded(JsonReducer::append({0}), {written("1"), {sg::clear("x")}}) == parsed("[0]"));
    CHECK(folded(JsonReducer::lastValue(), {written("1"), {sg::clear("x")}}).is_null());
    CHECK(folded(JsonReducer::merge(), {written(R"({"a":1})"), {sg::clear("x")}, written(R"({"b":1})")}) ==
          parsed(R"({"b":1})"));
}

TEST_CASE("messages are replaced by id, added at the end and removed") {
    CHECK(folded(JsonReducer::messages(),
                 {written(R"([{"id":"1","t":"a"},{"id":"2","t":"b"}])"), written(R"({"id":"1","t":"c"})"),
                  written(R"([{"id":"3"},{"type":"remove","id":"2"}])")}) ==
          parsed(R"([{"id":"1","t":"c"},{"id":"3"}])"));
    CHECK(folded(JsonReducer::messages(), {written(R"([{"id":"1"},{"id":"2"}])"),
                                           written(R"([{"type":"remove","id":"__remove_all__"},{"id":"3"}])")}) ==
          parsed(R"([{"id":"3"}])"));
    CHECK(folded(JsonReducer::messages(),
                 {written(R"([{"id":"1","t":1},{"id":"2"}])"),
                  written(R"([{"type":"remove","id":"1"},{"id":"1","t":2},{"type":"remove","id":"2"},{"id":"9"}])")}) ==
          parsed(R"([{"id":"1","t":2},{"id":"9"}])"));
}

TEST_CASE("a message without an id gets one, and a removal of what is not there is refused") {
    JsonSchema schema;
    schema.channel("messages", JsonReducer::messages());
    Graph graph(schema);
    graph
        .addNode("say",
                 [](const JsonState&) -> Update {
                     return {sg::write("messages", {json::object{{"t", "hi"}}})};
                 })
        .addEdge(sg::START, "say");
    const auto result = graph.compile().invoke(Update());
    CHECK_FALSE(result.values["messages"].at(0).at("id").as_string().empty());
    CHECK_THROWS_WITH_AS(graph.compile().invoke({sg::write("messages", json::object{{"type", "remove"}, {"id", "x"}})}),
                         doctest::Contains("id 'x' is to be removed"), sg::InvalidUpdateError);
}

TEST_CASE("a write to no channel, two values for one and a value that its reducer cannot take are refused") {
    JsonSchema schema;
    schema.channel("foo").channel("n", JsonReducer::sum());
    Graph graph(schema);
    graph.addNode("a", [](const JsonState& state) { return Update::of(state["foo"].as_object()); })
        .addEdge(sg::START, "a");
    const auto app = graph.compile();
    const auto invoke = [&](json::object writes) { app.invoke({sg::write("foo", std::move(writes))}); };
    CHECK_THROWS_WITH_AS(invoke({{"fooo", 1}}), doctest::Contains("there is no channel 'fooo'"),
                         sg::InvalidUpdateError);
    CHECK_THROWS_WITH_AS(invoke({{"n", "x"}}), doctest::Contains("the reducer of channel 'n' failed"),
                         sg::InvalidUpdateError);
    CHECK_THROWS_AS(app.invoke({sg::write("foo", 1), sg::write("foo", 2)}), sg::InvalidUpdateError);
    CHECK_NOTHROW(invoke({{"n", 2}}));
}

TEST_CASE("nodes and routers take the state or its JSON, and Sends carry JSON of any shape to the latter") {
    JsonSchema schema;
    schema.channel("items").channel("seen", JsonReducer::append());
    Graph graph(schema);
    graph.addNode("plan", [](const JsonState&) { return Update(); })
        .addNode("raw", [](const json::value& input) { return Update().write("seen", input); })
        .addNode("part", [](const JsonState& input) { return Update().write("seen", input.toObject()); })
        .addEdge(sg::START, "plan")
        .addConditionalEdges("plan", [](const json::value& state) {
            std::vector<sg::Target> to;
            for (const auto& item : state.at("items").as_array()) to.push_back(sg::Send("raw", item));
            to.push_back(sg::Send("part", json::value{{"items", "mine"}}));
            return to;
        });
    const auto result = graph.compile().invoke({sg::write("items", {1, "two"})});
    CHECK(result.values["seen"] == parsed(R"([1,"two",{"items":"mine"}])"));
}

TEST_CASE("a Send to a node that takes the state must carry channels") {
    for (const json::value& payload : {json::value(1), json::value{{"nothing", 1}}}) {
        JsonSchema schema;
        schema.channel("x");
        Graph graph(schema);
        graph.addNode("part", [](const JsonState&) { return Update(); })
            .addConditionalEdges(sg::START, [payload](const JsonState&) { return sg::Send("part", payload); });
        CHECK_THROWS_AS(graph.compile().invoke(Update()), sg::Error);
    }
}

TEST_CASE("a json subgraph shares channels by name, and a Send gives it its input") {
    JsonSchema inner_schema;
    inner_schema.channel("n", JsonReducer::sum()).channel("own").input({"n"}).output({"n"});
    Graph inner(inner_schema);
    inner.addNode("add", [](const JsonState& state) { return Update().write("n", 1).write("own", state["own"]); })
        .addEdge(sg::START, "add");
    JsonSchema schema;
    schema.channel("n", JsonReducer::sum());
    Graph outer(schema);
    outer.addNode("inner", inner.compile())
        .addConditionalEdges(sg::START, [](const JsonState&) -> std::vector<sg::Target> {
            return {"inner", sg::Send("inner", json::value{{"n", 10}, {"own", "not its input"}})};
        });
    CHECK(outer.compile().invoke({sg::write("n", 1)}).values.toObject() == json::object{{"n", 1 + 2 + 11}});
}

TEST_CASE("input and output are what the schema says") {
    JsonSchema schema;
    schema.channel("foo").channel("bar", JsonReducer::append()).input({"foo"}).output({"bar"});
    Graph graph(schema);
    graph.addNode("a", [](const JsonState& state) { return Update().write("bar", state["foo"]); })
        .addEdge(sg::START, "a");
    CHECK(graph.compile().invoke({sg::write("foo", "x")}).values.toObject() == json::object{{"bar", {"x"}}});
}

TEST_CASE("input to a channel that the schema does not take is refused, and nothing is stored") {
    JsonSchema schema;
    schema.channel("foo").channel("n", JsonReducer::sum()).input({"foo"});
    Graph graph(schema);
    graph.addNode("a", [](const JsonState&) { return Update(); }).addEdge(sg::START, "a");
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = graph.compile({.checkpointer = saver});
    CHECK_THROWS_WITH_AS(app.invoke({sg::write("n", 1)}, {.thread_id = "t"}),
                         doctest::Contains("channel 'n' is not among"), sg::InvalidUpdateError);
    CHECK(saver->list({}).empty());
    CHECK_NOTHROW(app.invoke({sg::write("foo", 1)}, {.thread_id = "t"}));
}

TEST_CASE("a json thread has state, history, edits and a stream") {
    JsonSchema schema;
    schema.channel("foo").channel("bar", JsonReducer::append());
    Graph graph(schema);
    graph
        .addNode("a",
                 [](const JsonState&, sg::Runtime& runtime) {
                     const auto answer = sg::interrupt<json::value>(runtime, json::value{{"ask", 1}});
                     return sg::Command<JsonState>{.update = {sg::write("bar", answer)}};
                 })
        .addEdge(sg::START, "a");
    const auto app = graph.compile({.checkpointer = memory()});
    CHECK(app.getState({.thread_id = "1"}).values.toObject().empty());
    CHECK(app.getState({.thread_id = "1"}).values["bar"].is_null());
    const auto asked = app.invoke({sg::write("bar", "in")}, {.thread_id = "1"});
    REQUIRE(asked.interrupts.size() == 1);
    CHECK(sg::toJsonValue(asked.interrupts[0].value) == parsed(R"({"ask":1})"));
    std::vector<std::string> events;
    app.stream(sg::Command<>{.resume = json::value{"yes"}}, {.thread_id = "1"}, {.modes = sg::StreamMode::updates},
               [&](const sg::StreamEvent& event) { events.push_back(event.data.toJson()); });
    CHECK(events == std::vector<std::string>{R"({"a":{"bar":["yes"]}})"});
    const auto state = app.getState({.thread_id = "1"});
    CHECK(state.values["bar"] == parsed(R"(["in","yes"])"));
    CHECK(state.isSet("bar"));
    CHECK_FALSE(state.isSet("foo"));
    CHECK(state.valuesAsJson() == R"({"bar":["in","yes"]})");
    app.updateState({.thread_id = "1"}, {sg::write("foo", 1), sg::write("bar", "edit")}, {.as_node = "a"});
    std::vector<std::string> history;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "1"})) history.push_back(snapshot.valuesAsJson());
    REQUIRE(history.size() == 4);
    CHECK(history[0] == R"({"bar":["in","yes","edit"],"foo":1})");
    CHECK(history[3] == R"({"bar":[]})");
}

TEST_CASE("memory of the caller's is not kept") {
    JsonSchema schema;
    schema.channel("foo");
    Graph graph(schema);
    graph
        .addNode("a",
                 [](const JsonState&) {
                     unsigned char buffer[512];
                     json::static_resource memory(buffer);
                     return Update().write("foo", json::parse(R"({"a":[1,2,3]})", &memory));
                 })
        .addEdge(sg::START, "a");
    CHECK(graph.compile().invoke(Update()).values["foo"] == parsed(R"({"a":[1,2,3]})"));
}

TEST_CASE("json nodes run where they can be abandoned, with their state and with a Send's payload") {
    JsonSchema schema;
    schema.channel("bar", JsonReducer::append());
    Graph graph(schema);
    graph.addNode("a", [](const JsonState& state) { return Update().write("bar", state["bar"].as_array().size()); });
    graph.addNode("item", [](const json::value& item) { return Update().write("bar", item); });
    graph.addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const JsonState&) {
        return std::vector{sg::Send("item", json::value("x")), sg::Send("item", json::value("y"))};
    });
    sg::RunConfig config;
    config.control = std::make_shared<sg::RunControl>();
    CHECK(graph.compile().invoke(Update().write("bar", "in"), config).values["bar"] == parsed(R"(["in",1,"x","y"])"));
}

TEST_CASE("a graph and a schema that were moved from can be built on") {
    JsonSchema schema;
    schema.channel("x");
    Graph graph(schema);
    graph.addNode("a", [](const JsonState&) -> Update { return {sg::write("x", 1)}; });
    { const Graph taken = std::move(graph); }
    graph.addNode("b", [](const JsonState& state) -> Update { return {sg::write("x", state["x"].as_int64() + 2)}; });
    graph.addEdge(sg::START, "b").addEdge("b", sg::END);
    CHECK(graph.compile().invoke(Update{sg::write("x", 3)}).values["x"] == 5);

    const JsonSchema moved = std::move(schema);
    CHECK(Graph(schema)
              .addNode("c", [](const JsonState&) -> Update { return {sg::write("x", 7)}; })
              .addEdge(sg::START, "c")
              .addEdge("c", sg::END)
              .compile()
              .invoke(Update{})
              .values["x"] == 7);
    Graph assigned(moved);
    assigned = std::move(graph);
    CHECK(assigned.compile().invoke(Update{sg::write("x", 1)}).values["x"] == 3);
    graph.addNode("d", [](const JsonState&) -> Update { return {sg::write("x", 9)}; })
        .addEdge(sg::START, "d")
        .addEdge("d", sg::END);
    CHECK(graph.compile().invoke(Update{}).values["x"] == 9);
}

TEST_CASE("a schema of very many channels is made in little time, and copies of it keep apart") {
    // ThreadSanitizer's build copies the schema at each change, as schema.cpp says.
    constexpr int channels = STATEGRAPH_WITH_TSAN ? 300 : 30'000;
    JsonSchema schema;
    for (int i = 0; i < channels; ++i) schema.channel("c" + std::to_string(i));
    const JsonSchema copy = schema;
    schema.channel("one more");
    CHECK(JsonState(schema).toObject().empty());
    CHECK_THROWS_AS(JsonState(copy).at("one more"), sg::InvalidArgumentError);
    CHECK_NOTHROW(JsonState(schema, {{"one more", 1}}));
    CHECK_THROWS_AS(JsonState(copy, {{"one more", 1}}), sg::InvalidArgumentError);
}

TEST_CASE("a message's id is a string: none and null get one, and anything else is refused instead of replaced") {
    const auto id = [](const char* message) {
        JsonSchema schema;
        schema.channel("x", JsonReducer::messages());
        Graph graph(schema);
        graph.addNode("n", [message](const JsonState&) { return written(message); }).addEdge(sg::START, "n");
        return graph.compile().invoke(Update()).values["x"].at(0).at("id");
    };
    CHECK(id(R"([{"id":"7"}])") == "7");
    CHECK_FALSE(id(R"([{"t":"none"}])").as_string().empty());
    CHECK_FALSE(id(R"([{"id":null}])").as_string().empty());
    CHECK_THROWS_WITH_AS(id(R"([{"id":7}])"),
                         doctest::Contains("a message's id must be a string, and a number was written"),
                         sg::InvalidUpdateError);
    CHECK_THROWS_WITH_AS(id(R"({"id":{}})"), doctest::Contains("a message's id must be a string"),
                         sg::InvalidUpdateError);
}
