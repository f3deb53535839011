// Threads with `ttl`: when they are deleted or pruned, and that no death of a process keeps them.
#include <chrono>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/records.hpp"
#include "tests/langgraph/timed_app.hpp"
#include "tests/support/until.hpp"

namespace {

namespace json = boost::json;
namespace lg = stategraph::langgraph;
using langgraph_tests::Surroundings;
using langgraph_tests::Timed;
using std::chrono::minutes;

/// Records have the system's time, at which the time of these tests begins.
struct TimedThreads : Surroundings {
    TimedThreads() : Surroundings(lg::now()) {}

    std::string made(const Timed& server, const json::value& ttl) const {
        return Timed::textOf(server.post("/threads", {{"ttl", ttl}}), "thread_id");
    }
    static int statusOf(const Timed& server, const std::string& thread) {
        return server.ask("GET", "/threads/" + thread).status;
    }
    std::size_t entries() const {
        return store->search({.namespace_prefix = {lg::records_label, "thread-times"}, .limit = 100}).size();
    }
};

void runOn(const Timed& server, const std::string& thread) {
    CHECK(server.ask("POST", "/threads/" + thread + "/runs/wait", {{"assistant_id", "app"}, {"input", {{"name", "x"}}}})
              .status == 200);
}

}  // namespace

TEST_CASE("a thread with a time to live is deleted with its log when nothing has changed it for so long") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread = in.made(server, {{"ttl", 10}});
    const std::string other = in.made(server, 0.5);
    const std::string stays = Timed::textOf(server.post("/threads", json::object()), "thread_id");
    runOn(server, thread);
    const json::value ttl = server.get("/threads/" + thread + "?include=ttl").at("ttl");
    CHECK(ttl.at("ttl_minutes").to_number<double>() == 10);
    CHECK(ttl.at("strategy") == "delete");
    in.time->pass(minutes(9));
    CHECK(in.statusOf(server, other) == 404);
    CHECK(in.statusOf(server, thread) == 200);
    // A change puts the end off.
    (void)server.service->records.editThread(
        thread, [&](lg::ThreadRecord& record) { record.updated_at = lg::isoTime(in.time->now(), 6); });
    in.time->pass(minutes(9));
    CHECK(in.statusOf(server, thread) == 200);
    in.time->pass(minutes(2));
    CHECK(in.statusOf(server, thread) == 404);
    CHECK(in.saver->getTuple({.log = {thread, ""}}) == std::nullopt);
    CHECK(in.statusOf(server, stays) == 200);
    CHECK(server.get("/threads/" + stays + "?include=ttl").at("ttl").is_null());
    CHECK(in.entries() == 0);
}

TEST_CASE("a thread that keeps its latest checkpoint loses the others when its time is over") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread = in.made(server, {{"ttl", 10}, {"strategy", "keep_latest"}});
    runOn(server, thread);
    const auto states = [&] { return server.post("/threads/" + thread + "/history", {{"limit", 100}}); };
    const json::value before = states();
    CHECK(before.as_array().size() == 3);
    in.time->pass(minutes(20));
    const json::value after = states();
    REQUIRE(after.as_array().size() == 1);
    CHECK(after.at(0).at("values") == before.at(0).at("values"));
}

TEST_CASE("a thread stays as long as it has a run, whatever its time to live") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread = in.made(server, 10);
    (void)server.post("/threads/" + thread + "/runs",
                      {{"assistant_id", "app"}, {"input", {{"name", "x"}}}, {"after_seconds", 24 * 3600}});
    in.time->pass(minutes(60));
    CHECK(in.statusOf(server, thread) == 200);
    in.time->pass(minutes(24 * 60));
    server.awaitRuns(1);
    patience::until([&] { return !server.service->runs->isBusy(thread); });
    in.time->pass(minutes(60));
    CHECK(in.statusOf(server, thread) == 404);
}

TEST_CASE("a thread whose time is over while no server runs is deleted when one begins") {
    const TimedThreads in;
    std::string thread, copy, timed_later;
    {
        const Timed server(in);
        thread = in.made(server, 10);
        runOn(server, thread);
        copy = Timed::textOf(server.post("/threads/" + thread + "/copy", json::object()), "thread_id");
        timed_later = Timed::textOf(server.post("/threads", json::object()), "thread_id");
        CHECK(server.ask("PATCH", "/threads/" + timed_later, {{"ttl", {{"ttl", 5}}}}).status == 200);
    }
    in.time->pass(minutes(30));
    const Timed server(in);
    in.time->pass(minutes(0));
    for (const std::string& each : {thread, copy, timed_later}) CHECK(in.statusOf(server, each) == 404);
    CHECK(in.entries() == 0);
}

TEST_CASE("a thread that keeps its latest checkpoint is looked at once a minute at most") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread = in.made(server, {{"ttl", 0.001}, {"strategy", "keep_latest"}});
    in.time->pass(minutes(5));
    const auto next = [&] { return server.service->records.thread(thread)->expires_at; };
    const auto at = lg::timeOf(next());
    in.time->moveTo(at);
    CHECK(next() == lg::isoTime(at + minutes(1), 6));
}

TEST_CASE("all threads whose time is over are deleted, however many they are") {
    const TimedThreads in;
    const Timed server(in);
    for (int made = 0; made < 120; ++made) (void)in.made(server, 1);
    in.time->pass(minutes(30));
    CHECK(server.post("/threads/count", json::object()) == 0);
}

TEST_CASE("a thread has one time to live, which ends with it") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread = in.made(server, 10);
    for (const int ttl : {20, 30}) CHECK(server.ask("PATCH", "/threads/" + thread, {{"ttl", ttl}}).status == 200);
    CHECK(in.entries() == 1);
    CHECK(server.ask("DELETE", "/threads/" + thread).status == 204);
    CHECK(in.entries() == 0);
}

TEST_CASE("a thread of a graph that a server does not have is not deleted by it") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread =
        Timed::textOf(server.post("/threads", {{"ttl", 10}, {"metadata", {{"graph_id", "elsewhere"}}}}), "thread_id");
    in.time->pass(minutes(60));
    CHECK(server.service->records.thread(thread).has_value());
}

TEST_CASE("no run begins on a thread while it is deleted, and only the thread that was read is deleted") {
    const TimedThreads in;
    const Timed server(in);
    const std::string thread = Timed::textOf(server.post("/threads", json::object()), "thread_id");
    lg::LiveRuns& runs = *server.service->runs;
    const auto run = [&] {
        const json::value request{{"assistant_id", "app"}, {"input", {{"name", "x"}}}};
        return server.ask("POST", "/threads/" + thread + "/runs/wait", request).status;
    };
    CHECK(run() == 200);
    int refused = 0;
    CHECK(runs.whileIdle(thread, in.saver.get(), [&] {
        refused = run();
        CHECK_FALSE(runs.whileIdle(thread, in.saver.get(), [] {}));
    }));
    CHECK(refused == 409);
    CHECK(run() == 200);
    lg::ThreadRecord read = server.service->records.thread(thread).value();
    CHECK(lg::tryRemoveThread(*server.service, read, [](const lg::ThreadRecord&) { return false; }));
    CHECK(in.statusOf(server, thread) == 200);
    read.created_at = "2020-01-01T00:00:00.000000Z";
    CHECK(lg::tryRemoveThread(*server.service, read));
    CHECK(in.statusOf(server, thread) == 200);
}

TEST_CASE("a time to live that makes no sense is refused") {
    const TimedThreads in;
    const Timed server(in);
    for (const char* const ttl :
         {"0", "-1", "\"a\"", "{}", R"({"ttl": null})", R"({"ttl": 1, "strategy": "keep"})", "1e300"}) {
        CAPTURE(std::string_view(ttl));
        CHECK(server.ask("POST", "/threads", {{"ttl", json::parse(ttl)}}).status == 422);
    }
}
