#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/until.hpp"

// Runs that take long: their clients hang up, or are told that the response is alive.
namespace sg = stategraph;
namespace serve = stategraph::serve;
using namespace std::chrono_literals;
using patience::eventually;

namespace {

using served::State;

/// A graph whose only node runs until it is stopped. A run that is stopped before its node has begun does not begin it.
sg::CompiledGraph<State> endless(std::atomic<int>& begun, std::atomic<int>& stopped) {
    sg::StateGraph<State> graph;
    graph.addNode("wait", [&](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        ++begun;
        try {
            runtime.waitFor(10min);
        } catch (const sg::CancelledError&) {
            ++stopped;
            throw;
        }
        return {};
    });
    graph.addEdge(sg::START, "wait").addEdge("wait", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

}  // namespace

TEST_CASE("a client that hangs up stops its run where that was said, and leaves it alone elsewhere") {
    for (const bool cancels : {true, false}) {
        CAPTURE(cancels);
        std::atomic<int> begun = 0, stopped = 0;
        {
            serve::Server server;
            server.add("wait", serve::endpoint(endless(begun, stopped), {.disconnect_cancels = cancels}));
            client::Connection connection(server.port());
            connection.request("POST", "/wait/t/start", R"({"input":{"said":["a"]}})");
            CHECK(connection.head().status == 200);
            CHECK(server.runs() == 1);
            CHECK(eventually([&] { return begun == 1; }));
            connection.close();
            if (cancels) {
                CHECK(eventually([&] { return server.runs() == 0; }));
                CHECK(eventually([&] { return stopped == 1; }));
            } else {
                CHECK(eventually([&] { return server.connections() == 0; }));
                CHECK(server.runs() == 1);
                CHECK(client::post(server.port(), "/wait/t/start", R"({"input":{"said":["b"]}})").status == 409);
                client::Connection again(server.port());
                again.request("GET", "/wait/t/events");
                CHECK(client::post(server.port(), "/wait/t/cancel", "").status == 200);
                CHECK(again.read().status == 200);
                CHECK(eventually([&] { return server.runs() == 0; }));
            }
        }
        CHECK(eventually([&] { return stopped == 1; }));
    }
}

TEST_CASE("a silent response says that it is alive") {
    std::atomic<int> begun = 0, stopped = 0;
    serve::ServerOptions options;
    options.heartbeat = 20ms;
    serve::Server server(options);
    server.add("wait", serve::endpoint(endless(begun, stopped), {.disconnect_cancels = true}));
    client::Connection connection(server.port());
    connection.request("POST", "/wait/t/start", R"({"input":{"said":["a"]}})", "Accept: text/event-stream\r\n");
    connection.head();
    std::string seen;
    while (seen.find(": \n\n") == std::string::npos) seen += connection.chunk();
    CHECK(eventually([&] { return begun == 1; }));
    connection.close();
    CHECK(eventually([&] { return stopped == 1; }));
}
