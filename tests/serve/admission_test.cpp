#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/workflow/step.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"

// Who may ask for what, and what a client may write.
namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
namespace wf = stategraph::workflow;

namespace {

sg::CompileOptions stored() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }

agent::Agent helper() {
    return agent::Agent({.model = model::scripted([](const model::Request&) { return model::assistant("hello"); }),
                         .compile = stored()});
}

sg::CompiledGraph<served::State> oneNode() {
    sg::StateGraph<served::State> graph;
    graph.addNode("a", [](const served::State&) -> sg::Update<served::State> { return {}; });
    graph.addEdge(sg::START, "a").addEdge("a", sg::END);
    return graph.compile(stored());
}

std::string chatOf(const std::string& thread) {
    return R"({"id":")" + thread + R"(","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]})";
}

}  // namespace

TEST_CASE("the hook sees what the server acts on: operation, endpoint, thread, path and address") {
    std::vector<std::string> seen;
    serve::ServerOptions options;
    options.authorize = [&](const serve::RequestView& asked) {
        seen.push_back(std::string(asked.operation()) + " " + std::string(asked.endpoint()) + " " +
                       std::string(asked.thread()) + " " + std::string(asked.path()) + " " +
                       std::string(asked.remote()));
        return 401;
    };
    serve::Server server(options);
    server.add("g", serve::endpoint(oneNode()));
    server.add("a", serve::endpoint(helper(), {.protocols = {serve::uiMessages()}}));
    server.page("/50%", "text/plain", "half");
    server.handle("h", [](const serve::HandlerRequest&) { return serve::HandlerAnswer{}; });
    struct Case {
        std::string method;
        std::string target;
        std::string seen;
        std::string body = {};
    };
    const std::vector<Case> cases = {
        {"POST", "/g/t/start", "start g t /g/t/start"},
        {"POST", "/%67/%74/%73tart?again=1", "start g t /g/t/start"},
        {"POST", "/g/a%2Fb%25/resume", "resume g a/b% /g/a%2Fb%25/resume"},
        {"GET", "/g/t/state", "state g t /g/t/state"},
        {"POST", "/g/t/state", "state g t /g/t/state"},
        {"GET", "/g/schema", "schema g  /g/schema"},
        {"GET", "/a/chat/t/stream", "stream a t /a/chat/t/stream"},
        {"POST", "/a/chat", "chat a mine /a/chat", chatOf("mine")},
        {"POST", "/a/ch%61t", "chat a mine /a/chat", chatOf("mine")},
        {"POST", "/a/chat", "chat a  /a/chat", "{}"},
        {"GET", "/h%2Fx/y", "page   /h%2Fx/y"},
        {"GET", "/%68/x%2Fy", "handler h  /h/x%2Fy"},
        {"GET", "/50%25", "page   /50%25"},
        {"GET", "/health", "health   /health"},
        {"GET", "//g/t/state", "page   //g/t/state"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.target);
        seen.clear();
        client::Connection connection(server.port());
        connection.request(each.method, each.target, each.body);
        CHECK(connection.read().status == 401);
        CHECK(seen == std::vector<std::string>{each.seen + " 127.0.0.1"});
    }
    seen.clear();
    for (const char* const target : {"/./g/t/start", "/g/%2E%2e/state", "/g/../h/x"}) {
        CAPTURE(target);
        CHECK(client::get(server.port(), target).status == 404);
    }
    CHECK(client::get(server.port(), "/g/%zz/state").status == 400);
    CHECK(seen.empty());
}

TEST_CASE("a hook refuses with a status and a reason, and one that gives another status refuses too") {
    serve::ServerOptions options;
    options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
        const std::string_view user = asked.header("X-User");
        if (user.empty()) return {401, "say who you are"};
        if (user == "odd") return 200;
        return serve::Identity{.name = std::string(user)};
    };
    serve::Server server(options);
    const auto refused = client::get(server.port(), "/health");
    CHECK(refused.status == 401);
    CHECK(refused.body == "{\"error\":\"say who you are\"}\n");
    CHECK(client::get(server.port(), "/health", "X-User: odd\r\n").status == 500);
    CHECK(client::get(server.port(), "/health", "X-User: ada\r\n").status == 200);
}

TEST_CASE("a client writes the channels that an endpoint allows: of an agent none, of a graph its input") {
    serve::Server server;
    server.add("agent", serve::endpoint(helper()));
    server.add("open", serve::endpoint(helper(), {.input_channels = {{"messages"}}}));
    server.add("graph", serve::endpoint(oneNode()));
    server.add("closed", serve::endpoint(oneNode(), {.input_channels = std::vector<std::string>{}}));
    const std::string messages = R"({"role":"user","content":[{"type":"text","text":"go"}]})";
    const auto statusOf = [&](const std::string& target, const std::string& input) {
        return client::post(server.port(), target, R"({"input":)" + input + "}").status;
    };
    CHECK(statusOf("/agent/t/start", R"({"messages":[)" + messages + "]}") == 400);
    CHECK(statusOf("/agent/t/start", R"({"steps":-100})") == 400);
    CHECK(client::get(server.port(), "/agent/t/state").status == 404);
    CHECK(client::post(server.port(), "/agent/t/start", R"({"text":"hi"})").status == 200);
    CHECK(statusOf("/open/t/start", R"({"messages":[)" + messages + "]}") == 200);
    CHECK(statusOf("/open/u/start", R"({"messages":[)" + messages + R"(],"steps":-100})") == 400);
    CHECK(statusOf("/graph/t/start", R"({"said":["a"]})") == 200);
    const auto closed = client::post(server.port(), "/closed/t/start", R"({"input":{"said":["a"]}})");
    CHECK(closed.status == 400);
    CHECK(closed.body.find("may not write the channel 'said'") != std::string::npos);
}

TEST_CASE("a thread that has ended begins again only if the client says so, and a conversation goes on") {
    const auto flow = wf::workflow<int>("w").then(wf::step("s", [](const int& n) { return n; })).commit(stored());
    serve::Server server;
    server.add("graph", serve::endpoint(oneNode()));
    server.add("flow", serve::endpoint(flow.flow()));
    server.add("agent", serve::endpoint(helper()));
    for (const std::string start : {"/graph/t/start", "/flow/t/start"}) {
        CAPTURE(start);
        const std::string body = start.starts_with("/graph") ? R"({"input":{"said":["a"]}})" : R"({"input":1})";
        CHECK(client::post(server.port(), start, body).status == 200);
        const auto again = client::post(server.port(), start, body);
        CHECK(again.status == 409);
        CHECK(again.body.find("?again=1") != std::string::npos);
        CHECK(client::post(server.port(), start + "?again=1", body).status == 200);
        CHECK(client::refused(server.port(), start + "?only_new=1", body).status == 409);
    }
    for (int i = 0; i < 2; ++i) CHECK(client::post(server.port(), "/agent/t/start", R"({"text":"hi"})").status == 200);
}

TEST_CASE("clients of a read-only endpoint read, and change nothing") {
    const auto graph = oneNode();
    graph.invoke({sg::add(&served::State::said, std::string("a"))}, {.thread_id = "t"});
    serve::Server server;
    server.add("g", serve::endpoint(graph, {.read_only = true}));
    for (const char* const operation : {"start", "resume", "decide", "cancel"}) {
        CAPTURE(operation);
        const auto refused = client::post(server.port(), std::string("/g/t/") + operation, R"({"input":{}})");
        CHECK(refused.status == 403);
        CHECK(refused.body.find("read-only") != std::string::npos);
    }
    CHECK(client::post(server.port(), "/g/chat", chatOf("t")).status == 403);
    for (const char* const operation : {"state", "history", "events"})
        CHECK(client::get(server.port(), std::string("/g/t/") + operation).status == 200);
}
