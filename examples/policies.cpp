// Policies of a node: it is tried again, its results are kept, and another node takes over when it fails for good.
//
//     START ──► translate ──► send ──► END        `translate` is cached: the second run does not ask the service again
//                              ┊
//                              └┄┄► by_hand       `send` is tried three times; then its error handler says where to go
//
// The failure is stored before the handler is called, so a crash in between runs the handler again, and not the node.
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct State {
    std::string text = {};
    std::string customer = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::text>(), sg::channel<&State::customer>(),
                            sg::channel<&State::log>(sg::append));
    }
};

int asked = 0;  // how often the translation service was called

sg::Update<State> translate(const State& state) {
    ++asked;
    return {sg::set<&State::text>("<" + state.text + ">"), sg::add<&State::log>("translated")};
}

sg::Update<State> sendMail(const State& state, sg::Runtime& runtime) {
    if (state.customer == "nobody@example.org") throw std::runtime_error("no such address");
    if (runtime.attempt() == 1) throw std::runtime_error("the server is busy");
    return {sg::add<&State::log>("sent at attempt " + std::to_string(runtime.attempt()))};
}

int main() {
    sg::StateGraph<State> graph;
    graph.setNodeDefaults({.retry = {.max_attempts = 3, .initial_interval = 1ms}});

    // The result depends only on the text, and is valid for a day.
    graph.addNode("translate", translate,
                  {.cache = {.key = [](const State& state) { return state.text; }, .ttl = 24h}});
    graph.addNode("send", sendMail);
    graph.addNode("by_hand", [](const State& state) -> sg::Update<State> {
        return {sg::add<&State::log>("a letter to " + state.customer)};
    });
    graph.addEdge(sg::START, "translate").addEdge("translate", "send");

    const auto onFailedMail = [](const State&, const sg::NodeFailure& failure) -> sg::Command<State> {
        return {.update = {sg::add<&State::log>(failure.node + " failed after " + std::to_string(failure.attempts) +
                                                " attempts: " + failure.error)},
                .go_to = {"by_hand"}};
    };
    graph.onError("send", onFailedMail, {"by_hand"});

    const auto app = graph.compile(
        {.checkpointer = std::make_shared<sg::MemorySaver>(), .cache = std::make_shared<sg::MemoryCache>()});
    const auto print = [](const auto& result) {
        for (const auto& line : result.values.log) std::cout << "  " << line << '\n';
    };

    std::cout << "Ada:\n";
    print(
        app.invoke({sg::set<&State::text>("hello"), sg::set<&State::customer>("ada@example.org")}, {.thread_id = "1"}));
    std::cout << "Nobody:\n";
    print(app.invoke({sg::set<&State::text>("hello"), sg::set<&State::customer>("nobody@example.org")},
                     {.thread_id = "2"}));
    std::cout << "The service was asked " << asked << " time(s).\n";

    app.clearCache({"translate"});
    app.invoke({sg::set<&State::text>("hello"), sg::set<&State::customer>("ada@example.org")}, {.thread_id = "3"});
    std::cout << "After clearCache: " << asked << " time(s).\n";

    // Two nodes of one superstep fail. With `collect`, the error contains both failures.
    sg::StateGraph<State> pair;
    for (const char* name : {"left", "right"}) {
        pair.addNode(name, [name](const State&) -> sg::Update<State> {
            throw std::runtime_error(std::string(name) + " is broken");
        });
        pair.addEdge(sg::START, name);
    }
    try {
        pair.compile({.on_failure = sg::FailurePolicy::collect}).invoke({sg::set<&State::text>("hello")});
    } catch (const sg::NodeError& error) {
        std::cout << error.what() << '\n';
    }
}
