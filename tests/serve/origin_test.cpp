#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"

// Which pages may change something.
namespace sg = stategraph;
namespace serve = stategraph::serve;

namespace {

constexpr const char* body = R"({"input":{"said":["go"]}})";
const std::string json_type = "Content-Type: application/json\r\n";

std::shared_ptr<serve::Endpoint> counting(int& runs) {
    sg::StateGraph<served::State> graph;
    graph.addNode("a", [&runs](const served::State&) -> sg::Update<served::State> {
        ++runs;
        return {};
    });
    graph.addEdge(sg::START, "a").addEdge("a", sg::END);
    return serve::endpoint(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}));
}

}  // namespace

TEST_CASE("a request of a page of another origin changes nothing, and those of programs and of own pages are served") {
    int runs = 0;
    serve::Server server({.origins = {"https://friend.example"}});
    server.add("g", counting(runs));
    int handled = 0;
    server.handle("h", [&](const serve::HandlerRequest&) {
        ++handled;
        return serve::HandlerAnswer{.body = "{}"};
    });
    const std::string own = "http://localhost";  // as the tests' client names the server
    struct Case {
        std::string headers;
        int status;
    };
    const std::vector<Case> cases = {
        {json_type, 200},
        {"Content-Type: Application/JSON; charset=utf-8\r\n", 200},
        {json_type + "Origin: " + own + "\r\nSec-Fetch-Site: same-origin\r\n", 200},
        {json_type + "Origin: HTTPS://localhost:443\r\n", 200},
        {json_type + "Origin: https://friend.example\r\nSec-Fetch-Site: cross-site\r\n", 200},
        {json_type + "Sec-Fetch-Site: none\r\n", 200},
        {json_type + "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n", 403},
        {json_type + "Origin: https://evil.example\r\n", 403},
        {json_type + "Origin: https://friend.example.evil.example\r\n", 403},
        {json_type + "Origin: http://friend.example\r\n", 403},
        {json_type + "Origin: http://localhost:1\r\nSec-Fetch-Site: same-site\r\n", 403},
        {json_type + "Origin: " + own + "\r\nSec-Fetch-Site: cross-site\r\n", 403},
        {json_type + "Origin: " + own + "\r\nOrigin: https://evil.example\r\n", 403},
        {json_type + "Origin: null\r\n", 403},
        {json_type + "Origin: \r\n", 403},
        {json_type + "Sec-Fetch-Site: cross-site\r\n", 403},
        {json_type + "Sec-Fetch-Site: same-site\r\n", 403},
        {"Content-Type: text/plain\r\n", 415},
        {"Content-Type: text/plain; x=application/json\r\n", 415},
        {"Content-Type: application/x-www-form-urlencoded\r\n", 415},
        {"Content-Type: application/json-patch\r\n", 415},
        {"Content-Type: \r\n", 415},
        {json_type + "Content-Type: text/plain\r\n", 415},
    };
    int thread = 0;
    for (const Case& each : cases) {
        CAPTURE(each.headers);
        runs = handled = 0;
        const std::string start = "/g/t" + std::to_string(++thread) + "/start";
        CHECK(client::post(server.port(), start, body, each.headers).status == each.status);
        CHECK(runs == (each.status == 200 ? 1 : 0));
        CHECK(client::post(server.port(), "/h/x", body, each.headers).status == (each.status == 403 ? 403 : 200));
        CHECK(handled == (each.status == 403 ? 0 : 1));
    }
}

TEST_CASE("pages of the allowed origins alone may read answers, also streams, and ask before they send") {
    int runs = 0;
    serve::Server server({.origins = {"https://friend.example"}});
    server.add("g", counting(runs));
    const std::string friendly = "Origin: https://friend.example\r\n";
    const auto allowed = [](const client::Response& response) {
        const auto found = response.headers.find("access-control-allow-origin");
        return found == response.headers.end() ? std::string() : found->second;
    };
    for (const char* const target : {"/health", "/g/t/events"}) {
        CAPTURE(target);
        const auto read = client::get(server.port(), target, friendly);
        CHECK(allowed(read) == "https://friend.example");
        CHECK(read.headers.at("vary") == "Origin");
        CHECK(allowed(client::get(server.port(), target, "Origin: https://evil.example\r\n")).empty());
        CHECK(allowed(client::get(server.port(), target)).empty());
    }
    client::Connection asks(server.port());
    asks.request("OPTIONS", "/g/t/start", {}, friendly + "Access-Control-Request-Method: POST\r\n");
    const auto preflight = asks.read();
    CHECK(preflight.status == 204);
    CHECK(allowed(preflight) == "https://friend.example");
    asks.request("OPTIONS", "/g/t/start", {},
                 "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n");
    const auto refused = asks.read();
    CHECK(refused.status == 403);
    CHECK(allowed(refused).empty());
    for (const char* const wrong : {"friend.example", "https://friend.example/", "https://", "https://*.example", ""})
        CHECK_THROWS_AS(serve::Server({.origins = {wrong}}), sg::InvalidArgumentError);
}

TEST_CASE("a server on all addresses answers to addresses and to the names that it is given") {
    const auto statusFor = [](serve::Server& server, const std::string& host) {
        client::Connection connection(server.port());
        connection.send("GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        return connection.read().status;
    };
    serve::Server plain({.address = "0.0.0.0"});
    for (const char* const host : {"127.0.0.1:80", "192.0.2.7", "[2001:db8::1]:8080", "localhost"})
        CHECK(statusFor(plain, host) == 200);
    for (const char* const host : {"evil.example", "evil.example:80", "127.0.0.1.evil.example", ""})
        CHECK(statusFor(plain, host) == 421);
    serve::Server named({.address = "0.0.0.0", .hosts = {"chat.example"}});
    CHECK(statusFor(named, "Chat.Example:443") == 200);
    CHECK(statusFor(named, "127.0.0.1") == 421);
    serve::Server any({.address = "0.0.0.0", .hosts = {"*"}});
    CHECK(statusFor(any, "evil.example") == 200);
}
