#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "tests/langgraph/player.hpp"
#include "tests/langgraph/player_differences.hpp"
#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/recorded_server.hpp"

namespace {

namespace json = boost::json;
using player::withDifferences;

json::array list(const char* text) { return json::parse(text).as_array(); }

TEST_CASE("Differences that have a reason are expected in place of what was recorded") {
    const json::object& original = recorded::scenario("stream_updates");
    const json::object changed = withDifferences(original, list(R"([
        {"step": 2, "at": "/sse/2/data/second/count", "value": 11, "why": "a"},
        {"step": 2, "at": "/sse/1/data/first/log", "remove": true, "why": "b"},
        {"step": 2, "at": "/sse/1", "insert": {"event": "more", "data": 1}, "why": "c"},
        {"step": 2, "at": "/sse/0/data/more", "value": true, "why": "d"},
        {"step": 1, "at": "/json/config", "remove": true, "why": "e"}])"));
    const player::RecordedServer server(changed);
    CHECK(player::play(changed, {.port = server.port()}) == "");
    const player::RecordedServer as_recorded(original);
    CHECK(player::play(changed, {.port = as_recorded.port()})
              .starts_with("scenario stream_updates, step 2 (POST /threads/<thread1>/runs/stream): event 0 "
                           "(metadata).data.more: expected true, got no such member"));
    CHECK(withDifferences(original, {}) == original);
    const json::object fewer =
        withDifferences(original, list(R"([{"step": 2, "at": "/sse/1", "remove": true, "why": "a"}])"));
    CHECK(fewer.at("steps").at(1).at("response").at("sse").as_array().size() == 2);
}

TEST_CASE("A difference that is wrong, has no reason or changes nothing is refused") {
    const json::object& original = recorded::scenario("stream_updates");
    for (const auto& [difference, why] : {
             std::pair{R"([{"step": 2, "at": "/status", "value": 404}])", "no reason"},
             std::pair{R"([{"step": 2, "at": "/status", "value": 200, "why": "a"}])", "this was recorded"},
             std::pair{R"([{"step": 9, "at": "/status", "value": 404, "why": "a"}])", "no step with a reply"},
             std::pair{R"([{"at": "/status", "value": 404, "why": "a"}])", "no step with a reply"},
             std::pair{R"([{"step": 2, "value": 404, "why": "a"}])", "names no place"},
             std::pair{R"([{"step": 2, "at": "status", "value": 404, "why": "a"}])", "no JSON pointer"},
             std::pair{R"([{"step": 2, "at": "/json/a", "value": 404, "why": "a"}])", "nothing is at /json"},
             std::pair{R"([{"step": 2, "at": "/text", "remove": true, "why": "a"}])", "no member text"},
             std::pair{R"([{"step": 2, "at": "/sse/3", "remove": true, "why": "a"}])", "no item 3"},
             std::pair{R"([{"step": 2, "at": "/sse/x", "insert": 1, "why": "a"}])", "no item x"},
             std::pair{R"([{"step": 2, "at": "/status", "insert": 1, "why": "a"}])", "neither value nor remove"},
         }) {
        CAPTURE(std::string(difference));
        CHECK_THROWS_WITH(withDifferences(original, list(difference)), doctest::Contains(why));
    }
}

}  // namespace
