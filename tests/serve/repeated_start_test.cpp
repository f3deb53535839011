#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"

// Clients that repeat a request, as they do when they did not get the answer.
using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

sg::CompiledGraph<served::State> answering() {
    sg::StateGraph<served::State> graph;
    graph.addNode("answer", [](const served::State&) { return sg::add<&served::State::said>("answered"); });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

}  // namespace

TEST_CASE("a start that is repeated begins one run if the client or the endpoint says that the thread is new") {
    serve::Server server;
    server.add("any", serve::endpoint(answering()));
    server.add("new", serve::endpoint(answering(), {.config = {.only_new = true}}));
    const auto port = server.port();
    const std::string body = R"({"input":{"said":["hello"]}})";
    const auto said = [&](const std::string& name) {
        const json::value state = json::parse(client::get(port, "/" + name + "/t1/state").body);
        return state.at("values").at("said").as_array().size();
    };
    for (const std::string target : {"/any/t1/start?only_new=1", "/new/t1/start"}) {
        CAPTURE(target);
        CHECK(client::post(port, target, body).status == 200);
        const auto again = client::refused(port, target, body);
        CHECK(again.status == 409);
        CHECK(again.body.find("has been begun before") != std::string::npos);
    }
    CHECK(said("any") == 2);
    CHECK(said("new") == 2);
    CHECK(client::post(port, "/any/t1/start?again=1", body).status == 200);  // it continues the thread
    CHECK(said("any") == 4);
    CHECK(client::post(port, "/new/t1/resume", "{}").status == 200);
}

TEST_CASE("a message for a new conversation begins one, and is refused when it comes again") {
    serve::Server server;
    const auto answer = [](const model::Request&) { return model::assistant("Hello."); };
    server.add("a", serve::endpoint(agent::Agent({.model = model::scripted(answer), .compile = stored()})));
    for (const std::string id : {"", R"(,"message_id":"m1")"}) {
        const std::string body = R"({"text":"first")" + id + "}";
        const std::string target = id.empty() ? "/a/t1/start?only_new=1" : "/a/t2/start?only_new=1";
        CAPTURE(body);
        CHECK(client::post(server.port(), target, body).status == 200);
        CHECK(client::refused(server.port(), target, body).status == 409);
    }
}
