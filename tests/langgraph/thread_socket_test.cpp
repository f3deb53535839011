// The second protocol over a WebSocket, and what the server does with WebSockets.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>

#include "langgraph/identifiers.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/langgraph/web_socket.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::makeApp;
using langgraph_tests::Served;
using langgraph_tests::WebSocket;

constexpr const char* start = R"({"id": 2, "method": "run.start",
    "params": {"assistant_id": "app", "input": {"name": "x"}}})";

std::string pathOf(const std::string& thread) { return "/threads/" + thread + "/stream/events"; }

bool isEndOfRun(const json::object& message) {
    return message.at("type") == "event" && message.at("method") == "lifecycle" &&
           message.at("params").at("namespace").as_array().empty() &&
           message.at("params").at("data").at("event") == "completed";
}

/// The messages up to the end of a run and the replies to so many commands.
std::vector<json::object> readRun(WebSocket& socket, std::size_t replies) {
    std::vector<json::object> messages;
    for (bool has_ended = false; !has_ended || replies > 0;) {
        const std::string text = socket.next();
        REQUIRE(text != "");
        messages.push_back(json::parse(text).as_object());
        has_ended = has_ended || isEndOfRun(messages.back());
        if (messages.back().at("type") != "event") --replies;
    }
    return messages;
}

}  // namespace

TEST_CASE("all subscriptions of a WebSocket together get each event once, in its order") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = sg::langgraph::newId();
    WebSocket socket(served.server.port(), pathOf(thread));
    REQUIRE(socket.status == 101);
    socket.send(R"({"id": 1, "method": "subscription.subscribe", "params": {"channels": ["values", "lifecycle"]}})");
    socket.send(start);
    socket.send(R"({"id": 3, "method": "subscription.subscribe", "params": {"channels": ["lifecycle", "tasks"]}})");
    std::set<std::int64_t> numbers;
    std::string values;
    for (const json::object& each : readRun(socket, 3)) {
        if (each.at("type") == "error") FAIL(json::serialize(each));
        if (each.at("type") != "event") continue;
        CHECK(json::value(std::to_string(each.at("seq").as_int64())) == each.at("event_id"));
        numbers.insert(each.at("seq").as_int64());
        if (each.at("method") == "values") values = json::serialize(each.at("params").at("data").at("log"));
    }
    CHECK(values == R"(["first x","work x"])");
    CHECK(*numbers.begin() == 1);
    // A client that comes late gets all of it again.
    WebSocket late(served.server.port(), pathOf(thread));
    late.send(R"({"id": 1, "method": "subscription.subscribe", "params": {"channels": ["lifecycle"]}})");
    const std::vector<json::object> replayed = readRun(late, 1);
    REQUIRE(replayed.size() == 3);
    CHECK(replayed[0].at("result").at("replayed_events") == 2);
    CHECK(replayed[1].at("seq").as_int64() < replayed[2].at("seq").as_int64());
}

TEST_CASE("a command over a WebSocket that makes no sense is answered, and the conversation goes on") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    WebSocket socket(served.server.port(), pathOf(sg::langgraph::newId()));
    const auto answerTo = [&](const char* text) {
        socket.send(text);
        return json::parse(socket.next()).as_object();
    };
    CHECK(answerTo("no JSON").at("error") == "invalid_argument");
    CHECK(answerTo(R"({"method": "run.start"})").at("id").is_null());
    CHECK(answerTo(R"({"id": 4, "method": "subscription.unsubscribe", "params": {"subscription_id": "x"}})")
              .at("error") == "no_such_subscription");
    CHECK(answerTo(R"({"id": 5, "method": "subscription.reconnect"})").at("error") == "not_supported");
    CHECK(answerTo(R"({"id": 6, "method": "run.start", "params": {"assistant_id": "no"}})").at("error") ==
          "invalid_argument");
    CHECK(answerTo(R"({"id": 7, "method": "agent.getTree"})").at("error") == "no_such_run");
    CHECK(answerTo(R"({"id": 8, "method": "state.get"})").at("error") == "permission_denied");
}

TEST_CASE("an upgrade is refused that a page of another origin asks for, that names no thread, or that is none") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string path = pathOf(sg::langgraph::newId());
    CHECK(WebSocket(served.server.port(), path, "Origin: https://evil.example\r\n").status == 403);
    CHECK(WebSocket(served.server.port(), path, "Origin: http://localhost\r\n").status == 101);
    CHECK(WebSocket(served.server.port(), pathOf("no-thread")).status == 422);
    CHECK(served.ask("GET", path).status == 426);
}

TEST_CASE("a message that is too large, or no text, ends a WebSocket with a code") {
    sg::serve::ServerOptions options;
    options.body_bytes_max = 2000;
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()), options);
    WebSocket large(served.server.port(), pathOf(sg::langgraph::newId()));
    large.send(std::string(2001, ' '));
    CHECK(large.next() == "");
    CHECK(large.code == 1009);
    WebSocket binary(served.server.port(), pathOf(sg::langgraph::newId()));
    binary.send("{}", 2);
    CHECK(binary.next() == "");
    CHECK(binary.code == 1003);
}

TEST_CASE("messages over a WebSocket count as requests of their client, and WebSockets as its streams") {
    sg::serve::ServerOptions options;
    options.per_client.requests = {.per_second = 1e-6, .burst = 4};
    options.per_client.streams_max = 1;
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()), options);
    const std::string path = pathOf(sg::langgraph::newId());
    WebSocket socket(served.server.port(), path);
    CHECK(WebSocket(served.server.port(), path).status == 429);
    for (int i = 0; i < 2; ++i) {
        socket.send("{}");
        CHECK(socket.next() != "");
    }
    socket.send("{}");
    CHECK(socket.next() == "");
    CHECK(socket.code == 4429);
}

TEST_CASE("a server that drains ends its WebSockets, and says so") {
    Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    WebSocket socket(served.server.port(), pathOf(sg::langgraph::newId()));
    socket.send("{}");
    CHECK(socket.next() != "");
    served.server.drain(std::chrono::minutes(5));
    CHECK(socket.next() == "");
    CHECK(socket.code == 1001);
}
