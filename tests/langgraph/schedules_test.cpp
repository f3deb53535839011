// Schedules: when they begin runs, and that they do so once.
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/forwarding_store.hpp>

#include "tests/langgraph/timed_app.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::Surroundings;
using langgraph_tests::Timed;

/// A schedule whose runs keep their threads.
json::object hourly() {
    return {
        {"assistant_id", "app"}, {"schedule", "0 * * * *"}, {"input", {{"name", "x"}}}, {"on_run_completed", "keep"}};
}
json::object with(json::object request, std::string_view member, json::value value) {
    request[member] = std::move(value);
    return request;
}
std::size_t threadsOf(const Timed& server) {
    return server.post("/threads/search", {{"limit", 100}}).as_array().size();
}
json::value found(const Timed& server, const json::object& filter = {}) {
    return server.post("/runs/crons/search", filter);
}
std::string hook(const char* user) { return std::string("X-User: ") + user + "\r\n"; }

TEST_CASE("a schedule begins a run each time it is due") {
    const Surroundings in("2026-01-01T00:30:00Z");
    const Timed server(in);
    const json::value made = server.post("/runs/crons", with(hourly(), "metadata", {{"team", "night"}}));
    CHECK(made.at("next_run_date") == "2026-01-01T01:00:00.000000Z");
    CHECK(made.at("thread_id").is_null());
    CHECK(made.at("enabled") == true);
    in.time->moveTo("2026-01-01T00:59:59Z");
    CHECK(threadsOf(server) == 0);
    in.time->moveTo("2026-01-01T01:00:00Z");
    server.awaitRuns(1);
    in.time->moveTo("2026-01-01T03:00:00Z");
    server.awaitRuns(3);
    const json::value threads = server.post("/threads/search", {});
    REQUIRE(threads.as_array().size() == 3);
    CHECK(threads.at(0).at("values").at("log") == json::value(json::array{"worked"}));
    const json::value runs = server.get("/threads/" + Timed::textOf(threads.at(0), "thread_id") + "/runs");
    CHECK(runs.at(0).at("metadata").at("cron_id") == made.at("cron_id"));
    CHECK(runs.at(0).at("metadata").at("team") == "night");
    CHECK(found(server).at(0).at("next_run_date") == "2026-01-01T04:00:00.000000Z");
}

TEST_CASE("a schedule without keep leaves no thread behind") {
    const Surroundings in("2026-01-01T00:30:00Z");
    const Timed server(in);
    json::object request = hourly();
    request.erase("on_run_completed");
    CHECK(server.post("/runs/crons", request).at("on_run_completed") == "delete");
    in.time->moveTo("2026-01-01T01:00:00Z");
    server.awaitRuns(1);
    CHECK(threadsOf(server) == 0);
    std::size_t records = 0;
    server.service->records.forEachThread([&](sg::langgraph::ThreadRecord&&) {
        ++records;
        return true;
    });
    CHECK(records == 0);
}

TEST_CASE("times that pass while no server runs are due once, when one begins") {
    const Surroundings in("2026-01-01T00:30:00Z");
    {
        const Timed server(in);
        (void)server.post("/runs/crons", hourly());
    }
    in.time->moveTo("2026-01-01T05:20:00Z");
    const Timed server(in);
    in.time->pass(std::chrono::seconds(0));
    server.awaitRuns(1);
    CHECK(threadsOf(server) == 1);
    CHECK(found(server).at(0).at("next_run_date") == "2026-01-01T06:00:00.000000Z");
    in.time->moveTo("2026-01-01T06:00:00Z");
    server.awaitRuns(2);
    CHECK(threadsOf(server) == 2);
}

TEST_CASE("of two servers on one store one begins the run of a due time") {
    // Each has a time of its own, which a thread of its own moves.
    const Surroundings in("2026-01-01T00:30:00Z");
    Surroundings other("2026-01-01T00:30:00Z");
    other.store = in.store;
    other.saver = in.saver;
    other.runs = in.runs;
    const Timed first(in), second(other);
    (void)first.post("/runs/crons", hourly());
    in.time->moveTo("2026-01-01T00:31:00Z");
    other.time->moveTo("2026-01-01T00:31:00Z");
    for (int hour = 1; hour <= 5; ++hour) {
        const std::string at = "2026-01-01T0" + std::to_string(hour) + ":00:00Z";
        std::thread rival([&] { other.time->moveTo(at); });
        in.time->moveTo(at);
        rival.join();
        first.awaitRuns(hour);
        CHECK(threadsOf(first) == static_cast<std::size_t>(hour));
    }
    CHECK(*in.runs == 5);
}

/// Fails writes while it is asked to.
class FailingStore final : public sg::ForwardingStore {
public:
    explicit FailingStore(std::shared_ptr<sg::BaseStore> inner) : ForwardingStore(std::move(inner)) {}
    std::atomic<bool> fails = false;

protected:
    std::vector<sg::StoreResult> apply(std::span<const sg::StoreOp> ops) override {
        if (fails && std::holds_alternative<sg::PutOp>(ops.front())) throw sg::StoreError("the disk is full");
        return ForwardingStore::apply(ops);
    }
};

TEST_CASE("a due time whose run cannot be stored is due until it can, and then once") {
    Surroundings in("2026-01-01T00:30:00Z");
    const auto store = std::make_shared<FailingStore>(in.store);
    in.store = store;
    const Timed server(in);
    (void)server.post("/runs/crons", hourly());
    store->fails = true;
    in.time->moveTo("2026-01-01T01:10:00Z");
    CHECK(*in.runs == 0);
    store->fails = false;
    in.time->moveTo("2026-01-01T01:11:00Z");
    server.awaitRuns(1);
    CHECK(threadsOf(server) == 1);
    CHECK(found(server).at(0).at("next_run_date") == "2026-01-01T02:00:00.000000Z");
}

/// From one of the operations on all fail, as for a process that dies there. That one is done, or not.
class DyingStore final : public sg::ForwardingStore {
public:
    DyingStore(std::shared_ptr<sg::BaseStore> inner, bool is_last_done)
        : ForwardingStore(std::move(inner)), is_last_done_(is_last_done) {}
    void dieAt(int operation) { left_ = operation; }
    bool isDead() const { return left_ <= 0; }

protected:
    std::vector<sg::StoreResult> apply(std::span<const sg::StoreOp> ops) override {
        const int left = left_.fetch_sub(1) - 1;
        if (left < 0 || (left == 0 && !is_last_done_)) throw sg::StoreError("the process is dead");
        std::vector<sg::StoreResult> results = ForwardingStore::apply(ops);
        if (left == 0) throw sg::StoreError("the process is dead");
        return results;
    }

private:
    const bool is_last_done_;
    std::atomic<int> left_ = std::numeric_limits<int>::max();
};

TEST_CASE("a due time makes one run when any operation of the store is the last one of the process") {
    for (const bool is_last_done : {false, true}) {
        bool died = true;
        for (int last = is_last_done ? 1 : 3; died; last += 5) {  // each takes two servers
            CAPTURE(last);
            CAPTURE(is_last_done);
            REQUIRE(last < 200);
            Surroundings in("2026-01-01T00:30:00Z");
            const std::shared_ptr<sg::BaseStore> kept = in.store;
            const auto dying = std::make_shared<DyingStore>(kept, is_last_done);
            in.store = dying;
            const sg::langgraph::ApiRecords records(kept);
            {
                const Timed server(in);
                (void)server.post("/runs/crons", hourly());
                dying->dieAt(last);
                in.time->moveTo("2026-01-01T01:00:00Z");
                patience::until([&] { return dying->isDead() || (*in.runs >= 1 && records.openRuns().empty()); });
                died = dying->isDead();
            }
            in.store = kept;
            const Timed server(in);
            in.time->pass(std::chrono::seconds(0));
            patience::until([&] { return threadsOf(server) == 1 && records.openRuns().empty(); });
            in.time->moveTo("2026-01-01T02:00:00Z");
            patience::until([&] { return threadsOf(server) == 2 && records.openRuns().empty(); });
            const json::value threads = server.post("/threads/search", {});
            for (const json::value& thread : threads.as_array()) {
                CHECK(thread.at("values").at("log") == json::value(json::array{"worked"}));
                const json::value runs = server.get("/threads/" + Timed::textOf(thread, "thread_id") + "/runs");
                CHECK(runs.as_array().size() == 1);
                CHECK(runs.at(0).at("status") == "success");
            }
            CHECK(found(server).at(0).at("next_run_date") == "2026-01-01T03:00:00.000000Z");
        }
    }
}

TEST_CASE("a schedule ends at its end, and in a time zone it follows its clocks") {
    const Surroundings in("2026-01-01T00:30:00Z");
    const Timed server(in);
    const json::object once = with(with(hourly(), "schedule", "0 9 1 1 *"), "end_time", "2026-01-02T00:00:00+02:00");
    CHECK(server.post("/runs/crons", once).at("next_run_date") == "2026-01-01T09:00:00.000000Z");
    in.time->moveTo("2026-01-01T09:00:00Z");
    server.awaitRuns(1);
    CHECK(found(server).at(0).at("next_run_date").is_null());
    in.time->moveTo("2026-01-02T09:00:00Z");
    CHECK(threadsOf(server) == 1);
    CHECK(server.ask("POST", "/runs/crons", once).status == 422);
    const client::Response zoned = server.ask(
        "POST", "/runs/crons", with(with(hourly(), "schedule", "0 9 1 7 *"), "timezone", "America/New_York"));
    if (zoned.status == 422) {
        MESSAGE("SKIP: this machine has no tz database");
    } else {
        CHECK(json::parse(zoned.body).at("next_run_date") == "2026-07-01T13:00:00.000000Z");
    }
}

TEST_CASE("the runs of a schedule on a thread are made there") {
    const Surroundings in("2026-01-01T00:30:00Z");
    const Timed server(in);
    const std::string thread = Timed::textOf(server.post("/threads", json::object()), "thread_id");
    const json::value made = server.post("/threads/" + thread + "/runs/crons", hourly());
    CHECK(made.at("thread_id") == json::value(thread));
    in.time->moveTo("2026-01-01T01:00:00Z");
    server.awaitRuns(1);
    in.time->moveTo("2026-01-01T02:00:00Z");
    server.awaitRuns(2);
    CHECK(server.get("/threads/" + thread + "/state").at("values").at("log") ==
          json::value(json::array{"worked", "worked"}));
    CHECK(found(server, {{"thread_id", thread}}).as_array().size() == 1);
    CHECK(found(server, {{"thread_id", "other"}}).as_array().empty());
    // A run that cannot be begun is left out, and the schedule goes on.
    patience::until([&] { return server.ask("DELETE", "/threads/" + thread).status == 204; });
    in.time->moveTo("2026-01-01T03:00:00Z");
    CHECK(found(server).at(0).at("next_run_date") == "2026-01-01T04:00:00.000000Z");
    CHECK(*in.runs == 2);
}

TEST_CASE("a schedule can be changed, switched off and deleted") {
    const Surroundings in("2026-01-01T00:30:00Z");
    const Timed server(in);
    const std::string path = "/runs/crons/" + Timed::textOf(server.post("/runs/crons", hourly()), "cron_id");
    const auto patch = [&](const json::object& change) { return json::parse(server.ask("PATCH", path, change).body); };
    CHECK(patch({{"enabled", false}}).at("next_run_date").is_null());
    in.time->moveTo("2026-01-01T02:30:00Z");
    CHECK(threadsOf(server) == 0);
    CHECK(found(server, {{"enabled", true}}).as_array().empty());
    CHECK(patch({{"enabled", true}}).at("next_run_date") == "2026-01-01T03:00:00.000000Z");
    const json::value changed = patch({{"schedule", "15 * * * *"}, {"input", {{"name", "y"}}}});
    CHECK(changed.at("next_run_date") == "2026-01-01T03:15:00.000000Z");
    CHECK(changed.at("payload").at("input").at("name") == "y");
    in.time->moveTo("2026-01-01T03:14:00Z");
    CHECK(threadsOf(server) == 0);
    in.time->moveTo("2026-01-01T03:15:00Z");
    server.awaitRuns(1);
    CHECK(server.ask("PATCH", path, {{"schedule", "never"}}).status == 422);
    CHECK(server.post("/runs/crons/count", json::object()) == 1);
    CHECK(server.ask("DELETE", path).status == 204);
    CHECK(server.ask("DELETE", path).status == 404);
    CHECK(server.ask("PATCH", path, {{"enabled", true}}).status == 404);
    in.time->moveTo("2026-01-01T05:15:00Z");
    CHECK(threadsOf(server) == 1);
}

TEST_CASE("a schedule that makes no sense is refused, with its member") {
    const Surroundings in("2026-01-01T00:30:00Z");
    const Timed server(in);
    const auto refusal = [&](const json::object& request) {
        const client::Response response = server.ask("POST", "/runs/crons", request);
        CHECK((response.status == 422 || response.status == 404));
        return Timed::textOf(json::parse(response.body), "detail");
    };
    CHECK(refusal(with(hourly(), "schedule", "61 * * * *")).starts_with("schedule: the minute '61'"));
    CHECK(refusal(with(hourly(), "timezone", "Mars/Base")).starts_with("schedule: the time zone 'Mars/Base'"));
    CHECK(refusal(with(hourly(), "end_time", "tomorrow")).starts_with("end_time: 'tomorrow' is no time"));
    CHECK(refusal(with(hourly(), "end_time", "2026-01-01T00:45:00Z")) == "end_time: the schedule is not due before it");
    CHECK(refusal(with(hourly(), "input", {{"nothing", 1}})).starts_with("input.nothing: "));
    CHECK(refusal(with(hourly(), "assistant_id", "other")).find("other") != std::string::npos);
    CHECK(refusal(with(hourly(), "on_run_completed", "burn")).starts_with("on_run_completed: "));
    CHECK(refusal({{"assistant_id", "app"}}) == "schedule: is required");
    CHECK(found(server).as_array().empty());
}

TEST_CASE("schedules belong to those who made them, and so do their runs") {
    Surroundings in("2026-01-01T00:30:00Z");
    in.server.owned = true;
    in.server.authorize = [](const sg::serve::RequestView& request) -> sg::serve::Admission {
        return sg::serve::Identity{.name = std::string(request.header("X-User"))};
    };
    const Timed server(in);
    const std::string id = Timed::textOf(server.post("/runs/crons", hourly(), hook("ada")), "cron_id");
    CHECK(server.post("/runs/crons/search", json::object(), hook("ada")).as_array().size() == 1);
    CHECK(server.post("/runs/crons/search", json::object(), hook("eve")).as_array().empty());
    CHECK(server.post("/runs/crons/count", json::object(), hook("eve")) == 0);
    CHECK(server.ask("PATCH", "/runs/crons/" + id, {{"enabled", false}}, hook("eve")).status == 404);
    CHECK(server.ask("DELETE", "/runs/crons/" + id, {}, hook("eve")).status == 404);
    const std::string thread = Timed::textOf(server.post("/threads", json::object(), hook("ada")), "thread_id");
    CHECK(server.ask("POST", "/threads/" + thread + "/runs/crons", hourly(), hook("eve")).status == 404);
    in.time->moveTo("2026-01-01T01:00:00Z");
    server.awaitRuns(1);
    CHECK(server.post("/threads/search", json::object(), hook("ada")).as_array().size() == 2);
    CHECK(server.post("/threads/search", json::object(), hook("eve")).as_array().empty());
}

}  // namespace
