// Servers over HTTP that are slow, endless, broken or lie. A client's calls end within its limits, and so does the
// client itself, also while a call is under way.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/async.hpp>
#include <stategraph/mcp/client.hpp>
#include <stategraph/mcp/http.hpp>

#include "tests/mcp/servers.hpp"
#include "tests/support/scripted_server.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
namespace mcp = stategraph::mcp;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;

constexpr auto limit = 300ms;
/// A busy machine may pause any thread for seconds; without a limit of its own the wait would be one of minutes.
constexpr auto patience = 3min;

std::string response(const std::string& body, const std::string& headers = "Content-Type: application/json\r\n") {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}
const std::string json_head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const std::string event_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// Sends this again and again, until the client has gone or the test ends.
void repeat(Peer& peer, const std::string& bytes, int times = 1'000'000) {
    for (int i = 0; i < times; ++i) {
        if (i % 64 == 0 && peer.waitForEnd(2ms)) return;  // it counts whole milliseconds
        peer.send(bytes);
    }
}
/// Sends a byte each 20 ms, and never the last one.
void drip(Peer& peer, const std::string& bytes) {
    for (const char c : std::string_view(bytes).substr(0, bytes.size() - 1)) {
        if (peer.waitForEnd(20ms)) return;
        peer.send(std::string(1, c));
    }
    peer.waitForEnd(5min);
}

struct Kind {
    std::string name;
    /// What happens after a request, whose answer is `right`.
    std::function<void(Peer&, const std::string& right)> answer;
};

std::string chunk(const std::string& size, const std::string& bytes) { return size + "\r\n" + bytes + "\r\n"; }

std::vector<Kind> kinds() {
    const std::string x(10'000, 'x');
    const std::string chunked = json_head + "Transfer-Encoding: chunked\r\n\r\n";
    const auto sends = [](std::string bytes) {
        return [bytes = std::move(bytes)](Peer& peer, const std::string&) { peer.send(bytes); };
    };
    const auto endless = [](std::string first, std::string then) {
        return [first = std::move(first), then = std::move(then)](Peer& peer, const std::string&) {
            peer.send(first);
            repeat(peer, then);
        };
    };
    return {
        {"says nothing", [](Peer& peer, const std::string&) { peer.waitForEnd(5min); }},
        {"closes at once", [](Peer&, const std::string&) {}},
        {"resets", [](Peer& peer, const std::string&) { peer.reset(); }},
        {"sends half a head, and waits",
         [](Peer& peer, const std::string&) {
             peer.send("HTTP/1.1 200 OK\r\nContent-");
             peer.waitForEnd(5min);
         }},
        {"closes within its head", sends("HTTP/1.1 200 OK\r\nContent-Ty")},
        {"drips its answer", [](Peer& peer, const std::string& right) { drip(peer, response(right)); }},
        {"closes midway", [](Peer& peer, const std::string& right) { peer.send(response(right).substr(0, 120)); }},
        {"resets midway",
         [](Peer& peer, const std::string& right) {
             peer.send(response(right).substr(0, 120));
             peer.reset();
         }},
        {"promises more than it sends",
         [](Peer& peer, const std::string& right) {
             peer.send(json_head + "Content-Length: 100000000000\r\n\r\n" + right);
             peer.waitForEnd(5min);
         }},
        {"has an endless head", endless("HTTP/1.1 200 OK\r\n", "X-More: and more\r\n")},
        {"has an endless field", endless("HTTP/1.1 200 OK\r\nX-More: ", x)},
        {"has an endless first line", endless("HTTP/1.1 200 ", x)},
        {"sends endless informational heads", endless("", "HTTP/1.1 100 Continue\r\n\r\n")},
        {"sends endless early hints", endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")},
        {"switches protocols", endless("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", x)},
        {"has an endless body", endless(json_head + "\r\n", x)},
        {"has an endless event", endless(event_head + "data: ", x)},
        {"has endless comments", endless(event_head, ": ping\n\n")},
        {"has endless answers to others",
         endless(event_head, "data: {\"jsonrpc\":\"2.0\",\"id\":777,\"result\":{}}\n\n")},
        {"asks endlessly",
         endless(event_head, "data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"roots/list\"}\n\n")},
        {"has a chunk of another size", sends(chunked + chunk("5", x))},
        {"has a chunk without a size", sends(chunked + chunk("zz", x))},
        {"has a chunk of every size", sends(chunked + chunk("ffffffffffffffffffff", x))},
        {"has an endless extension of a chunk", endless(chunked + "5;", x)},
        {"has an endless trailer", endless(chunked + "2\r\n{}\r\n0\r\n", "X-More: and more\r\n")},
        {"has two lengths", sends(json_head + "Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}")},
        {"has no length that is a number", sends(json_head + "Content-Length: -5\r\n\r\n{}")},
        {"speaks another protocol", sends("SSH-2.0-OpenSSH_9\r\n")},
        {"speaks HTTP/0.9", endless("", x)},
        {"answers with a wrong id", sends(response(R"({"jsonrpc":"2.0","id":4711,"result":{}})"))},
        {"answers with no JSON", sends(response("{\"jsonrpc\""))},
        {"is packed in a way that it is not",
         sends(response(x, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"))},
        {"redirects to itself", sends("HTTP/1.1 307 Go\r\nLocation: /mcp\r\nContent-Length: 0\r\n\r\n")},
    };
}

/// Begins every session well, and does what the kind says to calls.
ScriptedServer::Script serving(const Kind& kind, bool is_from_the_beginning) {
    return [kind, is_from_the_beginning](Peer& peer) {
        const std::string request = peer.request();
        const std::size_t end = request.find("\r\n\r\n");
        if (end == std::string::npos) return;
        if (request.starts_with("DELETE")) return kind.answer(peer, "{}");
        const json::object message = json::parse(request.substr(end + 4)).as_object();
        const std::string method(message.contains("method") ? message.at("method").as_string() : "");
        if (!message.contains("id") || method.empty())
            return peer.send("HTTP/1.1 202 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        const bool is_initial = method == "initialize";
        const std::string right =
            R"({"jsonrpc":"2.0","id":)" + json::serialize(message.at("id")) + R"(,"result":)" +
            (is_initial ? R"({"protocolVersion":"2025-06-18","capabilities":{}}})" : R"({"content":[]}})");
        if (is_initial && !is_from_the_beginning) {
            return peer.send(response(right, "Content-Type: application/json\r\nMcp-Session-Id: s\r\n"));
        }
        kind.answer(peer, right);
    };
}

mcp::Client connect(const ScriptedServer& server) {
    return mcp::Client(mcp::http({.url = server.url() + "/mcp", .end_wait = limit}),
                       {.name = "web", .connect_timeout = limit, .timeout = limit, .max_message_bytes = 100'000});
}

TEST_CASE(
    "a hostile server over HTTP ends the call with an error, and neither the call nor the client outlasts its limits") {
    for (const Kind& kind : kinds()) {
        for (const bool is_from_the_beginning : {false, true}) {
            CAPTURE(kind.name);
            CAPTURE(is_from_the_beginning);
            const ScriptedServer server(serving(kind, is_from_the_beginning));
            const auto begin = std::chrono::steady_clock::now();
            {
                const mcp::Client client = connect(server);
                const mcp::McpError error = mcp_servers::failureOf([&] { client.callTool("echo", {}); });
                CHECK(std::string(error.what()).size() < 2000);
            }
            CHECK(std::chrono::steady_clock::now() - begin < patience);
        }
    }
}

TEST_CASE(
    "a client of a hostile server over HTTP that is destroyed during a call ends within its limits, and so does the "
    "call") {
    for (const Kind& kind : kinds()) {
        CAPTURE(kind.name);
        const ScriptedServer server(serving(kind, false));
        const auto begin = std::chrono::steady_clock::now();
        std::optional<mcp::Client> client(connect(server));
        mcp::CallOptions long_call;
        long_call.timeout = std::chrono::hours(1);
        sg::Spawning<mcp::CallResult> call =
            sg::spawn(sg::Executor::common(), client->asyncCallTool("echo", {}, long_call));
        client->close();
        client.reset();
        CHECK_THROWS_AS(call.get(), mcp::McpError);
        CHECK(std::chrono::steady_clock::now() - begin < patience);
    }
}

}  // namespace
