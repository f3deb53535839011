// Webhooks: what they say, that they are tried again, and that no death loses them.
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/langgraph/webhook_sender.hpp>

#include "tests/langgraph/timed_app.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::Surroundings;
using langgraph_tests::Timed;
using sg::langgraph::Webhook;
using std::chrono::seconds;

/// Keeps calls, and answers as a test says.
class Recorder final : public sg::langgraph::WebhookSender {
public:
    void check(const std::string& url) const override {
        if (!url.starts_with("https://hooks/")) throw sg::InvalidArgumentError("the host is not allowed");
    }
    sg::Task<int> send(Webhook call) override {
        const std::scoped_lock lock(mutex_);
        calls_.push_back(std::move(call));
        if (status_ == 0) throw std::runtime_error("nobody is there");
        co_return status_;
    }
    void answer(int status) {
        const std::scoped_lock lock(mutex_);
        status_ = status;
    }
    std::vector<Webhook> calls() const {
        const std::scoped_lock lock(mutex_);
        return calls_;
    }
    std::vector<Webhook> await(std::size_t count) const {
        patience::until([&] { return calls().size() >= count; });
        return calls();
    }

private:
    mutable std::mutex mutex_;
    std::vector<Webhook> calls_;
    int status_ = 200;
};

json::object runWith(const char* name, const char* webhook = "https://hooks/end?of=run") {
    return {{"assistant_id", "app"}, {"input", {{"name", name}}}, {"webhook", webhook}};
}

struct Recorded : Surroundings {
    Recorded() : Surroundings("2026-01-01T00:00:00Z") { webhooks = recorder; }
    /// The calls that are still stored.
    std::size_t left() const {
        return store->search({.namespace_prefix = {"langgraph-api", "webhooks"}, .limit = 100}).size();
    }
    /// How often the first of them was tried; -1: there is none.
    int triesOfFirst() const {
        const auto items = store->search({.namespace_prefix = {"langgraph-api", "webhooks"}, .limit = 1});
        return items.empty() ? -1 : sg::toJsonValue(items.front().value).at("tries").to_number<int>();
    }
    void awaitLeft(std::size_t count) const {
        patience::until([&] { return left() == count; });
    }
    std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
};

TEST_CASE("the end of a run is reported with its record and its values, also if its thread is deleted then") {
    const Recorded in;
    const Timed server(in);
    const json::value run = server.post("/runs", runWith("x"));
    const Webhook call = in.recorder->await(1).front();
    CHECK(call.url == "https://hooks/end?of=run");
    CHECK(call.id == Timed::textOf(run, "run_id"));
    const json::value body = json::parse(call.body);
    CHECK(body.at("run_id") == run.at("run_id"));
    CHECK(body.at("thread_id") == run.at("thread_id"));
    CHECK(body.at("status") == "success");
    CHECK(body.at("values").at("log") == json::value(json::array{"worked"}));
    CHECK(body.at("webhook_sent_at") == "2026-01-01T00:00:00.000000Z");
    CHECK(body.at("run_ended_at").is_string());
    CHECK(!body.as_object().contains("error"));
    in.awaitLeft(0);
    server.awaitRuns(1);
    CHECK(server.ask("GET", "/threads/" + Timed::textOf(run, "thread_id")).status == 404);
}

TEST_CASE("a run that failed is reported with its error, and one that was cancelled as interrupted") {
    Recorded in;
    in.server.show_errors = true;
    const Timed server(in);
    const json::value failed = json::parse((server.post("/runs", runWith("bad")), in.recorder->await(1).back().body));
    CHECK(failed.at("status") == "error");
    CHECK(failed.at("error").as_string().find("it went wrong") != std::string::npos);
    json::object later = runWith("x");
    later["after_seconds"] = 60;
    const std::string thread = Timed::textOf(server.post("/threads", json::object()), "thread_id");
    const std::string run = Timed::textOf(server.post("/threads/" + thread + "/runs", later), "run_id");
    CHECK(server.ask("POST", "/threads/" + thread + "/runs/" + run + "/cancel").status == 202);
    const json::value cancelled = json::parse(in.recorder->await(2).back().body);
    CHECK(cancelled.at("status") == "interrupted");
    CHECK(cancelled.at("run_id") == json::value(run));
}

TEST_CASE("a webhook that is not received is tried again, with growing waits, as often as the options say") {
    const Recorded in;
    const Timed server(in);
    in.recorder->answer(500);
    (void)server.post("/runs", runWith("x"));
    (void)in.recorder->await(1);
    patience::until([&] { return in.triesOfFirst() == 1; });
    in.recorder->answer(0);
    patience::until([&] {
        in.time->pass(seconds(5));
        return in.triesOfFirst() == 2;
    });
    CHECK(in.recorder->await(2)[1].id == in.recorder->calls()[0].id);
    // The third try is the last one.
    patience::until([&] {
        in.time->pass(seconds(10));
        return in.left() == 0;
    });
    CHECK(in.recorder->await(3).size() == 3);
    in.time->pass(std::chrono::hours(24));
    CHECK(in.recorder->calls().size() == 3);
}

TEST_CASE("a webhook that a process has left is sent by the next one") {
    const Recorded in;
    std::string run;
    {
        const Timed server(in);
        in.recorder->answer(503);
        run = Timed::textOf(server.post("/runs", runWith("x")), "run_id");
        (void)in.recorder->await(1);
        server.awaitRuns(1);
        patience::until([&] { return in.triesOfFirst() == 1; });
    }
    in.recorder->answer(204);
    const Timed next(in);
    CHECK(in.recorder->await(2).back().id == run);
    in.awaitLeft(0);
}

TEST_CASE("the end of a run that a process has left is reported by the one that makes it") {
    const Recorded in;
    json::object later = runWith("x");
    later["after_seconds"] = 60;
    {
        const Timed server(in);
        (void)server.post("/runs", later);
    }
    const Timed next(in);
    CHECK(in.recorder->calls().empty());
    in.time->pass(seconds(60));
    CHECK(json::parse(in.recorder->await(1).front().body).at("status") == "success");
}

TEST_CASE(
    "an address that is not allowed is refused before the run is stored, and so is any on a server without webhooks") {
    Recorded in;
    {
        const Timed server(in);
        const client::Response refused = server.ask("POST", "/runs", runWith("x", "https://elsewhere/"));
        CHECK(refused.status == 422);
        CHECK(Timed::textOf(json::parse(refused.body), "detail") == "webhook: the host is not allowed");
        CHECK(server.ask("POST", "/runs", runWith("x", "/threads")).status == 422);
        json::object schedule = runWith("x", "https://elsewhere/");
        schedule["schedule"] = "* * * * *";
        CHECK(server.ask("POST", "/runs/crons", schedule).status == 422);
        CHECK(server.service->records.openRuns().empty());
    }
    in.webhooks = {};
    const Timed server(in);
    CHECK(server.ask("POST", "/runs", runWith("x")).status == 422);
}

}  // namespace
