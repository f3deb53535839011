#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/serve/client.hpp"
#include "tests/support/until.hpp"

// A page that reconnects while a chat is about to begin or to be refused.
namespace sg = stategraph;
namespace serve = stategraph::serve;
using namespace std::chrono_literals;

// Not in an unnamed namespace: coroutines that the server's templates instantiate with it have external names.
namespace deciding {

struct State {
    std::vector<std::string> said = {};
    static constexpr auto channels() { return sg::channels(sg::channel("said", &State::said, sg::append)); }
};

void await(const std::atomic<bool>& flag) {
    patience::until([&]() -> bool { return flag; });
}

/// A graph whose run ends when the test permits it.
sg::CompiledGraph<State> speaker(std::shared_ptr<std::atomic<bool>> may_end) {
    sg::StateGraph<State> graph;
    graph.addNode("say", [may_end](const State&) -> sg::Update<State> {
        await(*may_end);
        return {sg::add(&State::said, std::string("yes"))};
    });
    graph.addEdge(sg::START, "say").addEdge("say", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

/// A graph whose runs end when the test permits it, even if they are to stop.
sg::CompiledGraph<State> stubborn(std::shared_ptr<std::atomic<bool>> has_begun,
                                  std::shared_ptr<std::atomic<bool>> may_end) {
    sg::StateGraph<State> graph;
    graph.addNode("say", [has_begun, may_end](const State&) -> sg::Task<sg::Update<State>> {
        *has_begun = true;
        await(*may_end);
        co_return sg::Update<State>{sg::add(&State::said, std::string("yes"))};
    });
    graph.addEdge(sg::START, "say").addEdge("say", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

/// Decides about a chat when the test permits it.
class Deciding final : public serve::GraphEndpoint<State> {
public:
    Deciding(bool refuses, std::shared_ptr<std::atomic<bool>> may_end)
        : GraphEndpoint(speaker(std::move(may_end)), {.protocols = {serve::uiMessages()}}), refuses_(refuses) {}

    serve::Begin prepare(serve::Operation, const sg::ThreadId&, const sg::Value&) override {
        is_asked = true;
        await(may_decide);
        if (refuses_) throw sg::InvalidArgumentError("not now");
        return begin(sg::Update<State>{sg::add(&State::said, std::string("go"))});
    }

    std::atomic<bool> is_asked = false;
    std::atomic<bool> may_decide = false;

private:
    const bool refuses_;
};

}  // namespace deciding

namespace {

struct Answers {
    client::Response chat, page;
};

Answers comeBackBeforeTheDecision(bool refuses) {
    const auto may_end = std::make_shared<std::atomic<bool>>(false);
    const auto endpoint = std::make_shared<deciding::Deciding>(refuses, may_end);
    serve::Server server;
    server.add("a", endpoint);
    client::Connection chat(server.port());
    chat.request("POST", "/a/chat", R"({"id":"t","messages":[{"role":"user","parts":[{"type":"text","text":"go"}]}]})");
    deciding::await(endpoint->is_asked);
    client::Connection page(server.port());
    page.request("GET", "/a/chat/t/stream");
    // sleeps: usually the page asks before the decision; the checks below hold in any case
    std::this_thread::sleep_for(50ms);
    endpoint->may_decide = true;
    Answers answers;
    if (refuses) {
        answers.page = page.read();
    } else {
        answers.page = page.head();
        *may_end = true;
        for (std::string piece = page.chunk(); !piece.empty(); piece = page.chunk()) answers.page.body += piece;
    }
    answers.chat = chat.read();
    return answers;
}

}  // namespace

namespace {

/// Returns whether the run ended within a second of a request that waits for that. The server waits for two.
bool endsSoonAfterRequest() {
    const auto has_begun = std::make_shared<std::atomic<bool>>(false);
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    const std::string go = R"({"input":{"said":["go"]}})";
    serve::Server server;
    server.add("a", serve::endpoint(deciding::stubborn(has_begun, is_over)));
    client::Connection first(server.port());
    first.request("POST", "/a/t/start", go);
    deciding::await(*has_begun);
    CHECK(client::post(server.port(), "/a/t/start", go).status == 409);
    CHECK(client::post(server.port(), "/a/t/cancel", "").status == 200);
    client::Connection next(server.port());
    const auto asked = std::chrono::steady_clock::now();
    next.request("POST", "/a/t/start", go);
    std::this_thread::sleep_for(100ms);  // sleeps: usually the request is there before the run ends
    *is_over = true;
    CHECK(first.read().body.find("cancelled") != std::string::npos);
    const bool is_soon = std::chrono::steady_clock::now() - asked < 1s;
    const client::Response answer = next.read();
    if (answer.status == 409 && !is_soon) return false;
    CHECK(answer.status == 200);
    CHECK(answer.body.find("\"yes\"") != std::string::npos);
    return is_soon;
}

}  // namespace

TEST_CASE("a request for a thread whose run was asked to stop waits until the run has ended") {
    CHECK(patience::eventually(endsSoonAfterRequest));  // a busy machine may take longer
}

TEST_CASE("a page that comes back before a chat is refused gets 204") {
    const Answers answers = comeBackBeforeTheDecision(true);
    CHECK(answers.chat.status == 400);
    CHECK(answers.page.status == 204);
    CHECK(answers.page.body.empty());
}

TEST_CASE("a page that comes back before a chat begins gets the response") {
    const Answers answers = comeBackBeforeTheDecision(false);
    CHECK(answers.chat.status == 200);
    CHECK(answers.page.status == 200);
    CHECK(answers.page.body.find(R"("type":"start")") != std::string::npos);
    CHECK(answers.page.body.find("[DONE]") != std::string::npos);
}
