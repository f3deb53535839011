#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <stategraph/forwarding_saver.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;
using namespace std::chrono_literals;
using patience::until;

namespace {

using served::State;
constexpr const char* body = R"({"input":{"said":["a"]}})";

/// A saver that cannot be reached, if a test wants it.
class Away final : public sg::ForwardingSaver {
public:
    Away() : ForwardingSaver(std::make_shared<sg::MemorySaver>()) {}
    bool answersLater() const noexcept override { return false; }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        if (is_away) throw sg::SaverError("the server is away, password secret");
        if (gates::Gate* const gate = waits) gate->wait();
        return ForwardingSaver::getTuple(query);
    }
    std::atomic<bool> is_away = false;
    std::atomic<gates::Gate*> waits = nullptr;
};

/// Its only node waits until it is to end, and a second one follows.
sg::CompiledGraph<State> twoSteps(std::atomic<bool>& is_in, std::atomic<bool>& may_end,
                                  std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<State> graph;
    graph.addNode("a", [&](const State&) -> sg::Update<State> {
        is_in = true;
        until([&] { return may_end.load(); });
        return {sg::add(&State::said, std::string("first"))};
    });
    graph.addNode("b",
                  [](const State&) -> sg::Update<State> { return {sg::add(&State::said, std::string("second"))}; });
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

sg::CompiledGraph<State> quick(std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>()) {
    sg::StateGraph<State> graph;
    graph.addNode("say", [](const State& state) -> sg::Update<State> {
        if (state.said.back() == "fail") throw std::runtime_error("it broke");
        return {sg::add(&State::said, std::string("so"))};
    });
    graph.addEdge(sg::START, "say").addEdge("say", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

struct Lines {
    serve::Log log() {
        return [this](std::string_view line) {
            const std::lock_guard lock(mutex);
            all.push_back(json::parse(line).as_object());
        };
    }
    std::vector<json::object> of(std::string_view event) {
        const std::lock_guard lock(mutex);
        std::vector<json::object> some;
        for (const json::object& each : all) {
            if (each.at("event").as_string() == event) some.push_back(each);
        }
        return some;
    }
    std::mutex mutex;
    std::vector<json::object> all;
};

bool has(const std::string& text, std::string_view line) { return text.find(line) != std::string::npos; }

}  // namespace

TEST_CASE("a server is ready while its stores answer, and says which endpoint's do not") {
    const auto saver = std::make_shared<Away>();
    {
        serve::Server server;
        server.add("echo", serve::endpoint(quick(saver)));
        client::Response ready;
        // The server waits for three seconds for its stores, which a busy machine may take to look.
        until([&] {
            ready = client::get(server.port(), "/ready");
            return ready.status == 200;
        });
        CHECK(json::parse(ready.body).at("ready") == true);
    }
    saver->is_away = true;
    serve::Server server;
    server.add("echo", serve::endpoint(quick(saver)));
    client::Response away;
    until([&] {
        away = client::get(server.port(), "/ready");
        CHECK(away.status == 503);
        return has(away.body, "'echo'");
    });
    CHECK(away.headers.at("retry-after") == "1");
    CHECK(json::parse(away.body).at("ready") == false);
    CHECK(!has(away.body, "secret"));
    CHECK(client::get(server.port(), "/health").status == 200);
    saver->is_away = false;
    until([&] { return client::get(server.port(), "/ready").status == 200; });
}

TEST_CASE("a store that does not answer holds up neither the probe nor other requests") {
    const auto saver = std::make_shared<Away>();
    gates::Gate gate;
    saver->waits = &gate;
    serve::Server server({.threads = 1});
    server.add("echo", serve::endpoint(quick(saver)));
    client::Connection probe(server.port());
    probe.request("GET", "/ready");
    CHECK(client::get(server.port(), "/health").status == 200);
    const auto late = probe.read();
    CHECK(late.status == 503);
    CHECK(has(late.body, "not answered"));
    gate.open();
    saver->waits = nullptr;
    until([&] { return client::get(server.port(), "/ready").status == 200; });
}

TEST_CASE("the figures are in Prometheus' text form, and no client makes series") {
    serve::ServerOptions options;
    options.gauges = [] {
        return std::vector<serve::Gauge>{{"shop_queue_lag_seconds", "How late the \\ queue is.\nMuch.", 1.5},
                                         {"no name", "", 1}};
    };
    serve::Server server(options);
    server.add("echo", serve::endpoint(quick()));
    const auto port = server.port();
    CHECK(client::post(port, "/echo/t1/start", body).status == 200);
    CHECK(client::post(port, "/echo/t2/start", R"({"input":{"said":["fail"]}})").status != 404);
    const int ready = client::get(port, "/ready").status;
    CHECK((ready == 200 || ready == 503));  // 503: a busy machine took three seconds to look
    for (int i = 0; i < 20; ++i) CHECK(client::get(port, "/secret" + std::to_string(i)).status == 404);
    client::Connection nonsense(port);
    nonsense.send("hello\r\n\r\n");
    CHECK(nonsense.read().status == 400);
    std::string text;
    // A client may have its answer before the server has counted it.
    until([&] {
        text = client::get(port, "/metrics").body;
        return has(text, "{operation=\"unread\",status=\"400\"} 1\n") &&
               has(text, "stategraph_runs_total{endpoint=\"echo\",ending=\"failed\"} 1\n") &&
               has(text, "stategraph_requests_total{operation=\"page\",status=\"404\"} 20\n") &&
               has(text, "stategraph_request_duration_seconds_count{operation=\"start\"} 2\n") &&
               has(text, "stategraph_store_duration_seconds_count{what=\"check\"} 1\n") &&
               has(text, "stategraph_streams 0\n");
    });
    CHECK(client::get(port, "/metrics").headers.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(has(text, "# TYPE stategraph_requests_total counter\n"));
    CHECK(has(text, "stategraph_requests_total{operation=\"page\",status=\"404\"} 20\n"));
    CHECK(has(text, "stategraph_requests_total{operation=\"start\",status=\"200\"}"));
    CHECK(has(text, "stategraph_request_duration_seconds_bucket{operation=\"start\",le=\"+Inf\"} 2\n"));
    CHECK(has(text, "stategraph_request_duration_seconds_count{operation=\"start\"} 2\n"));
    CHECK(has(text, "stategraph_runs_total{endpoint=\"echo\",ending=\"done\"} 1\n"));
    CHECK(has(text, "stategraph_store_duration_seconds_count{what=\"check\"} 1\n"));
    CHECK(has(text, "stategraph_store_duration_seconds_count{what=\"put\"}"));
    CHECK(has(text, "# TYPE stategraph_connections gauge\nstategraph_connections "));
    CHECK(has(text, "stategraph_streams 0\n"));
    CHECK(has(text, "stategraph_draining 0\n"));
    CHECK(has(text, "# HELP shop_queue_lag_seconds How late the \\\\ queue is.\\nMuch.\n"));
    CHECK(has(text, "shop_queue_lag_seconds 1.5\n"));
    CHECK(!has(text, "no name"));
    CHECK(!has(text, "secret"));
    CHECK(!has(text, "t1"));
}

TEST_CASE("the hook decides about what the operator asks for, as operations of their own") {
    serve::ServerOptions options;
    options.authorize = [](const serve::RequestView& request) { return request.operation() == "metrics" ? 403 : 0; };
    serve::Server server(options);
    CHECK(client::get(server.port(), "/metrics").status == 403);
    until([&] { return client::get(server.port(), "/ready").status == 200; });
    CHECK(client::get(server.port(), "/health").status == 200);
    for (const char* const name : {"health", "ready", "metrics"})
        CHECK_THROWS_AS(server.handle(name, [](const serve::HandlerRequest&) { return serve::HandlerAnswer(); }),
                        sg::InvalidArgumentError);
}

TEST_CASE("the log has a line for each request and each run: who, what, thread, status, time and tokens") {
    Lines lines;
    serve::ServerOptions options;
    options.log = lines.log();
    options.authorize = [](const serve::RequestView& request) -> serve::Admission {
        const std::string user(request.header("X-User"));
        return user.empty() ? serve::Admission(401) : serve::Admission(serve::Identity{.name = user});
    };
    serve::Server server(options);
    server.add("echo", serve::endpoint(quick()));
    model::Message answer = model::assistant("Hello.");
    answer.usage = model::Usage{.input_tokens = 7, .output_tokens = 3};
    server.add("helper", serve::endpoint(agent::Agent({.model = model::scripted({answer}), .compile = stored()})));
    const auto port = server.port();
    CHECK(client::post(port, "/echo/a%0Ab/start?key=secret", body, "X-User: ada\r\n").status == 200);
    CHECK(client::get(port, "/echo/a/state").status == 401);
    CHECK(client::post(port, "/helper/t/start", R"({"text":"Hi"})", "X-User: ada\r\n").status == 200);
    (void)client::post(port, "/echo/f/start", R"({"input":{"said":["fail"]}})", "X-User: ada\r\n");
    until([&] { return lines.of("request").size() == 4 && lines.of("run").size() == 3; });
    const auto requests = lines.of("request");
    std::map<std::string, json::object> by_thread;
    for (const json::object& each : requests) by_thread[std::string(each.at("thread").as_string())] = each;
    const json::object& start = by_thread.at("a\nb");
    CHECK(start.at("status") == 200);
    CHECK(start.at("method") == "POST");
    CHECK(start.at("operation") == "start");
    CHECK(start.at("endpoint") == "echo");
    CHECK(start.at("user") == "ada");
    CHECK(start.at("address") == "127.0.0.1");
    CHECK(start.at("path") == "/echo/a\nb/start");
    CHECK(start.at("ms").to_number<double>() >= 0);
    CHECK(start.at("time").to_number<std::int64_t>() > 1'700'000'000'000);
    const json::object& refused = by_thread.at("a");
    CHECK(refused.at("status") == 401);
    CHECK(refused.if_contains("user") == nullptr);
    std::map<std::string, json::object> runs;
    for (const json::object& each : lines.of("run")) runs[std::string(each.at("thread").as_string())] = each;
    CHECK(runs.at("a\nb").at("ending") == "done");
    CHECK(runs.at("a\nb").at("user") == "ada");
    CHECK(runs.at("a\nb").at("supersteps") == 1);
    CHECK(runs.at("f").at("ending") == "failed");
    CHECK(has(std::string(runs.at("f").at("error").as_string()), "it broke"));
    CHECK(runs.at("t").at("usage").at("input_tokens") == 7);
    CHECK(runs.at("t").at("usage").at("output_tokens") == 3);
    for (const json::object& each : lines.all) CHECK(!has(json::serialize(each), "secret"));
}

TEST_CASE("a log and gauges that throw stop nobody") {
    serve::ServerOptions options;
    options.log = [](std::string_view) { throw std::runtime_error("the disk is full"); };
    options.gauges = []() -> std::vector<serve::Gauge> { throw std::runtime_error("no queue"); };
    serve::Server server(options);
    server.add("echo", serve::endpoint(quick()));
    client::Connection connection(server.port());
    connection.request("POST", "/echo/t/start", body);
    CHECK(connection.read().status == 200);
    connection.request("GET", "/metrics");
    CHECK(has(connection.read().body, "stategraph_runs "));
}

TEST_CASE("a server that drains answers, is not ready, begins no run, and leaves threads that others resume") {
    std::atomic<bool> is_in = false, may_end = false;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto graph = twoSteps(is_in, may_end, saver);
    Lines lines;
    serve::ServerOptions options;
    options.log = lines.log();
    serve::Server server(options);
    server.add("g", serve::endpoint(graph));
    const auto port = server.port();
    client::Connection run(port);
    run.request("POST", "/g/t/start", body);
    until([&] { return is_in.load(); });
    CHECK(run.head().status == 200);
    client::Connection follower(port);
    follower.request("GET", "/g/other/events?follow=1", {}, "Accept: text/event-stream\r\n");
    CHECK(follower.head().status == 200);
    server.drain(1h);
    until([&] { return lines.of("drain").size() == 1; });  // and it begins no more runs
    CHECK(client::get(port, "/ready").status == 503);
    CHECK(client::get(port, "/health").status == 200);
    CHECK(has(client::get(port, "/metrics").body, "stategraph_draining 1\n"));
    CHECK(client::get(port, "/g/t/state").status == 200);
    const auto refused = client::post(port, "/g/u/start", body);
    CHECK(refused.status == 503);
    CHECK(refused.headers.at("retry-after") == "1");
    CHECK(refused.headers.at("connection") == "close");
    may_end = true;
    std::string seen;
    for (std::string piece = run.chunk(); !piece.empty(); piece = run.chunk()) seen += piece;
    CHECK(has(seen, "\"drained\""));
    // An EventSource is told when to come back, and the last event says why.
    seen.clear();
    for (std::string piece = follower.chunk(); !piece.empty(); piece = follower.chunk()) seen += piece;
    CHECK(has(seen, "\"event\":\"drain\""));
    CHECK(seen.ends_with("retry: 1000\n\n"));
    server.wait();
    CHECK(lines.of("drain").size() == 1);
    const auto result = graph.invoke(sg::RESUME, {.thread_id = "t"});
    CHECK(result.values.said == std::vector<std::string>{"a", "first", "second"});
}

TEST_CASE("a server that drains sends the answers that are under way") {
    const auto saver = std::make_shared<Away>();
    gates::Gate gate;
    saver->waits = &gate;
    serve::Server server({.threads = 1});
    server.add("echo", serve::endpoint(quick(saver)));
    client::Connection probe(server.port());
    probe.request("GET", "/ready");  // it waits for the store for three seconds
    CHECK(client::get(server.port(), "/health").status == 200);
    server.drain(1h);
    CHECK(probe.read().status == 503);
    gate.open();
    server.wait();
}

TEST_CASE("the page of a chat whose server drains is told that the answer is not whole") {
    std::atomic<bool> is_in = false, may_end = false;
    Lines lines;
    serve::ServerOptions options;
    options.log = lines.log();
    serve::Server server(options);
    server.add("g", serve::endpoint(twoSteps(is_in, may_end, std::make_shared<sg::MemorySaver>()),
                                    {.protocols = {serve::uiMessages()}}));
    client::Connection run(server.port());
    run.request("POST", "/g/t/start", body);
    until([&] { return is_in.load(); });
    CHECK(run.head().status == 200);
    server.drain(1h);
    until([&] { return lines.of("drain").size() == 1; });  // and its runs are to end
    may_end = true;
    std::string seen;
    for (std::string piece = run.chunk(); !piece.empty(); piece = run.chunk()) seen += piece;
    CHECK(has(seen, R"(data: {"type":"abort"})"));
    CHECK(has(seen, R"("messageMetadata":{"status":"drained"})"));
    CHECK(seen.ends_with("retry: 1000\n\ndata: [DONE]\n\n"));
}

TEST_CASE("a stream over questions ends when the server drains, and its thread keeps the question") {
    sg::StateGraph<State> graph;
    graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        return {sg::add(&State::said, sg::interrupt<std::string>(runtime, "more", "more?"))};
    });
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    serve::Server server;
    server.add("g", serve::endpoint(app, {.close_on_suspend = false}));
    client::Connection run(server.port());
    run.request("POST", "/g/t/start", body);
    CHECK(run.head().status == 200);
    until([&] { return server.runs() == 0; });
    server.drain(1h);
    std::string seen;
    for (std::string piece = run.chunk(); !piece.empty(); piece = run.chunk()) seen += piece;
    CHECK(has(seen, "\"interrupted\""));
    server.wait();
    CHECK(app.getState({.thread_id = "t"}).interrupts().size() == 1);
}
