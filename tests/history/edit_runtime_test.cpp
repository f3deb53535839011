// NOT WITH: sanitize=thread
#include <stategraph/runtime.hpp>

#include <functional>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/stategraph.hpp>

// What a router's Runtime offers if an edit calls the router, without a run.
namespace {

namespace sg = stategraph;
using namespace std::chrono_literals;

struct State {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &State::n)); }
};

/// Edits a thread as node "a", whose router is `ask`.
void editAsked(std::function<void(sg::Runtime&)> ask) {
    bool edits = false;
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State&) -> sg::Update<State> { return {}; })
        .addNode("b", [](const State&) -> sg::Update<State> { return {}; })
        .addEdge(sg::START, "a")
        .addConditionalEdges("a",
                             [&](const State&, sg::Runtime& runtime) {
                                 if (edits) ask(runtime);
                                 return "b";
                             },
                             {"b"});
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke({sg::set(&State::n, 1)}, {.thread_id = "1"});
    edits = true;
    app.updateState({.thread_id = "1"}, {sg::set(&State::n, 2)}, {.as_node = "a"});
    CHECK(app.getState({.thread_id = "1"}).next == std::vector<std::string>{"b"});
}

/// Returns the text of the edit's error.
std::string refusal(std::function<void(sg::Runtime&)> ask) {
    try {
        editAsked(std::move(ask));
    } catch (const sg::Error& error) {
        return error.what();
    }
    return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a router that an edit asks knows its node, and that there is no run") {
    int asked = 0;
    editAsked([&](sg::Runtime& runtime) {
        ++asked;
        CHECK(runtime.node() == "a");
        CHECK(runtime.step() == 0);
        CHECK(runtime.remainingSteps() == 0);
        CHECK(runtime.attempt() == 1);
        CHECK(runtime.taskId() == sg::TaskId());
        CHECK(runtime.threadId().empty());
        CHECK(runtime.checkpointId().empty());
        CHECK(runtime.checkpointNs().empty());
        CHECK(!runtime.stopRequested());
        CHECK(!runtime.drainRequested());
        CHECK(!sg::stopToken(runtime).stop_possible());
        CHECK(!runtime.wantsMessages());
        runtime.write(sg::Value(1));
        runtime.emitMessage(sg::Value(1));
        runtime.heartbeat();
        runtime.waitFor(0ms);
        CHECK(!sg::answerOf<int>(runtime, "key"));
    });
    CHECK(asked == 1);
}

TEST_CASE("what a router needs a run for is refused where an edit asks it, and the error says so") {
    const auto edited = [](const std::string& what) {
        return "a router " + what + " while its node's state is edited";
    };
    CHECK(has(refusal([](sg::Runtime& runtime) { sg::interrupt(runtime, sg::Value("?")); }), edited("cannot ask")));
    CHECK(has(refusal([](sg::Runtime& runtime) { (void)sg::ask<int>(runtime, "key", sg::Value("?")); }),
              edited("cannot ask")));
    CHECK(has(refusal([](sg::Runtime& runtime) { runtime.once("key", [] { return 1; }); }),
              edited("can have no effects")));
    CHECK(has(refusal([](sg::Runtime& runtime) { runtime.sleepUntil(std::chrono::system_clock::now()); }),
              edited("cannot sleep")));
    CHECK(has(refusal([](sg::Runtime& runtime) { (void)runtime.idempotencyKey(); }), edited("has no idempotency key")));
    CHECK(has(refusal([](sg::Runtime& runtime) { (void)runtime.state<State>(); }), "and no run is under way"));
    CHECK(has(refusal([](sg::Runtime& runtime) { (void)runtime.context<int>(); }), "the run was given none"));
    CHECK(has(refusal([](sg::Runtime& runtime) { (void)runtime.store(); }), "the graph has none"));
    CHECK(has(refusal([](sg::Runtime& runtime) { sg::stopForAnswers(runtime); }), "has asked nothing"));
}

}  // namespace
