// What events, states and records say about graphs inside of graphs, about assistants, and in which order.
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>

#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/langgraph/server/served_graphs.hpp"
#include "tests/serve/client.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;

struct Event {
    std::string name;
    json::value data;
};

/// A server of the recorded graphs.
struct RecordedGraphs {
    RecordedGraphs() {
        const described::Surroundings in{std::make_shared<sg::MemorySaver>(), std::make_shared<sg::MemoryStore>()};
        sg::langgraph::serve(server, described::served(recorded::graphs(), in), {.store = in.store});
    }
    json::value ask(std::string_view method, const std::string& target, std::string_view body = {}) const {
        client::Connection connection(server.port());
        connection.request(method, target, body);
        return json::parse(connection.read().body);
    }
    std::string newThread() const { return text(ask("POST", "/threads", "{}").at("thread_id")); }
    std::vector<Event> stream(const std::string& thread, std::string_view body) const {
        client::Connection connection(server.port());
        connection.request("POST", "/threads/" + thread + "/runs/stream", body);
        std::istringstream lines(langgraph_tests::eventsIn(connection.read().body));
        std::vector<Event> events;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("event: ")) events.push_back({.name = line.substr(7), .data = {}});
            if (line.starts_with("data: ")) events.back().data = json::parse(line.substr(6));
        }
        return events;
    }
    static std::string text(const json::value& value) { return json::value_to<std::string>(value); }

    sg::serve::Server server{langgraph_tests::patient()};
};

TEST_CASE("a checkpoint of a graph inside names those of the graphs around it, and the task that runs it") {
    const RecordedGraphs server;
    const std::string thread = server.newThread();
    const auto events = server.stream(
        thread,
        R"({"assistant_id": "outer", "input": {"name": "n"}, "stream_mode": "debug", "stream_subgraphs": true})");
    std::string around;
    std::string ns;
    int inner = 0;
    for (const Event& event : events) {
        if (!event.name.starts_with("debug") || event.data.at("type") != "checkpoint") continue;
        const json::value& payload = event.data.at("payload");
        if (event.name == "debug") {
            CHECK(payload.at("metadata").at("parents").as_object().empty());
            CHECK(payload.at("checkpoint").at("checkpoint_map").is_null());
            around = RecordedGraphs::text(payload.at("checkpoint").at("checkpoint_id"));
            const json::object& task =
                payload.at("tasks").as_array().empty() ? json::object() : payload.at("tasks").at(0).as_object();
            if (task.contains("checkpoint")) ns = RecordedGraphs::text(task.at("checkpoint").at("checkpoint_ns"));
            continue;
        }
        ++inner;
        CHECK(event.name == "debug|" + ns);
        const json::value parents{{"", around}};
        CHECK(payload.at("metadata").at("parents") == parents);
        CHECK(payload.at("checkpoint").at("checkpoint_map") == parents);
        const json::value& config = payload.at("config");
        CHECK(config.at("configurable").at("checkpoint_map") == parents);
        CHECK(config.at("metadata").at("langgraph_node") == "inner");
        CHECK(config.at("metadata").at("langgraph_step") == 2);
        CHECK(config.at("metadata").at("checkpoint_ns") == json::value(ns));
    }
    CHECK(inner == 4);
    // Also when the task has ended.
    const json::value history = server.ask("GET", "/threads/" + thread + "/history");
    int named = 0;
    for (const json::value& state : history.as_array()) {
        for (const json::value& task : state.at("tasks").as_array()) {
            if (task.at("name") != "inner") continue;
            ++named;
            CHECK(task.at("checkpoint").at("checkpoint_ns") == json::value(ns));
        }
    }
    CHECK(named == 1);
}

TEST_CASE("whole messages come after the values that have them") {
    const RecordedGraphs server;
    const auto events =
        server.stream(server.newThread(), R"({"assistant_id": "tokens", "stream_mode": ["messages", "values"],
        "input": {"messages": [{"role": "user", "content": "hi", "id": "u"}]}})");
    std::string before;
    int whole = 0;
    for (const Event& event : events) {
        if (event.name == "messages/complete") {
            ++whole;
            CHECK(before == "values");
        }
        before = event.name;
    }
    CHECK(whole == 2);
}

TEST_CASE("a thread keeps the settings of a run and of its assistant for later runs") {
    const RecordedGraphs server;
    const json::value assistant = server.ask("POST", "/assistants", R"({"graph_id": "configured",
        "config": {"configurable": {"model": "A", "color": "red"}, "tags": ["a"], "recursion_limit": 9}})");
    const std::string id = RecordedGraphs::text(assistant.at("assistant_id"));
    const std::string thread = server.newThread();
    const std::string body = R"({"assistant_id": ")" + id + R"(", "input": {"log": []},
        "config": {"configurable": {"model": "B"}, "tags": ["r"]}})";
    (void)server.ask("POST", "/threads/" + thread + "/runs/wait", body);
    CHECK(server.ask("GET", "/threads/" + thread).at("config") ==
          json::parse(R"({"configurable": {"model": "B", "color": "red"}, "tags": ["r"], "recursion_limit": 9})"));
}

TEST_CASE("a run without a thread is temporary unless its thread is kept") {
    const RecordedGraphs server;
    const auto isTemporary = [&](std::string_view completion) {
        const std::string body = R"({"assistant_id": "two_step", "input": {"name": "x"}, "on_completion": ")" +
                                 std::string(completion) + R"("})";
        return server.ask("POST", "/runs", body).at("kwargs").at("temporary").as_bool();
    };
    CHECK(isTemporary("delete"));
    CHECK(!isTemporary("keep"));
    CHECK(server.ask("POST", "/runs", R"({"assistant_id": "two_step", "on_completion": "burn"})")
              .as_object()
              .contains("detail"));
}

}  // namespace
