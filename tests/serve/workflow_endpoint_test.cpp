#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/serve/client.hpp"

namespace sg = stategraph;
namespace wf = stategraph::workflow;
namespace serve = stategraph::serve;
namespace json = boost::json;

TEST_CASE("a workflow is started, asked, answered once, looked at and cancelled over HTTP") {
    const auto ask = wf::step("ask", [](const int& n, wf::Suspending<std::string, int>& context) {
        return n + context.suspend("how much?");
    });
    const auto inc = wf::step("inc", [](const int& n) { return n + 1; });
    const auto flow =
        wf::workflow<int>("sum").then(inc).then(ask).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    serve::Server server;
    server.add("sum", serve::endpoint(flow.flow()));
    const auto port = server.port();

    const auto asked = client::post(port, "/sum/r1/start", R"({"input":1})");
    CHECK(asked.status == 200);
    CHECK(asked.body.find("\"end\"") != std::string::npos);
    CHECK(json::parse(client::get(port, "/sum/r1/state").body).at("status") == "suspended");
    CHECK(client::refused(port, "/sum/r1/resume", R"({"data":"many"})").status == 400);
    CHECK(client::refused(port, "/sum/r1/resume", R"({"data":5,"step":"other"})").status == 400);
    CHECK(client::post(port, "/sum/r1/resume", R"({"data":5,"step":"ask"})").status == 200);
    CHECK(client::refused(port, "/sum/r1/resume", R"({"data":5})").status == 400);
    CHECK(client::post(port, "/sum/r1/resume", "{}").status == 409);
    CHECK(json::parse(client::get(port, "/sum/r1/state").body).at("result") == 7);
    CHECK(json::parse(client::get(port, "/sum/r1/history?limit=2").body).as_array().size() == 2);

    client::post(port, "/sum/r2/start", R"({"input":1})");
    CHECK(client::post(port, "/sum/r2/cancel", "").status == 200);
    CHECK(json::parse(client::get(port, "/sum/r2/state").body).at("status") == "canceled");
    CHECK(client::refused(port, "/sum/r3/start", R"({"input":"text"})").status == 400);
    CHECK(client::refused(port, "/sum/r1/start?only_new=1", R"({"input":1})").status == 409);
    CHECK(client::post(port, "/sum/r4/start?only_new=1", R"({"input":1})").status == 200);
    CHECK(client::refused(port, "/sum/r4/start?only_new=1", R"({"input":1})").status == 409);
    CHECK(client::post(port, "/sum/r3/decide", R"({"call_id":"x"})").status == 409);
}

TEST_CASE("a cancel of a run that was requested and has not begun yet is not lost") {
    for (const bool is_canceled_before : {false, true}) {
        std::function<void()> meanwhile;
        std::atomic<int> executed = 0;
        const auto inc = wf::step("inc", [&](const int& n) {
            ++executed;
            return n + 1;
        });
        const auto ask = wf::step("ask", [](const int& n, wf::Suspending<std::string, int>& context) {
            return n + context.suspend("how much?");
        });
        wf::Definition definition{.id = "w", .entries = {{.steps = {inc.step}}, {.steps = {ask.step}}}};
        definition.input = [&](sg::Value value) {  // called when the run is known to the server, before it begins
            if (const auto once = std::exchange(meanwhile, {})) once();
            return value;
        };
        serve::Server server;
        server.add("w", serve::endpoint(wf::Flow(definition, {.checkpointer = std::make_shared<sg::MemorySaver>()})));
        const auto port = server.port();
        if (is_canceled_before) {
            client::post(port, "/w/r/start", R"({"input":1})");
            client::post(port, "/w/r/cancel", "");
            REQUIRE(json::parse(client::get(port, "/w/r/state").body).at("status") == "canceled");
        }
        executed = 0;
        meanwhile = [&] {
            const auto answer = client::post(port, "/w/r/cancel", "");
            CHECK(answer.status == 200);
            CHECK(answer.body.find("run") != std::string::npos);
        };
        client::post(port, "/w/r/start", R"({"input":1})");
        CHECK(executed == 0);
        const auto status = json::parse(client::get(port, "/w/r/state").body).at("status");
        CHECK((status == "canceled" || status == "pending"));
    }
}
