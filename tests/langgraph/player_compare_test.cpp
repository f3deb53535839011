#include <cstddef>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "tests/langgraph/altered_responses.hpp"
#include "tests/langgraph/json_members.hpp"
#include "tests/langgraph/player_bindings.hpp"
#include "tests/langgraph/player_compare.hpp"
#include "tests/langgraph/recorded_scenarios.hpp"
#include "tests/langgraph/recorded_server.hpp"
#include "tests/support/sanitized.hpp"

namespace {

namespace json = boost::json;
using json_members::get;
using json_members::text;
using player::Bindings;

TEST_CASE("A placeholder stands for what is first met in its place, and for that alone") {
    Bindings bindings;
    CHECK(bindings.match("/threads/<thread1>/runs/<run1>", "/threads/a-b/runs/c"));
    CHECK(bindings.idOf("<thread1>") == "a-b");
    CHECK(bindings.idOf("<run1>") == "c");
    CHECK(bindings.match("Thread <thread1> not found", "Thread a-b not found"));
    CHECK_FALSE(bindings.match("<thread1>", "a-c"));
    CHECK_FALSE(bindings.match("<thread1>", "a-b "));
    CHECK(bindings.match("values|inner:<task1>", "values|inner:x"));
    CHECK_FALSE(bindings.match("values|inner:<task2>", "values|inner:x:y"));
    CHECK_FALSE(bindings.match("<thread2>", ""));
    // What did not match bound nothing.
    CHECK_FALSE(bindings.match("<thread2>/<run1>", "new/other"));
    CHECK(bindings.idOf("<thread2>").empty());
    CHECK(bindings.fillText("<thread1>:<thread2>:<time>") == "a-b:<thread2>:<time>");
    CHECK(bindings.explain("<thread1>:<thread2>") == " (<thread1> is a-b, <thread2> is new)");
}

TEST_CASE("Two placeholders of one kind stand for different ids") {
    Bindings bindings;
    CHECK(bindings.match("<thread1>", "a"));
    CHECK_FALSE(bindings.match("<thread2>", "a"));
    CHECK(bindings.match("<run1>", "a"));
    CHECK_FALSE(bindings.match("<task1>,<task2>", "t,t"));
    CHECK(bindings.match("<task1>,<task1>", "t,t"));
}

TEST_CASE("Times have a date, a clock and a zone, and assistants the ids that their graphs give them") {
    Bindings bindings;
    for (const char* time : {"2026-11-29T20:45:00.123Z", "2026-11-29T20:45:00+00:00", "2026-11-29T20:45:00.1-05:30"})
        CHECK(bindings.match("<time>", time));
    for (const char* time : {"2026-11-29", "2026-11-29T20:45:00", "2026-11-29T20:45Z", "x2026-11-29T20:45:00Z",
                             "2026-11-29T20:45:00Zx", "2026-11-29T20:45:00+00", ""})
        CHECK_FALSE(bindings.match("<time>", time));
    CHECK(player::assistantOf("two_step") == "8ec51fb6-2ef8-5899-9bde-c34e32a934ed");
    CHECK(bindings.match("/assistants/<assistant of two_step>", "/assistants/8ec51fb6-2ef8-5899-9bde-c34e32a934ed"));
    CHECK_FALSE(bindings.match("<assistant of two_step>", player::assistantOf("ask")));
    CHECK(bindings.match("<b>", "<b>"));
    CHECK_FALSE(bindings.match("<b>", "c"));
}

/// Says where a comparison did not find what was altered; empty: it did.
std::string unseen(const player::Altered& altered, const std::optional<player::Difference>& found) {
    if (!found) return altered.path + " was altered, and nobody saw it: " + player::shown(altered.response);
    const bool is_named = altered.is_exact ? found->path == altered.path : found->path.starts_with(altered.path);
    return is_named ? std::string() : altered.path + " was altered, and " + found->path + " was named";
}

TEST_CASE("Each recorded reply is accepted as it is, and refused with any one thing altered, at its place") {
    std::size_t tried = 0;
    std::size_t place = 0;
    for (const json::value scenario : recorded::scenarios()) {
        if (place++ % sanitized::one_of != sanitized::turn()) continue;
        const std::string id = text(get(scenario, "id"));
        const std::string how = text(get(scenario, "compare"));
        CAPTURE(id);
        Bindings server = player::freshBindings(scenario);
        Bindings client;
        if (const json::array* given = get(scenario, "given").if_array()) {
            for (const json::value& placeholder : *given) {
                const std::string name = text(placeholder);
                client.bind(name, player::newId());
                server.bind(name, client.idOf(name));
            }
        }
        int number = 0;
        for (const json::value& step : get(scenario, "steps").as_array()) {
            ++number;
            CAPTURE(number);
            const json::value* response = step.as_object().if_contains("response");
            if (response == nullptr) continue;
            const auto found = player::compareReply(*response, player::replyOf(*response, server), how, client);
            CHECK_MESSAGE(!found, found->path, ": expected ", found->expected, ", got ", found->got);
            for (const player::Altered& altered : player::alterations(*response, how, server)) {
                Bindings bindings = client;
                const player::Reply wrong = player::replyOf(altered.response, server);
                const auto difference = player::compareReply(*response, wrong, how, bindings);
                if (const std::string why = unseen(altered, difference); !why.empty()) FAIL_CHECK(why);
                ++tried;
            }
        }
    }
    MESSAGE(tried, " altered replies");
    CHECK(tried > 1'000);
}

TEST_CASE("Events without an order are matched in any, also where the first that fits is not the right one") {
    const json::value response = json::parse(
        R"({"status": 200, "headers": {}, "sse": [{"event": "tasks", "data": {"id": "<task1>"}},
            {"event": "tasks", "data": {"id": "<task2>"}}, {"event": "updates", "data": {"of": "<task1>", "w": "x"}}]})");
    player::Reply reply{.status = 200, .headers = {{"content-type", "text/event-stream; charset=utf-8"}}};
    reply.events = {{.name = "updates", .data = {{"of", "b"}, {"w", "x"}}},
                    {.name = "tasks", .data = {{"id", "a"}}},
                    {.name = "tasks", .data = {{"id", "b"}}}};
    Bindings bindings;
    const auto found = player::compareReply(response, reply, "unordered", bindings);
    CHECK_MESSAGE(!found, found->path, found->got);
    CHECK(bindings.idOf("<task1>") == "b");
    CHECK(bindings.idOf("<task2>") == "a");
    CHECK(player::compareReply(response, reply, "", bindings)->path == "event 0: its name");
    reply.events[0].data = {{"of", "c"}, {"w", "x"}};
    Bindings others;
    CHECK(player::compareReply(response, reply, "unordered", others)->path == "event 2 in any order");
    CHECK_FALSE(player::compareReply(response, reply, "names", others));
}

TEST_CASE("Additional members and headers are allowed, and of refused requests only the status counts") {
    Bindings bindings;
    const json::value response =
        json::parse(R"({"status": 200, "headers": {"location": "/<run1>"}, "json": {"a": 1}})");
    player::Reply reply{.status = 200, .headers = {{"location", "/x"}, {"date", "y"}}, .body = R"({"b": 2, "a": 1.0})"};
    CHECK_FALSE(player::compareReply(response, reply, "", bindings));
    reply.body = "no JSON";
    CHECK(player::compareReply(response, reply, "", bindings)->path == "body");
    const json::value refused = json::parse(R"({"status": 404, "headers": {}, "text": "Run not found"})");
    CHECK_FALSE(player::compareReply(refused, {.status = 404, .body = "another"}, "", bindings));
    CHECK(player::compareReply(refused, {.status = 409, .body = "why"}, "", bindings)->got == "409: \"why\"");
}

}  // namespace
