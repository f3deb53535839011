// The client over Streamable HTTP, with servers that behave, and with servers that do not.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/mcp/client.hpp>
#include <stategraph/mcp/http.hpp>

#include "tests/agent/tools.hpp"
#include "tests/mcp/servers.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/self_signed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
namespace mcp = stategraph::mcp;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
using namespace std::chrono_literals;
using Members = std::map<std::string, sg::Value>;
using Peer = ScriptedServer::Peer;

std::string plain(int status, const std::string& headers, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
           "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string asJson(const std::string& body, const std::string& headers = {}) {
    return plain(200, "Content-Type: application/json\r\n" + headers, body);
}
const std::string stream_head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n";
std::string event(const std::string& data) { return "event: message\ndata: " + data + "\n\n"; }

/// One request of the client.
struct Got {
    std::string head;
    json::object body;

    std::string method() const {
        const json::value* const found = body.if_contains("method");
        return found != nullptr ? std::string(found->as_string()) : "";
    }
    std::string tool() const { return std::string(body.at("params").as_object().at("name").as_string()); }
    std::string answer(const std::string& result) const {
        return R"({"jsonrpc":"2.0","id":)" + json::serialize(body.at("id")) + ",\"result\":" + result + "}";
    }
    std::string said(const std::string& text) const {
        return answer(R"({"content":[{"type":"text","text":")" + text + "\"}]}");
    }
};

Got parsed(const std::string& request) {
    Got got;
    const std::size_t end = request.find("\r\n\r\n");
    got.head = request.substr(0, end) + "\r\n";
    if (end != std::string::npos && end + 4 < request.size())
        got.body = json::parse(request.substr(end + 4)).as_object();
    return got;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Calls = std::function<void(Peer& peer, const Got& got)>;

/// A server with the tools echo and slow, whose calls are answered by `calls`.
ScriptedServer::Script serving(Calls calls) {
    return [calls = std::move(calls)](Peer& peer) {
        const std::string request = peer.request();
        if (request.empty()) return;
        const Got got = parsed(request);
        if (request.starts_with("DELETE")) {
            peer.send(plain(204, "", ""));
        } else if (got.method() == "initialize") {
            peer.send(
                asJson(got.answer(R"({"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"web"}})"),
                       "Mcp-Session-Id: session-1\r\n"));
        } else if (got.method() == "tools/list") {
            peer.send(asJson(got.answer(R"({"tools":[{"name":"echo","inputSchema":{"type":"object"}}]})")));
        } else if (got.method() == "tools/call") {
            calls(peer, got);
        } else {
            peer.send(plain(202, "", ""));
        }
    };
}

mcp::Client connect(const std::string& url, mcp::ClientOptions options = {}, mcp::HttpOptions http = {}) {
    http.url = url + "/mcp";
    options.name = "web";
    return mcp::Client(mcp::http(std::move(http)), std::move(options));
}

using mcp_servers::failureOf;

std::vector<std::string> methodsOf(const ScriptedServer& server) {
    std::vector<std::string> methods;
    for (const std::string& request : server.requests())
        methods.push_back(request.starts_with("DELETE") ? "DELETE" : parsed(request).method());
    return methods;
}

void await(const std::function<bool()>& is_so) { patience::until(is_so); }

TEST_CASE("answers come as JSON and as streams of events, and requests have the headers of the protocol") {
    const ScriptedServer server(serving([](Peer& peer, const Got& got) {
        if (got.tool() == "echo") return peer.send(asJson(got.said("as JSON")));
        peer.send(stream_head + ": a comment\n\n" +
                  event(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})") +
                  event(got.said("as event")));
    }));
    {
        const mcp::Client client =
            connect(server.url(), {}, {.headers = {{"Authorization", "Bearer key-1"}}, .end_wait = 5min});
        CHECK(client.listTools().size() == 1);
        CHECK(client.callTool("echo", {}).text() == "as JSON");
        CHECK(client.callTool("other", {}).text() == "as event");
        CHECK(client.listChanges() == 1);
        CHECK(client.serverInfo()->name == "web");
        CHECK(client.starts() == 1);
    }
    CHECK(methodsOf(server) == std::vector<std::string>{"initialize", "notifications/initialized", "tools/list",
                                                        "tools/call", "tools/call", "DELETE"});
    const std::vector<std::string> requests = server.requests();
    CHECK(requests[0].starts_with("POST /mcp HTTP/1.1\r\n"));
    CHECK_FALSE(has(requests[0], "Mcp-Session-Id"));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        CHECK(has(requests[i], "Accept: application/json, text/event-stream\r\n"));
        CHECK(has(requests[i], "Authorization: Bearer key-1\r\n"));
        if (i > 0) {
            CHECK(has(requests[i], "Mcp-Session-Id: session-1\r\n"));
            CHECK(has(requests[i], "MCP-Protocol-Version: 2025-06-18\r\n"));
        }
    }
}

TEST_CASE("requests wait until the server has taken notifications/initialized") {
    std::atomic<bool> is_taken{false};
    std::atomic<bool> was_early{false};
    const ScriptedServer server([&](Peer& peer) {
        const std::string request = peer.request();
        const Got got = parsed(request);
        if (got.method() == "initialize") {
            peer.send(asJson(got.answer(R"({"protocolVersion":"2025-03-26"})")));
        } else if (got.method() == "notifications/initialized") {
            std::this_thread::sleep_for(50ms);  // sleeps: a slow peer
            is_taken = true;
            peer.send(plain(202, "", ""));
        } else {
            was_early = was_early || !is_taken;
            peer.send(asJson(got.said("x")));
        }
    });
    const mcp::Client client = connect(server.url());
    std::vector<sg::Spawning<mcp::CallResult>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(sg::spawn(sg::Executor::common(), client.asyncCallTool("echo", {})));
    for (auto& call : calls) CHECK(call.get().text() == "x");
    CHECK_FALSE(was_early);
    CHECK(client.starts() == 1);
}

TEST_CASE("progress arrives while the call runs, and a request of the server within the stream is answered") {
    const ScriptedServer server(serving([](Peer& peer, const Got& got) {
        const std::string token =
            json::serialize(got.body.at("params").as_object().at("_meta").as_object().at("progressToken"));
        peer.send(
            stream_head + event(R"({"jsonrpc":"2.0","id":"s1","method":"ping"})") +
            event(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":)" +
                  token + "}}"));
        peer.send(event(got.said("done")));
    }));
    const mcp::Client client = connect(server.url());
    std::vector<double> reports;
    mcp::CallOptions options;
    options.on_progress = [&](const mcp::Progress& progress) { reports.push_back(progress.progress); };
    CHECK(client.callTool("echo", {}, options).text() == "done");
    CHECK(reports == std::vector<double>{1});
    await([&] {
        const auto requests = server.requests();
        return std::any_of(requests.begin(), requests.end(), [](const auto& request) {
            return has(request, R"({"jsonrpc":"2.0","id":"s1","result":{}})");
        });
    });
}

TEST_CASE("a session that the server has forgotten is an error of the call, and the next call begins another") {
    std::atomic<int> calls{0};
    const ScriptedServer server(serving(
        [&](Peer& peer, const Got& got) { peer.send(++calls == 2 ? plain(404, "", "") : asJson(got.said("here"))); }));
    const mcp::Client client = connect(server.url());
    CHECK(client.callTool("echo", {}).text() == "here");
    const mcp::McpError error = failureOf([&] { client.callTool("echo", {}); });
    CHECK(error.failure() == mcp::Failure::connection);
    CHECK(has(error.what(), "the tool 'echo' has no answer: the server has forgotten the session (status 404)"));
    CHECK(client.callTool("echo", {}).text() == "here");
    CHECK(client.starts() == 2);
}

TEST_CASE("a refusal says the status, what the server wrote and what to do, and never shows the key") {
    const ScriptedServer server([](Peer& peer) {
        if (!peer.request().empty()) peer.send(plain(401, "", "the token key-1 is not known"));
    });
    const mcp::Client client = connect(server.url(), {}, {.headers = {{"AUTHORIZATION", "Bearer key-1"}}});
    const std::string text = failureOf([&] { client.listTools(); }).what();
    CHECK(has(text, "it answered with status 401: the token"));
    CHECK(has(text, "set HttpOptions::headers, such as Authorization"));
    CHECK_FALSE(has(text, "key-1"));
}

TEST_CASE("an error of JSON-RPC shows no header's value, whatever its name") {
    const ScriptedServer server(serving([](Peer& peer, const Got& got) {
        peer.send(asJson(R"({"jsonrpc":"2.0","id":)" + json::serialize(got.body.at("id")) +
                         R"(,"error":{"code":-32001,"message":"neither key-11 nor secret-22 nor Basic abc-33"}})"));
    }));
    const mcp::Client client = connect(
        server.url(), {},
        {.headers = {{"X-API-Key", "key-11"}, {"X-Other", "Bearer secret-22 "}, {"Authorization", "Basic abc-33"}}});
    const std::string text = failureOf([&] { client.callTool("echo", {}); }).what();
    CHECK(has(text, "was refused: neither"));
    for (const char* const secret : {"key-11", "secret-22", "abc-33"}) CHECK_FALSE(has(text, secret));
}

TEST_CASE("a server that cannot be reached is an error that names its address, at most as often as the option says") {
    const std::string url = "http://127.0.0.1:1";  // no port that the system gives to another program
    const mcp::Client client = connect(url, {.max_restarts = 1});
    for (int i = 0; i < 2; ++i) {
        const std::string text = failureOf([&] { client.listTools(); }).what();
        CHECK(has(text, "the server at " + url + "/mcp failed while connecting"));
    }
    CHECK(has(failureOf([&] { client.listTools(); }).what(), "was started 2 times"));
}

TEST_CASE("a call whose time is over, or that is stopped, closes its connection and is cancelled at the server") {
    std::atomic<int> came{0};
    std::atomic<int> closed{0};
    const ScriptedServer server(serving([&](Peer& peer, const Got&) {
        ++came;
        peer.send(stream_head);
        if (peer.waitForEnd(5min)) ++closed;
    }));
    const mcp::Client client = connect(server.url());
    client.listTools();
    // On a busy machine the time may be over before the request was sent.
    CHECK(withEnoughTime(50ms, [&](std::chrono::milliseconds limit) {
        mcp::CallOptions brief;
        brief.timeout = limit;
        CHECK((failureOf([&] { client.callTool("echo", {}, brief); }).failure() == mcp::Failure::timeout));
        return came > 0;
    }));
    await([&] { return closed == came; });

    const int before = came;
    std::stop_source stop;
    mcp::CallOptions stoppable;
    stoppable.stop = stop.get_token();
    auto call = sg::spawn(sg::Executor::common(), client.asyncCallTool("echo", {}, stoppable));
    await([&] { return came > before; });
    stop.request_stop();
    CHECK_THROWS_AS(call.get(), sg::CancelledError);
    await([&] {
        const auto methods = methodsOf(server);
        return std::count(methods.begin(), methods.end(), "notifications/cancelled") >= 2;
    });
    await([&] { return closed == came; });
}

TEST_CASE("answers that are too long, missing, of another type or no JSON fail their call") {
    const std::string long_text(300'000, 'x');
    const ScriptedServer server(serving([&](Peer& peer, const Got& got) {
        const std::string tool = got.tool();
        if (tool == "long json") return peer.send(asJson(got.said(long_text)));
        if (tool == "long event") return peer.send(stream_head + event(got.said(long_text)));
        if (tool == "nothing") return peer.send(stream_head);
        if (tool == "another") return peer.send(stream_head + event(R"({"jsonrpc":"2.0","id":777,"result":{}})"));
        if (tool == "html") return peer.send(plain(200, "Content-Type: text/html\r\n", "<p>"));
        if (tool == "broken") return peer.send(asJson("{\"jsonrpc\""));
        if (tool == "accepted") return peer.send(plain(202, "", ""));
        if (tool == "reset") return peer.reset();
        peer.send(asJson(got.said("right")));
    }));
    const mcp::Client client = connect(server.url(), {.max_message_bytes = 200'000});
    const std::map<std::string, std::string> says{
        {"long json", "more than 200000 bytes"},
        {"long event", "more than 200000 bytes"},
        {"nothing", "ended without the answer"},
        {"another", "ended without the answer"},
        {"html", "something other than JSON (text/html)"},
        {"broken", "ended without the answer"},
        {"accepted", "status 202 and something other than JSON"},
        {"reset", "failed while"},
    };
    for (const auto& [tool, text] : says) {
        const mcp::McpError error = failureOf([&] { client.callTool(tool, {}); });
        CAPTURE(tool);
        CAPTURE(error.what());
        CHECK((error.failure() == mcp::Failure::connection));
        CHECK(has(error.what(), text));
        CHECK(has(error.what(), "the tool '" + tool + "'"));
        CHECK(client.callTool("echo", {}).text() == "right");
    }
    CHECK(client.starts() == 1);
}

TEST_CASE("a stream that continues after the answer is closed, and one that never begins ends with the client") {
    std::atomic<int> closed{0};
    std::atomic<bool> is_slow{false};
    const ScriptedServer server(serving([&](Peer& peer, const Got& got) {
        if (got.tool() == "slow") {
            is_slow = true;
            if (peer.waitForEnd(5min)) ++closed;
            return;
        }
        peer.send(stream_head + event(got.said("early")));
        if (peer.waitForEnd(5min)) ++closed;
    }));
    {
        const mcp::Client client = connect(server.url());
        CHECK(client.callTool("echo", {}).text() == "early");
        await([&] { return closed == 1; });
        auto call = sg::spawn(sg::Executor::common(), client.asyncCallTool("slow", {}));
        await([&] { return is_slow.load(); });
        client.close();
        CHECK(has(failureOf([&] { call.get(); }).what(), "the client was closed"));
    }
    await([&] { return closed == 2; });
}

TEST_CASE("a session id that could not be sent back is refused") {
    const ScriptedServer server([](Peer& peer) {
        const std::string request = peer.request();
        if (request.empty()) return;
        peer.send(asJson(parsed(request).answer(R"({"protocolVersion":"2025-06-18"})"), "Mcp-Session-Id: a b\r\n"));
    });
    const mcp::Client client = connect(server.url());
    CHECK(has(failureOf([&] { client.listTools(); }).what(), "a session id that is no visible ASCII text"));
}

TEST_CASE("a hundred awaited calls share two threads") {
    const ScriptedServer server(serving([](Peer& peer, const Got& got) {
        peer.send(
            asJson(got.said(json::serialize(got.body.at("params").as_object().at("arguments").as_object().at("n")))));
    }));
    const mcp::Client client = connect(server.url());
    const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 2});
    std::vector<sg::Spawning<mcp::CallResult>> calls;
    for (int i = 0; i < 100; ++i)
        calls.push_back(
            sg::spawn(executor, client.asyncCallTool("echo", sg::Value(std::map<std::string, int>{{"n", i}}))));
    for (int i = 0; i < 100; ++i) CHECK(calls[static_cast<std::size_t>(i)].get().text() == std::to_string(i));
}

TEST_CASE("an agent uses a server over HTTPS") {
    const TemporaryFolder folder;
    const SelfSigned identity;
    const std::string file = (folder / "ca.pem").string();
    std::ofstream(file) << identity.certificate;
    const ScriptedServer server(serving([](Peer& peer, const Got& got) { peer.send(asJson(got.said("hello"))); }),
                                identity.certificate, identity.key);
    const mcp::Client client = connect(server.url(), {}, {.ca_file = file});
    const agent::Agent agent(
        {.model = model::scripted({model::assistant({{{}, "c1", "web_echo", "{}"}}), model::assistant("done")}),
         .tools = client.tools({.prefix = "web_"}),
         .compile = tools::stored()});
    CHECK(tools::results(agent.say("go", {.thread_id = "t"}).values) == std::vector<std::string>{"hello"});
}

TEST_CASE("impossible options are refused") {
    CHECK_THROWS_AS(mcp::http({.url = "ftp://x"}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(mcp::http({}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(mcp::http({.url = "http://x", .headers = {{"A B", ""}}}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(mcp::http({.url = "http://x", .end_wait = 0ms}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(mcp::http({.url = "https://x", .ca_file = "/nowhere"}), sg::InvalidArgumentError);
}

}  // namespace
