#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/detail/thread_read.hpp>
#include <stategraph/mcp/serve.hpp>

#include "tests/mcp/serving/served.hpp"
#include "tests/mcp/serving/talk.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

using namespace mcp_serving;

namespace {

const json::object asks{{"elicitation", json::object()}};
const std::string both = "Accept: application/json, text/event-stream\r\n";

/// A server with the tools, at /mcp.
struct Served {
    explicit Served(sg::serve::ServerOptions options = {}, mcp::ServeOptions serving = {},
                    std::shared_ptr<gates::Gate> gate = {})
        : saver(std::make_shared<sg::MemorySaver>()), app(tripGraph(saver, std::move(gate))), http(patient(options)) {
        mcp::Server server({.name = "test"});
        addTools(server);
        server.add("trip", app, {.input_channels = {{"city"}}});
        mcp::serve(http, "mcp", server, serving);
    }
    static sg::serve::ServerOptions patient(sg::serve::ServerOptions options) {
        options.request_timeout = std::chrono::minutes(5);
        options.write_timeout = std::chrono::minutes(5);
        return options;
    }
    client::Response post(const json::object& message, const std::string& headers = {}) const {
        return client::post(http.port(), "/mcp", json::serialize(message), both + headers);
    }
    /// Begins a session, and returns its header field.
    std::string begin(const std::string& headers = {}, const json::object& capabilities = {}) const {
        const client::Response response = post(
            request(0, "initialize", {{"protocolVersion", "2025-11-25"}, {"capabilities", capabilities}}), headers);
        REQUIRE(response.status == 200);
        return "Mcp-Session-Id: " + response.headers.at("mcp-session-id") + "\r\n" + headers;
    }
    static json::object request(std::int64_t id, std::string_view method, json::object params = {}) {
        return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
    }
    static json::object call(std::int64_t id, std::string_view tool, json::object arguments = {}) {
        return request(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
    }
    /// The last message of a response.
    static json::object lastOf(const client::Response& response) { return response.objects().back(); }
    json::object result(const json::object& message, const std::string& headers) const {
        return lastOf(post(message, headers)).at("result").as_object();
    }

    std::shared_ptr<sg::MemorySaver> saver;
    TripGraph app;
    sg::serve::Server http;
};

std::string modernHeaders(const std::string& method, const std::string& name = {}) {
    return "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n" +
           (name.empty() ? "" : "Mcp-Name: " + name + "\r\n");
}

/// Reads the chunks of a response until they contain a text.
std::string readUntil(client::Connection& connection, std::string_view text) {
    std::string read;
    while (read.find(text) == std::string::npos) {
        const std::string piece = connection.chunk();
        if (piece.empty()) throw std::runtime_error("the response ended: " + read);
        read += piece;
    }
    return read;
}

sg::serve::ServerOptions ofUsers() {
    sg::serve::ServerOptions options;
    options.owned = true;
    options.authorize = [](const sg::serve::RequestView& request) -> sg::serve::Admission {
        const std::string_view name = request.header("X-User");
        if (name.empty()) return {};
        return sg::serve::Identity{.name = std::string(name)};
    };
    return options;
}

}  // namespace

TEST_CASE("over HTTP a session begins with initialize, is named by its id and ends with DELETE") {
    const Served served;
    const std::string session = served.begin();
    CHECK(served.post({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}, session).status == 202);
    CHECK(served.result(Served::request(1, "tools/list"), session).at("tools").as_array().size() == 5);
    const client::Response sum = served.post(Served::call(2, "add", {{"a", 2}, {"b", 3}}), session);
    CHECK(sum.status == 200);
    CHECK(textOf(Served::lastOf(sum).at("result").as_object()) == "5");
    CHECK(served.post(Served::request(3, "ping")).status == 400);  // without the session
    CHECK(served.post(Served::request(3, "ping"), "Mcp-Session-Id: nobody\r\n").status == 404);
    CHECK(served.post(Served::request(3, "ping"), session + "MCP-Protocol-Version: 1999-01-01\r\n").status == 400);
    CHECK(client::get(served.http.port(), "/mcp", both + session).status == 405);
    client::Connection connection(served.http.port());
    connection.request("DELETE", "/mcp", {}, session);
    CHECK(connection.read().status == 204);
    CHECK(served.post(Served::request(4, "ping"), session).status == 404);
}

TEST_CASE("over HTTP what is no message, a batch, and a request that accepts one type alone are refused") {
    const Served served;
    const auto statusOf = [&](std::string_view body, std::string_view headers = both) {
        return client::post(served.http.port(), "/mcp", body, headers).status;
    };
    CHECK(statusOf("hello") == 400);
    CHECK(statusOf(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])") == 400);
    CHECK(statusOf(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", "Accept: application/json\r\n") == 406);
    CHECK(statusOf(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", both + "Origin: https://evil.example\r\n") == 403);
    CHECK(client::post(served.http.port(), "/mcp/more", "{}", both).status == 404);
}

TEST_CASE("a client that loses the connection reads the rest of a call with the id of the last event") {
    const auto gate = std::make_shared<gates::Gate>();
    const Served served({}, {}, gate);
    const std::string session = served.begin();
    std::string read;
    {
        client::Connection connection(served.http.port());
        json::object call = Served::call(1, "trip", {{"city", "Paris"}});
        call.at("params").as_object()["_meta"] = {{"progressToken", 1}};
        connection.request("POST", "/mcp", json::serialize(call), both + session);
        CHECK(connection.head().headers.at("content-type").starts_with("text/event-stream"));
        read = readUntil(connection, "looking at Paris");
    }
    gate->open();
    const std::string last =
        read.substr(read.rfind("id: ") + 4, read.find('\n', read.rfind("id: ")) - read.rfind("id: ") - 4);
    const client::Response rest =
        client::get(served.http.port(), "/mcp", both + session + "Last-Event-ID: " + last + "\r\n");
    CHECK(rest.status == 200);
    CHECK(Served::lastOf(rest).at("result").as_object().contains("structuredContent"));
    CHECK(rest.body.find("looking at Paris") == std::string::npos);
    for (const char* const id : {"99-1", "x", "1-", "1-x", "-"}) {
        CHECK(client::get(served.http.port(), "/mcp", both + session + "Last-Event-ID: " + id + "\r\n").status == 404);
    }
}

TEST_CASE("over HTTP a question comes in the response of its call, and is answered by another request") {
    const Served served;
    const std::string session = served.begin({}, asks);
    client::Connection connection(served.http.port());
    connection.request("POST", "/mcp", json::serialize(Served::call(1, "trip", {{"city", "Rome"}})), both + session);
    CHECK(connection.head().status == 200);
    const std::string asked = readUntil(connection, "elicitation/create");
    const std::size_t at = asked.find("data: ") + 6;
    const json::value question = json::parse(std::string_view(asked).substr(at, asked.find('\n', at) - at));
    const json::object answer{{"jsonrpc", "2.0"},
                              {"id", question.at("id")},
                              {"result", {{"action", "accept"}, {"content", {{"answer", "train"}}}}}};
    CHECK(served.post(answer, served.begin()).status == 202);  // another session's is not meant
    CHECK(served.post(answer, session).status == 202);
    CHECK(readUntil(connection, "structuredContent").find("train") != std::string::npos);
}

TEST_CASE("without sessions the header fields mirror the body, and a client that leaves stops its call") {
    const auto gate = std::make_shared<gates::Gate>();
    const Served served({}, {}, gate);
    const auto modern = [](json::object message) {
        message.at("params").as_object()["_meta"] = modernMeta(asks);
        return message;
    };
    const client::Response found =
        served.post(modern(Served::request(1, "server/discover")), modernHeaders("server/discover"));
    CHECK(found.status == 200);
    CHECK_FALSE(found.headers.contains("mcp-session-id"));
    const json::object add = modern(Served::call(2, "add", {{"a", 2}, {"b", 3}}));
    for (const char* const name : {"add", "=?base64?YWRk?="}) {
        const client::Response sum = served.post(add, modernHeaders("tools/call", name));
        CHECK(sum.status == 200);
        CHECK(textOf(Served::lastOf(sum).at("result").as_object()) == "5");
    }
    for (const std::string& headers :
         {modernHeaders("tools/call", "other"), modernHeaders("tools/list", "add"), modernHeaders("tools/call"),
          modernHeaders("tools/call", "=?base64?*?="), std::string("Mcp-Method: tools/call\r\nMcp-Name: add\r\n")}) {
        const client::Response refused = served.post(add, headers);
        CHECK(refused.status == 400);
        CHECK(Served::lastOf(refused).at("error").at("code") == -32020);
    }
    const client::Response unknown = served.post(modern(Served::request(3, "ping")), modernHeaders("ping"));
    CHECK(unknown.status == 404);
    CHECK(Served::lastOf(unknown).at("error").at("code") == -32601);
    {
        client::Connection connection(served.http.port());
        json::object call = modern(Served::call(4, "trip", {{"city", "Paris"}, {"thread_id", "t"}}));
        call.at("params").at("_meta").as_object()["progressToken"] = 1;
        connection.request("POST", "/mcp", json::serialize(call), both + modernHeaders("tools/call", "trip"));
        CHECK(connection.head().status == 200);
        readUntil(connection, "looking at Paris");
    }
    patience::until([&] { return sg::detail::threadStatus(*served.app.core(), "t") == sg::Status::cancelled; });
    gate->open();
}

TEST_CASE("sessions and threads belong to the users that the server names") {
    const Served served(ofUsers());
    CHECK(served.post(Served::request(0, "initialize", {{"protocolVersion", "2025-11-25"}})).status == 401);
    const std::string ada = served.begin("X-User: ada\r\n");
    const std::string bob = served.begin("X-User: bob\r\n");
    std::string stolen = ada;
    stolen.replace(stolen.find("ada"), 3, "bob");
    CHECK(served.post(Served::request(1, "ping"), stolen).status == 404);
    const json::object open = served.result(Served::call(1, "trip", {{"city", "Rome"}, {"thread_id", "t"}}), ada);
    CHECK(isError(open));
    CHECK(threadOf(open) == "t");
    for (const json::object& arguments :
         {json::object{{"thread_id", "t"}, {"resume", "car"}}, json::object{{"thread_id", "t"}},
          json::object{{"thread_id", "t"}, {"city", "Oslo"}}}) {
        const json::object refused = served.result(Served::call(2, "trip", arguments), bob);
        CHECK(isError(refused));
        CHECK(textOf(refused).find("there is no thread 't'") != std::string::npos);
    }
    const json::object unknown = served.result(Served::call(3, "trip", {{"thread_id", "u"}, {"resume", "car"}}), bob);
    CHECK(textOf(unknown).find("there is no thread 'u'") != std::string::npos);
    const json::object done = served.result(Served::call(4, "trip", {{"thread_id", "t"}, {"resume", "train"}}), ada);
    CHECK(done.at("structuredContent").at("log") == json::array{"looked at Rome", "train"});
}

TEST_CASE("another user's question cannot be answered with its state, without sessions") {
    const Served served(ofUsers());
    for (const std::string tool : {"trip", "remove"}) {
        json::object call = Served::call(1, tool);
        json::object& params = call.at("params").as_object();
        params["_meta"] = modernMeta(asks);
        if (tool == "trip") params["arguments"] = {{"city", "Rome"}};
        const std::string headers = modernHeaders("tools/call", tool);
        const json::object open = served.result(call, headers + "X-User: ada\r\n");
        REQUIRE(open.at("resultType") == "input_required");
        params["requestState"] = open.at("requestState");
        const json::object refused = served.result(call, headers + "X-User: bob\r\n");
        CHECK(isError(refused));
        CHECK(textOf(refused).find("there is no thread") != std::string::npos);
        CHECK(served.result(call, headers + "X-User: ada\r\n").at("resultType") == "input_required");
    }
}

TEST_CASE("texts of errors stay in the server unless it shows them") {
    for (const bool shows : {false, true}) {
        const Served served({.show_errors = shows, .log = [](const auto&...) {}});
        const std::string session = served.begin();
        const json::object failed = served.result(Served::call(1, "trip", {{"city", "Atlantis"}}), session);
        CHECK(isError(failed));
        CHECK((textOf(failed).find("swordfish") != std::string::npos) == shows);
        CHECK(isError(served.result(Served::call(2, "add", {{"a", "x"}}), session)));
        CHECK(textOf(served.result(Served::call(2, "add", {{"a", "x"}}), session)).find("b") != std::string::npos);
    }
}

TEST_CASE("beyond the limit of sessions an idle one ends, and without an idle one another is refused") {
    const auto gate = std::make_shared<gates::Gate>();
    const Served served({}, {.sessions_max = 2}, gate);
    const std::string first = served.begin();
    const std::string second = served.begin();
    CHECK(served.post(Served::request(1, "ping"), first).status == 200);
    const std::string third = served.begin();
    CHECK(served.post(Served::request(1, "ping"), second).status == 404);
    client::Connection one(served.http.port());
    client::Connection other(served.http.port());
    const std::string call = json::serialize(Served::call(1, "trip", {{"city", "Paris"}}));
    one.request("POST", "/mcp", call, both + first);
    other.request("POST", "/mcp", call, both + third);
    CHECK(one.head().status == 200);
    CHECK(other.head().status == 200);
    const json::object initialize = Served::request(0, "initialize", {{"protocolVersion", "2025-11-25"}});
    CHECK(served.post(initialize).status == 503);
    gate->open();
    CHECK(readUntil(one, "structuredContent").find("Paris") != std::string::npos);
    CHECK(readUntil(other, "structuredContent").find("Paris") != std::string::npos);
    const Served idle({}, {.session_idle = std::chrono::milliseconds(0)});
    const std::string old = idle.begin();
    (void)idle.begin();
    CHECK(idle.post(Served::request(1, "ping"), old).status == 404);
}

TEST_CASE("a server that ends stops the calls of its sessions") {
    const auto gate = std::make_shared<gates::Gate>();
    auto served = std::make_unique<Served>(sg::serve::ServerOptions{}, mcp::ServeOptions{}, gate);
    const auto app = served->app;
    client::Connection connection(served->http.port());
    json::object call = Served::call(1, "trip", {{"city", "Paris"}, {"thread_id", "t"}});
    connection.request("POST", "/mcp", json::serialize(call), both + served->begin());
    CHECK(connection.head().status == 200);
    patience::until([&] { return !app.getState({.thread_id = "t"}).config.checkpoint_id.empty(); });
    served.reset();
    CHECK((sg::detail::threadStatus(*app.core(), "t") == sg::Status::cancelled));
    gate->open();
}
