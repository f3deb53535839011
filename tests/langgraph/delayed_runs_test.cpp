// Runs that begin later (after_seconds).
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "tests/langgraph/timed_app.hpp"

namespace {

namespace json = boost::json;
using langgraph_tests::Surroundings;
using langgraph_tests::Timed;
using std::chrono::seconds;

json::object runAfter(int after, const char* strategy = "enqueue") {
    json::object run{{"assistant_id", "app"}, {"input", {{"name", "x"}}}, {"multitask_strategy", strategy}};
    if (after > 0) run["after_seconds"] = after;
    return run;
}

struct Delayed {
    explicit Delayed(const Surroundings& in) : server(in) {
        thread = Timed::textOf(server.post("/threads", json::object()), "thread_id");
    }
    std::string begin(const json::object& run) const {
        return Timed::textOf(server.post("/threads/" + thread + "/runs", run), "run_id");
    }
    std::string status(const std::string& run) const {
        return Timed::textOf(server.get("/threads/" + thread + "/runs/" + run), "status");
    }
    void awaitSuccess(const std::string& run) const {
        patience::until([&] { return status(run) == "success"; });
    }

    Timed server;
    std::string thread;
};

TEST_CASE("a run with after_seconds waits until its time, and its thread is busy") {
    const Surroundings in("2026-01-01T00:00:00Z");
    const Delayed delayed(in);
    const std::string run = delayed.begin(runAfter(60));
    in.time->pass(seconds(59));
    CHECK(delayed.status(run) == "pending");
    CHECK(delayed.server.get("/threads/" + delayed.thread).at("status") == "busy");
    CHECK(delayed.server.ask("POST", "/threads/" + delayed.thread + "/runs", runAfter(0, "reject")).status == 409);
    CHECK(*in.runs == 0);
    in.time->pass(seconds(1));
    delayed.server.awaitRuns(1);
    delayed.awaitSuccess(run);
}

TEST_CASE("a run that may begin does not wait for one that begins later") {
    const Surroundings in("2026-01-01T00:00:00Z");
    const Delayed delayed(in);
    const std::string late = delayed.begin(runAfter(600));
    const std::string soon = delayed.begin(runAfter(60));
    const std::string now = delayed.begin(runAfter(0));
    (void)delayed.server.get("/threads/" + delayed.thread + "/runs/" + now + "/join");
    delayed.awaitSuccess(now);
    CHECK(delayed.status(late) == "pending");
    CHECK(delayed.status(soon) == "pending");
    in.time->pass(seconds(60));
    (void)delayed.server.get("/threads/" + delayed.thread + "/runs/" + soon + "/join");
    CHECK(delayed.status(late) == "pending");
    in.time->pass(seconds(540));
    delayed.server.awaitRuns(3);
    delayed.awaitSuccess(late);
}

TEST_CASE("the next process lets a run wait until its time, or begins it if that has passed") {
    const Surroundings in("2026-01-01T00:00:00Z");
    std::string early, late;
    {
        const Delayed delayed(in);
        early = Timed::textOf(delayed.server.post("/runs", runAfter(60)), "run_id");
        late = Timed::textOf(delayed.server.post("/runs", runAfter(600)), "run_id");
    }
    in.time->pass(seconds(100));
    const Timed next(in);
    patience::until([&] { return *in.runs == 1 && next.service->records.openRuns().size() == 1; });
    CHECK(next.service->records.openRuns().front().run_id == late);
    in.time->pass(seconds(500));
    next.awaitRuns(2);
}

TEST_CASE("a run that waits for its time can be cancelled") {
    const Surroundings in("2026-01-01T00:00:00Z");
    const Delayed delayed(in);
    const std::string run = delayed.begin(runAfter(60));
    CHECK(delayed.server.ask("POST", "/threads/" + delayed.thread + "/runs/" + run + "/cancel?wait=1").status == 204);
    CHECK(delayed.status(run) == "interrupted");
    in.time->pass(seconds(60));
    CHECK(delayed.server.service->records.openRuns().empty());
    CHECK(*in.runs == 0);
}

TEST_CASE("after_seconds is a number of seconds up to a year") {
    const Surroundings in("2026-01-01T00:00:00Z");
    const Delayed delayed(in);
    for (const json::value& wrong : {json::value(-1), json::value("soon"), json::value(1'000'000'000)}) {
        json::object run = runAfter(0);
        run["after_seconds"] = wrong;
        CHECK(delayed.server.ask("POST", "/threads/" + delayed.thread + "/runs", run).status == 422);
    }
}

}  // namespace
