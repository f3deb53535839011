#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/stream.hpp>

#include "tests/langgraph/described_graphs.hpp"
#include "tests/langgraph/recorded_scenarios.hpp"

namespace {

namespace sg = stategraph;
namespace json = boost::json;
using described::App;
using described::get;
using described::text;

App build(const std::string& graph, std::shared_ptr<sg::BaseStore> store = {}) {
    return described::build(recorded::graphs().at(graph),
                            {.saver = std::make_shared<sg::MemorySaver>(), .store = std::move(store)});
}

/// A value in which messages have no members that are empty, and a type in place of a role.
json::value plain(const json::value& value) {
    if (const json::array* items = value.if_array()) {
        json::array all;
        for (const json::value& item : *items) all.push_back(plain(item));
        return all;
    }
    if (!value.is_object()) return value;
    json::object members;
    for (const auto& member : value.get_object()) {
        const bool is_empty = (member.value().is_object() && member.value().get_object().empty()) ||
                              (member.value().is_array() && member.value().get_array().empty());
        if (is_empty && value.get_object().contains("content")) continue;
        const bool is_role = member.key() == "role" && member.value() == "user";
        members[is_role ? "type" : std::string(member.key())] = is_role ? "human" : plain(member.value());
    }
    return members;
}

/// What a run ended with, shaped as the reply of `runs/wait`.
json::value ending(const sg::Result<sg::JsonState>& result) {
    if (result.interrupts.empty()) return plain(result.values.toObject());
    json::array questions;
    for (const sg::Interrupt& question : result.interrupts) questions.push_back(sg::toJsonValue(question.value));
    return questions;
}

/// What was recorded for a run: the reply, or the last values in a stream.
json::value recordedEnding(const json::value& response) {
    json::value values = get(response, "json");
    if (const json::array* events = get(response, "sse").if_array()) {
        for (const json::value& event : *events)
            if (get(event, "event") == "values") values = get(event, "data");
    }
    const json::array* interrupts = get(values, "__interrupt__").if_array();
    if (interrupts == nullptr) return plain(values);
    json::array questions;
    for (const json::value& question : *interrupts) questions.push_back(get(question, "value"));
    return questions;
}

TEST_CASE("Described graphs end their runs with what was recorded") {
    for (const std::string id :
         {"run_wait", "run_second_input", "interrupt_wait", "interrupt_twice", "sdk_interrupt", "subgraph_edit",
          "stream_send", "stream_subgraphs", "stream_tools", "stream_default"}) {
        CAPTURE(id);
        std::map<std::string, App> apps;
        int runs = 0;
        for (const json::value& step : recorded::scenario(id).at("steps").as_array()) {
            const json::value& body = get(get(step, "request"), "body");
            if (!get(body, "assistant_id").is_string()) continue;
            const std::string graph = text(get(body, "assistant_id"));
            if (!apps.contains(graph)) apps.emplace(graph, build(graph));
            const App& app = apps.at(graph);
            const sg::RunConfig config{.thread_id = "t"};
            const json::value& answer = get(get(body, "command"), "resume");
            const auto result =
                answer.is_null()
                    ? app.invoke(sg::Update<sg::JsonState>::of(plain(get(body, "input")).as_object()), config)
                    : app.invoke(sg::Command<sg::JsonState>{.resume = sg::fromJson(answer)}, config);
            CHECK(ending(result) == recordedEnding(get(step, "response")));
            ++runs;
        }
        CHECK(runs > 0);
    }
}

TEST_CASE("A described node fails with the name that its step gives") {
    const App app = build("fail");
    try {
        app.invoke({sg::write("bad", true)}, {.thread_id = "t"});
        FAIL("it did not fail");
    } catch (const sg::NodeError& error) {
        CHECK(error.reason() == "it went wrong");
        try {
            std::rethrow_exception(error.original());
        } catch (const described::NamedError& original) {
            CHECK(original.name() == "ValueError");
        }
    }
    const auto result = app.invoke({sg::write("bad", false)}, {.thread_id = "other"});
    CHECK(result.values["log"] == json::array{"ok", "survived"});
}

TEST_CASE("A described model streams its tokens as parts of one message") {
    std::vector<std::string> parts;
    const auto result =
        build("tokens").stream(sg::Update<sg::JsonState>{}, {.thread_id = "t"},
                               sg::StreamOptions{.modes = sg::StreamMode::messages}, [&](const sg::StreamEvent& event) {
                                   const json::value data = sg::toJsonValue(event.data);
                                   CHECK(get(data, "delta") == true);
                                   parts.push_back(text(get(get(data, "message"), "content")));
                               });
    CHECK(parts == std::vector<std::string>{"Hel", "lo", " ", "there"});
    CHECK(get(result.values["messages"].at(0), "content") == "Hello there");
}

TEST_CASE("Described nodes report what their steps say, also those of a subgraph") {
    const auto reported = [](const std::string& graph) {
        std::vector<std::string> all;
        build(graph).stream(sg::Update<sg::JsonState>{}, {.thread_id = "t"},
                            sg::StreamOptions{.modes = sg::StreamMode::custom, .subgraphs = true},
                            [&](const sg::StreamEvent& event) {
                                all.push_back(event.node + ": " + json::serialize(sg::toJsonValue(event.data)));
                            });
        return all;
    };
    CHECK((reported("custom") == std::vector<std::string>{"a: {\"n\":1}", "a: \"two\"", "b: [3]"}));
    CHECK((reported("outer") == std::vector<std::string>{"in_b: {\"from\":\"in_b\"}"}));
}

TEST_CASE("A described node goes where it says, and reads what the request gives it") {
    CHECK(build("jump").invoke({sg::write("where", "right")}, {.thread_id = "t"}).values["log"] ==
          json::array{"choose", "right"});
    const described::RequestContext request{.configurable = sg::fromJson({{"model", "m"}, {"assistant_id", "a"}}),
                                            .context = sg::fromJson({{"color", "red"}})};
    CHECK(build("configured").invoke({}, {.thread_id = "t", .context = request}).values["log"] ==
          json::array{"model=m", "color=red", "assistant=true"});
    CHECK(build("configured").invoke({}, {.thread_id = "t", .context = described::RequestContext{}}).values["log"] ==
          json::array{"model=", "color=", "assistant=false"});
    CHECK_THROWS_AS(build("loop").invoke({}, {.thread_id = "t"}), sg::GraphRecursionError);
}

TEST_CASE("A described node puts items into the store") {
    const auto store = std::make_shared<sg::MemoryStore>();
    build("store_user", store).invoke({sg::write("name", "Ada")}, {.thread_id = "t"});
    const auto item = store->get({"people"}, "Ada");
    REQUIRE(item);
    CHECK(sg::toJsonValue(item->value) == json::value{{"seen", true}});
}

TEST_CASE("A described sleep ends when its run is stopped") {
    const auto control = std::make_shared<sg::RunControl>();
    const App app = build("slow");
    const std::jthread stopping([&] { control->requestStop(); });
    const auto result =
        app.invoke({sg::write("ms", 3'600'000), sg::write("name", "n")}, {.thread_id = "t", .control = control});
    CHECK((result.status == sg::Status::cancelled));
}

TEST_CASE("A step that nobody knows is refused when its graph is built") {
    const json::value graph = json::parse(R"({"channels": {}, "nodes": {"odd": [{"op": "dance"}]}, "edges": []})");
    CHECK_THROWS_WITH(described::build(graph, {}), doctest::Contains("the node odd has a step with an unknown op"));
}

}  // namespace
