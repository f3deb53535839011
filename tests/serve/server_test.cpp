#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/until.hpp"

using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

using served::State;

/// Repeats its input twice, and asks in between if `asks` is set.
sg::CompiledGraph<State> echo(bool asks = false) {
    sg::StateGraph<State> graph;
    graph.addNode("first", [](const State& state) -> sg::Update<State> {
        return {sg::add(&State::said, state.said.back() + "!")};
    });
    graph.addNode("second", [asks](const State& state, sg::Runtime& runtime) -> sg::Update<State> {
        const std::string more = asks ? sg::interrupt<std::string>(runtime, "more", "more?") : "";
        return {sg::add(&State::said, state.said.back() + more + "?")};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

using patience::eventually;

std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

TEST_CASE("a graph is started over HTTP, and its events are lines of JSON") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo()));
    const auto response = client::post(server.port(), "/echo/t1/start", R"({"input":{"said":["hello"]}})");
    CHECK(response.status == 200);
    CHECK(response.headers.at("content-type") == "application/x-ndjson; charset=utf-8");
    CHECK(response.headers.at("x-accel-buffering") == "no");
    const auto events = response.objects();
    REQUIRE(events.size() == 4);
    CHECK(text(events[0], "mode") == "runs");
    CHECK(text(events[1], "node") == "first");
    CHECK(text(events[2], "node") == "second");
    CHECK(events[3].at("data").at("status").as_string() == "done");
    const auto state = client::get(server.port(), "/echo/t1/state");
    CHECK(json::parse(state.body).at("values").at("said").as_array().size() == 3);
    CHECK(json::parse(client::get(server.port(), "/echo/t1/history").body).as_array().size() == 4);
    CHECK(json::parse(client::get(server.port(), "/echo/t1/history?limit=2").body).as_array().size() == 2);
}

TEST_CASE("a graph of JSON state is served too") {
    sg::JsonSchema schema;
    schema.channel("n", sg::JsonReducer::sum());
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("inc", [](const sg::JsonState&) -> sg::Update<sg::JsonState> { return {sg::write("n", 1)}; });
    graph.addEdge(sg::START, "inc").addEdge("inc", sg::END);
    serve::Server server;
    server.add("count", serve::endpoint(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})));
    client::post(server.port(), "/count/t/start", R"({"input":{"n":5}})");
    CHECK(json::parse(client::get(server.port(), "/count/t/state").body).at("values").at("n") == 6);
}

TEST_CASE("a question ends the response, and its answer begins another one") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo(true)));
    const auto asked = client::post(server.port(), "/echo/t/start", R"({"input":{"said":["hello"]}})");
    CHECK(asked.body.find("\"interrupted\"") != std::string::npos);
    CHECK(asked.body.find("more?") != std::string::npos);
    CHECK(client::refused(server.port(), "/echo/t/resume", R"({"resume":7})").status == 400);
    const auto answered =
        client::post(server.port(), "/echo/t/resume", R"({"answers":[{"key":"more","value":"yes"}]})").objects();
    CHECK(answered.back().at("data").at("status").as_string() == "done");
    const auto refusal = [&](const char* body) {
        const auto refused = client::refused(server.port(), "/echo/t/resume", body);
        CHECK(refused.status == 409);
        return json::parse(refused.body).as_object();
    };
    const auto twice = refusal(R"({"answers":[{"key":"more","value":"yes"}]})");
    CHECK((twice.at("reason") == "not_pending" && twice.at("answered") == true));
    CHECK(refusal(R"({"answers":[{"key":"less","value":"yes"}]})").at("answered") == false);
    CHECK(json::parse(client::get(server.port(), "/echo/t/state").body).at("values").at("said").as_array().back() ==
          "hello!yes?");
}

TEST_CASE("a response may stay open over a question, until the run that answers it has ended") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo(true), {.close_on_suspend = false}));
    client::Connection open(server.port());
    open.request("POST", "/echo/t/start", R"({"input":{"said":["hello"]}})");
    client::Response response = open.head();
    std::string seen;
    while (seen.find("interrupted") == std::string::npos) seen += open.chunk();
    CHECK(client::post(server.port(), "/echo/t/resume", R"({"resume":"yes"})").status == 200);
    for (std::string piece = open.chunk(); !piece.empty(); piece = open.chunk()) seen += piece;
    CHECK(seen.find("hello!yes?") != std::string::npos);
    CHECK(seen.find("\"done\"") != std::string::npos);
}

TEST_CASE("events are sent as server-sent events to clients that accept those, and from a position on, once each") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo()));
    const auto response = client::post(server.port(), "/echo/t/start", R"({"input":{"said":["hello"]}})",
                                       "Accept: text/event-stream\r\n");
    CHECK(response.headers.at("content-type") == "text/event-stream; charset=utf-8");
    CHECK(response.body.find("id: ") != std::string::npos);
    const auto events = response.objects();
    REQUIRE(events.size() == 4);
    const std::string position = text(events[1], "position");
    const auto later = client::get(server.port(), "/echo/t/events?from=" + position).objects();
    REQUIRE(later.size() == 1);
    CHECK(text(later[0], "node") == "second");
    CHECK(client::get(server.port(), "/echo/t/events", "Last-Event-ID: " + position + "\r\n").objects().size() == 1);
    CHECK(client::get(server.port(), "/echo/t/events?from=0").objects().size() == 2);
    CHECK(client::get(server.port(), "/echo/t/events?from=x").status == 400);
}

TEST_CASE("what cannot be served is refused, with what is wrong") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo()));
    const auto port = server.port();
    CHECK(client::get(port, "/nothing").body.find("GET /:endpoint/:thread/state") != std::string::npos);
    CHECK(client::get(port, "/other/t/state").status == 404);
    CHECK(client::get(port, "/echo/t/start").body.find("/echo/t/start takes POST, not GET") != std::string::npos);
    CHECK(client::post(port, "/echo/t/start", "{").status == 400);
    CHECK(client::post(port, "/echo/t/start", "").status == 400);
    CHECK(client::post(port, "/echo/t/start", R"({"input":{"nothing":1}})").status == 400);
    CHECK(client::post(port, "/echo/t/start", R"({"input":{"said":"text"}})").status == 400);
    CHECK(client::post(port, "/echo/t/decide", R"({"call_id":"x"})").status == 409);
    CHECK(client::post(port, "/echo/t/start?protocol=ui", R"({"input":{"said":["a"]}})").status == 400);
    CHECK(client::get(port, "/echo/%zz/state").status == 400);
    CHECK(client::get(port, "/echo/" + std::string(300, 'a') + "/state").status == 400);
    CHECK(client::get(port, "/echo/t/history?limit=x").status == 400);
    const std::string why =
        text(client::post(port, "/echo/t/start", R"({"input":{"nothing":1}})").objects().at(0), "error");
    CHECK(why.find("nothing") != std::string::npos);
    CHECK(json::parse(client::get(port, "/health").body).at("runs") == 0);
}

TEST_CASE("an operation that the server does not have changes nothing, and those that it has take one method each") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo(true)));
    const auto port = server.port();
    (void)client::post(port, "/echo/t/start", R"({"input":{"said":["hello"]}})");
    const std::string before = client::get(port, "/echo/t/state").body;
    REQUIRE(before.find("more?") != std::string::npos);
    const std::string answer = R"({"answers":[{"key":"more","value":"yes"}]})";
    for (const std::string target :
         {"/echo/t/rewind", "/echo/rewind", "/echo/t/resume/t", "/echo/t/", "//resume", "/resume"}) {
        CAPTURE(target);
        CHECK(client::get(port, target).status == 404);
        CHECK(client::post(port, target, answer).status == 404);
        CHECK(client::get(port, "/echo/t/state").body == before);
    }
    for (const std::string target :
         {"/echo/t/start", "/echo/t/resume", "/echo/t/decide", "/echo/t/cancel", "/echo/chat"}) {
        CAPTURE(target);
        CHECK(client::get(port, target).status == 405);
    }
    for (const std::string target : {"/echo/t/state", "/echo/t/history", "/echo/t/events", "/echo/schema", "/health"}) {
        CAPTURE(target);
        CHECK(client::get(port, target).status == 200);
        CHECK(client::post(port, target, answer).status == 405);
    }
    CHECK(client::post(port, "/echo/chat/t/stream", answer).status == 405);
    CHECK(client::get(port, "/echo/t/state").body == before);
}

TEST_CASE("requests that are too large, too slow or nonsense end their connection alone") {
    serve::ServerOptions options;
    options.body_bytes_max = 1000;
    options.header_bytes_max = 2000;
    serve::Server server(options);
    server.add("echo", serve::endpoint(echo()));
    const auto port = server.port();
    CHECK(client::post(port, "/echo/t/start", std::string(2000, ' ')).status == 413);
    CHECK(client::get(port, "/echo/t/state", "X: " + std::string(4000, 'x') + "\r\n").status == 431);
    client::Connection nonsense(port);
    nonsense.send("hello there\r\n\r\n");
    CHECK(nonsense.read().status == 400);
    serve::Server impatient({.request_timeout = 300ms});
    client::Connection slow(impatient.port());
    boost::system::error_code end;
    // If this thread is paused, the server has closed the connection before, and the system resets it.
    boost::asio::write(slow.socket(), boost::asio::buffer("GET /health HT", 14), end);
    char byte = 0;
    boost::asio::read(slow.socket(), boost::asio::buffer(&byte, 1), end);
    CHECK((end == boost::asio::error::eof || end == boost::asio::error::connection_reset));
    CHECK(eventually([&] { return impatient.connections() == 0; }));
    CHECK(client::get(port, "/health").status == 200);
    CHECK(eventually([&] { return server.connections() <= 1; }));
}

TEST_CASE("a client that asks under another host name, or without permission, is refused") {
    serve::ServerOptions options;
    options.authorize = [](const serve::RequestView& request) {
        return request.header("Authorization") == "Bearer key" ? 0 : 401;
    };
    serve::Server server(options);
    CHECK(client::get(server.port(), "/health").status == 401);
    CHECK(client::get(server.port(), "/health", "Authorization: Bearer key\r\n").status == 200);
    client::Connection rebound(server.port());
    rebound.send("GET /health HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer key\r\n\r\n");
    CHECK(rebound.read().status == 421);
}

TEST_CASE("a thread that waits is ended by a cancel") {
    serve::Server server;
    server.add("echo", serve::endpoint(echo(true)));
    client::post(server.port(), "/echo/t/start", R"({"input":{"said":["hello"]}})");
    CHECK(client::post(server.port(), "/echo/t/cancel", "").body == "{\"cancelled\":\"thread\"}\n");
    CHECK(json::parse(client::get(server.port(), "/echo/t/state").body).at("next").as_array().empty());
}

namespace {

/// Throws at the event with the given number.
class BrokenEncoder final : public serve::Encoder {
public:
    explicit BrokenEncoder(int at) : left_(at) {}
    void take(const sg::HubEvent&, std::vector<std::string>& lines) override {
        if (--left_ == 0) throw std::runtime_error("the encoder broke");
        lines.emplace_back("{}");
    }

private:
    int left_;
};

}  // namespace

TEST_CASE("what a protocol throws is an answer before the response has begun, and breaks it off later") {
    serve::Server server;
    std::atomic<int> at = 1;
    std::atomic<bool> may_end = true;
    serve::EndpointOptions options;
    options.protocols = {{.name = "broken",
                          .encoder = [&at] { return std::make_unique<BrokenEncoder>(at); },
                          .modes = sg::StreamMode::updates}};
    sg::StateGraph<State> graph;
    graph.addNode("first", [](const State&) -> sg::Update<State> { return {sg::add(&State::said, std::string("a"))}; });
    graph.addNode("second", [&may_end](const State&) -> sg::Update<State> {
        patience::until([&]() -> bool { return may_end; });
        return {sg::add(&State::said, std::string("b"))};
    });
    graph.addEdge(sg::START, "first").addEdge("first", "second").addEdge("second", sg::END);
    server.add("e", serve::endpoint(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}), options));
    const std::string body = R"({"input":{"said":["x"]}})";
    CHECK(client::post(server.port(), "/e/1/start", body).status == 500);
    at = 2;
    may_end = false;
    client::Connection broken(server.port());
    broken.request("POST", "/e/2/start", body);
    CHECK(broken.head().status == 200);  // the first event has been sent
    may_end = true;
    CHECK_THROWS([&] {
        for (std::string piece = "x"; !piece.empty();) piece = broken.chunk();
    }());
    at = 3;
    CHECK(client::post(server.port(), "/e/3/start", body).status == 200);
    CHECK(eventually([&] { return server.runs() == 0 && server.connections() == 0; }));
}

TEST_CASE("a server that drains lets its runs end, notifies their clients and takes no more") {
    std::atomic<int> steps = 0;
    sg::StateGraph<State> graph;
    graph.addNode("a", [&](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        ++steps;
        patience::until([&] { return runtime.drainRequested(); });
        return {};
    });
    graph.addNode("b", [&](const State&) -> sg::Update<State> { return ++steps, sg::Update<State>(); });
    graph.addEdge(sg::START, "a").addEdge("a", "b").addEdge("b", sg::END);
    serve::ServerOptions options;
    options.headers = {{"X-Drained", std::to_string(::getpid())}};
    serve::Server server(options);
    server.add("slow", serve::endpoint(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})));
    client::Connection connection(server.port());
    connection.request("POST", "/slow/t/start", R"({"input":{"said":["a"]}})");
    connection.head();
    CHECK(eventually([&] { return steps == 1; }));
    server.drain(5min);
    std::string seen;
    for (std::string piece = connection.chunk(); !piece.empty(); piece = connection.chunk()) seen += piece;
    CHECK(seen.find("\"drained\"") != std::string::npos);
    server.wait();
    CHECK(steps == 1);
    bool is_answered = false;
    try {
        // Another program may have the port now.
        const auto headers = client::get(server.port(), "/health").headers;
        const auto own = headers.find("x-drained");
        is_answered = own != headers.end() && own->second == std::to_string(::getpid());
    } catch (const std::exception&) {  // nobody listens
    }
    CHECK(!is_answered);
}

TEST_CASE("a handler answers what is below its name, and cannot send header fields that are none") {
    serve::ServerOptions options;
    options.headers = {{"X-Every", "answer"}};
    serve::Server server(options);
    server.handle("own", [](const serve::HandlerRequest& request) -> serve::HandlerAnswer {
        if (request.segments.at(0) == "fails") throw sg::InvalidArgumentError("as it should");
        if (request.segments.at(0) == "splits") return {.headers = {{"X-A", "b\r\nX-C: d"}}};
        std::string text(request.request.method());
        for (const std::string& segment : request.segments) text += " " + segment;
        for (const auto& [name, value] : request.query) text += " " + name + "=" + value;
        return {.status = 202, .content_type = "text/plain", .body = text + " " + std::string(request.body)};
    });
    client::Connection connection(server.port());
    connection.request("POST", "/own/a%2Fb/c?q=1&r=x%20y", "body");
    const client::Response made = connection.read();
    CHECK(made.status == 202);
    CHECK(made.body == "POST a/b c q=1 r=x y body");
    CHECK(made.headers.at("x-every") == "answer");
    CHECK(client::get(server.port(), "/own/fails").status == 400);
    CHECK(client::get(server.port(), "/own/splits").status == 500);
    CHECK(client::get(server.port(), "/other/a").status == 404);
    CHECK_THROWS_AS(server.handle("own", {}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(server.handle("a/b", {}), sg::InvalidArgumentError);
    options.headers = {{"X-A", "b\nX-C: d"}};
    CHECK_THROWS_AS(serve::Server{options}, sg::InvalidArgumentError);
}

TEST_CASE("a port that another program has is an error that names the address") {
    const serve::Server first;
    const serve::ServerOptions options{.port = first.port()};
    const std::string text = "cannot listen on 127.0.0.1:" + std::to_string(first.port()) + " (another program";
    CHECK_THROWS_WITH_AS(serve::Server{options}, doctest::Contains(text.c_str()), std::system_error);
}
