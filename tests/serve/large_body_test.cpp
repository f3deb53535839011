#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>

#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/serve/served_state.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
namespace serve = stategraph::serve;

// It is not in an unnamed namespace, because the coroutines of the server's templates have external names.
namespace large_body {

using served::State;

inline sg::CompiledGraph<State> quick() {
    sg::StateGraph<State> graph;
    graph.addNode("say", [](const State&) -> sg::Update<State> { return {}; });
    graph.addEdge(sg::START, "say").addEdge("say", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

/// Reads a request only when the test permits it.
class Slow final : public serve::GraphEndpoint<State> {
public:
    explicit Slow(gates::Gate& gate) : GraphEndpoint(quick(), {}), gate_(gate) {}
    serve::Begin prepare(serve::Operation operation, const sg::ThreadId& thread, const sg::Value& body) override {
        is_reading = true;
        gate_.wait();
        return GraphEndpoint::prepare(operation, thread, body);
    }
    std::atomic<bool> is_reading = false;

private:
    gates::Gate& gate_;
};

}  // namespace large_body

TEST_CASE("while a large body is read, other clients of the same thread are answered") {
    gates::Gate gate;
    const auto slow = std::make_shared<large_body::Slow>(gate);
    serve::Server server({.threads = 1});
    server.add("slow", slow);
    client::Connection large(server.port());
    large.request("POST", "/slow/t/start", R"({"input":{"said":[")" + std::string(100'000, 'x') + R"("]}})");
    patience::until([&] { return slow->is_reading.load(); });
    CHECK(client::get(server.port(), "/health").status == 200);
    CHECK(client::get(server.port(), "/slow/t/state").status == 404);
    gate.open();
    CHECK(large.read().status == 200);
    CHECK(client::get(server.port(), "/slow/t/state").status == 200);
    // What is wrong with a large body is told as for a small one.
    CHECK(client::post(server.port(), "/slow/u/start", "[" + std::string(100'000, ' ')).status == 400);
    CHECK(client::post(server.port(), "/slow/chat", "[" + std::string(100'000, ' ')).status == 400);
    CHECK(client::post(server.port(), "/slow/t/start", R"({"input":{"said":[")" + std::string(100'000, 'x') + R"("]}})")
              .status == 409);
}

TEST_CASE("a server that is stopped while it reads a large body ends when that is read") {
    gates::Gate gate;
    const auto slow = std::make_shared<large_body::Slow>(gate);
    auto server = std::make_unique<serve::Server>(serve::ServerOptions{.threads = 1});
    server->add("slow", slow);
    client::Connection large(server->port());
    large.request("POST", "/slow/t/start", R"({"input":{"said":[")" + std::string(100'000, 'x') + R"("]}})");
    patience::until([&] { return slow->is_reading.load(); });
    server->stop();
    server->wait();
    gate.open();
    server.reset();
    CHECK(patience::eventually([&] { return slow.use_count() == 1; }));
}
