#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "tests/langgraph/altered_responses.hpp"
#include "tests/langgraph/json_members.hpp"
#include "tests/langgraph/player.hpp"
#include "tests/langgraph/player_bindings.hpp"
#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/recorded_server.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/seed.hpp"

namespace {

namespace json = boost::json;
using player::RecordedServer;

std::string textOf(const json::value& object, const char* member) {
    return json_members::text(json_members::get(object, member));
}

/// Plays a scenario to a server that follows another one.
std::string play(const json::object& scenario, const json::object& followed) {
    const RecordedServer server(followed);
    return player::play(scenario, {.port = server.port(), .slower = 0});
}

json::array& stepsOf(json::object& scenario) { return scenario.at("steps").as_array(); }
json::object& responseOf(json::object& scenario, std::size_t step) {
    return stepsOf(scenario).at(step - 1).at("response").as_object();
}
/// The scenario with one of its replies changed.
json::object changed(const char* id, const std::function<void(json::object& scenario)>& change) {
    json::object scenario = recorded::scenario(id);
    change(scenario);
    return scenario;
}

TEST_CASE("Every recorded scenario passes against a server that replies what was recorded") {
    CHECK(recorded::scenarios().size() == 62);
    for (const json::object& scenario : recorded::scenarios()) {
        const std::string id = textOf(scenario, "id");
        CAPTURE(id);
        const RecordedServer server(scenario);
        CHECK(player::play(scenario, {.port = server.port(), .slower = 0}) == "");
        // All steps were asked for, with the recorded requests.
        CHECK(server.complaints() == "");
    }
}

TEST_CASE("No recorded scenario passes against a server that changes one thing, and the message names its place") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto one = [&](std::size_t all) { return std::uniform_int_distribution<std::size_t>(0, all - 1)(random); };
    for (const json::object& scenario : recorded::scenarios()) {
        const std::string id = textOf(scenario, "id");
        std::vector<std::size_t> with_reply;
        const json::array& steps = scenario.at("steps").as_array();
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (steps[i].as_object().contains("response")) with_reply.push_back(i);
        const std::size_t step = with_reply.at(one(with_reply.size()));
        const player::Bindings ids = player::freshBindings(scenario);
        auto altered = player::alterations(steps[step].at("response"), textOf(scenario, "compare"), ids);
        // Where an id is first met, any is accepted, so only what has none is altered here.
        std::erase_if(altered, [&](const player::Altered& each) {
            return player::placeholdersOf(json::serialize(each.response)) !=
                   player::placeholdersOf(json::serialize(steps[step].at("response")));
        });
        const player::Altered& chosen = altered.at(one(altered.size()));
        json::object followed = scenario;
        stepsOf(followed)[step].as_object()["response"] = chosen.response;
        const std::string message = play(scenario, followed);
        const json::value& request = steps[step].at("request");
        CAPTURE(id);
        CAPTURE(chosen.path);
        CAPTURE(message);
        CHECK(message.starts_with("scenario " + id + ", step " + std::to_string(step + 1) + " (" +
                                  textOf(request, "method") + " " + textOf(request, "path") + "): "));
        // Names of events have ids of the server's own.
        if (chosen.is_exact && chosen.path.find('|') == std::string::npos)
            CHECK(message.find("): " + chosen.path + ": expected ") != std::string::npos);
    }
}

TEST_CASE("A message says the scenario, the step, the place, what was expected and what came") {
    const json::object& scenario = recorded::scenario("run_wait");
    CHECK(play(scenario,
               changed("run_wait",
                       [](json::object& s) { responseOf(s, 2).at("json").at("log").as_array()[1] = "second:Bob"; })) ==
          "scenario run_wait, step 2 (POST /threads/<thread1>/runs/wait): body.log[1]: expected \"second:Ada\", got "
          "\"second:Bob\"");
    CHECK(play(scenario, changed("run_wait", [](json::object& s) { responseOf(s, 3)["status"] = 404; }))
              .starts_with("scenario run_wait, step 3 (GET /threads/<thread1>): status: expected 200, got 404: "));
    CHECK(play(recorded::scenario("stream_updates"), changed("stream_updates",
                                                             [](json::object& s) {
                                                                 json::array& events =
                                                                     responseOf(s, 2).at("sse").as_array();
                                                                 std::swap(events[1], events[2]);
                                                             }))
              .find("event 1 (updates).data.first: expected") != std::string::npos);
}

TEST_CASE("An id that changes, or that two things have, is found") {
    const json::object& scenario = recorded::scenario("run_wait");
    const std::string another = play(scenario, changed("run_wait", [](json::object& s) {
                                         responseOf(s, 3).at("json").as_object()["thread_id"] = "another";
                                     }));
    CHECK(
        another.starts_with("scenario run_wait, step 3 (GET /threads/<thread1>): body.thread_id: expected "
                            "\"<thread1>\" (<thread1> is "));
    CHECK(another.ends_with("), got \"another\""));
    const std::string twice =
        play(scenario, changed("run_wait", [](json::object& s) {
                 responseOf(s, 4).at("json").at("parent_checkpoint").as_object()["checkpoint_id"] = "<checkpoint1>";
             }));
    CHECK(twice.find("body.parent_checkpoint.checkpoint_id: expected \"<checkpoint2>\" (<checkpoint2> is new), got ") !=
          std::string::npos);
    CHECK(play(scenario, changed("run_wait",
                                 [](json::object& s) {
                                     responseOf(s, 2).at("headers").as_object()["content-location"] =
                                         "/threads/other/runs/<run1>";
                                 }))
              .find("header content-location: expected") != std::string::npos);
}

TEST_CASE("A webhook that differs is found after the last step") {
    const json::object& scenario = recorded::scenario("webhook");
    CHECK(play(scenario, changed("webhook", [](json::object& s) {
                   s.at("result").at("webhook").as_array()[0].as_object()["status"] = "error";
               })) == "scenario webhook, after the last step: webhook[0].status: expected \"success\", got \"error\"");
}

TEST_CASE("Requests overlap between their start and their finish") {
    const json::object scenario = json::parse(R"({"id": "overlap", "steps": [
        {"start": "a", "request": {"method": "POST", "path": "/slow", "body": {"n": 1}}},
        {"request": {"method": "GET", "path": "/quick"}, "response": {"status": 200, "headers": {}, "json": 1}},
        {"finish": "a", "response": {"status": 200, "headers": {}, "json": {"n": "<id1>"}}},
        {"request": {"method": "GET", "path": "/<id1>"}, "response": {"status": 204, "headers": {}, "empty": true}}]})")
                                      .as_object();
    const RecordedServer server(scenario);  // replies to the first request after the second one has come
    CHECK(player::play(scenario, {.port = server.port()}) == "");
    CHECK(server.complaints() == "");
    json::object followed = scenario;
    responseOf(followed, 3)["json"] = json::object{{"n", 7}};
    CHECK(play(scenario, followed) ==
          "scenario overlap, step 3 (finish a): body.n: expected \"<id1>\" (<id1> is new), got 7");
}

/// A server that sends these bytes for each request, and then keeps the connection or closes it.
class Sending {
public:
    enum class Then : std::uint8_t { close, keep };
    Sending(std::string bytes, Then then)
        : server_([bytes = std::move(bytes), then](ScriptedServer::Peer& peer) {
              const bool is_truncation = peer.request().find("/internal/truncate") != std::string::npos;
              peer.send(is_truncation ? "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" : bytes);
              if (then == Then::keep && !is_truncation) peer.waitForEnd(std::chrono::minutes(5));
          }) {}
    /// Plays a scenario of one step.
    std::string play(const std::string& step, std::chrono::milliseconds patience = std::chrono::minutes(5)) const {
        const json::value scenario = json::parse(R"({"id": "s", "steps": [)" + step + "]}");
        return player::play(scenario.as_object(), {.port = server_.port(), .patience = patience});
    }

private:
    ScriptedServer server_;
};
using Then = Sending::Then;
constexpr auto too_short = std::chrono::milliseconds(50);  // for what never comes

TEST_CASE("A reply that is not whole is a difference") {
    const std::string step = R"({"request": {"method": "GET", "path": "/p"},
        "response": {"status": 200, "headers": {}, "sse": [{"event": "a", "data": 1}]}})";
    const std::string begun =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        "12\r\nevent: a\ndata: 1\n\n\r\n";
    const std::string where = "scenario s, step 1 (GET /p): the reply: expected a whole one, got ";
    CHECK(Sending("", Then::keep).play(step, too_short) == where + "the reply did not end within 50 ms");
    CHECK(Sending(begun, Then::keep).play(step, too_short).starts_with(where + "the reply did not end within 50 ms"));
    const std::string cut = Sending(begun, Then::close).play(step);
    CHECK(cut.starts_with(where + "the connection ended: "));
    CHECK(cut.ends_with("; until then status 200, event a"));
    CHECK(Sending("nonsense", Then::close).play(step).starts_with(where + "the connection ended: "));
    CHECK(Sending(begun + "0\r\n\r\n", Then::keep).play(step) == "");
}

TEST_CASE("A condition that does not come true is a difference, and so is a server that does not reply") {
    const std::string step = R"({"until": {"path": "/r", "member": "status", "values": ["yes", "perhaps"]}})";
    const Sending server("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"status\":\"no\"}", Then::close);
    const std::string where = "scenario s, step 1 (until status of GET /r): ";
    // Under a load the last reply may take longer than this.
    const std::string never = server.play(step, too_short);
    CHECK(never.starts_with(where));
    CHECK(
        (never.find("did not end") != std::string::npos ||
         never.find("body.status: expected one of [\"yes\",\"perhaps\"] in the end, got 200: ") != std::string::npos));
    CHECK(Sending("", Then::close).play(step).starts_with(where + "the reply: expected a whole one, got "));
    const Sending no_json("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", Then::close);
    CHECK(no_json.play(step, too_short).starts_with(where));
}

TEST_CASE("The client hangs up after the event that ends its part of a stream, also if the server sends more") {
    const Sending server(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\nevent: a\r\ndata: 1\r\n\r\n"
        "event: b\nid: 1\ndata: {\"params\":{\"namespace\":[\"x\"]},\ndata: \"d\": \"end\"}\n\n"
        "event: b\ndata: {\"params\":{\"namespace\":[]},\"d\": \"end\"}\n\nevent: c\ndata: 1\n\n",
        Then::keep);
    const auto until = [](const std::string& stop_after) {
        return R"({"request": {"method": "GET", "path": "/p"}, "stop_after": )" + stop_after +
               R"(, "response": {"status": 200, "headers": {}, "sse": [{"event": "a", "data": 1},
                  {"event": "b", "id": true, "data": {"d": "end"}}, {"event": "b", "data": {"d": "end"}}]}})";
    };
    CHECK(server.play(until(R"({"event": "b", "data": "\"end\"", "root": true})")) == "");
    CHECK(server.play(until(R"({"event": "b", "data": "\"end\""})")).ends_with("expected 3: a b b, got 2: a b"));
    CHECK(server.play(until(R"({"event": "c"})")).ends_with("expected 3: a b b, got 4: a b b c"));
}

TEST_CASE("Scenarios that sleep take time") {
    CHECK(player::takesTime(recorded::scenario("multitask_enqueue")));
    CHECK_FALSE(player::takesTime(recorded::scenario("run_wait")));
}

}  // namespace
