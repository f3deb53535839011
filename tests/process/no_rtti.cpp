// OPTIONS: -fno-rtti
// NOT WITH: sanitize
// A user's program without RTTI receives what its nodes and routers throw like any other program.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace {

struct State {
    int n = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("n", &State::n), sg::channel("log", &State::log, sg::append));
    }
};
using Writes = sg::Update<State>;

struct Mine : sg::Error {
    Mine() : sg::Error(sg::Errc::invalid_argument, "mine") {}
};

void fail(int kind) {
    if (kind == 1) throw std::runtime_error("std");
    if (kind == 2) throw Mine();
    if (kind == 3) throw 5;
}

std::string run(const sg::CompiledGraph<State>& app, int kind) {
    try {
        return "n " +
               std::to_string(app.invoke({sg::set(&State::n, kind)}, {.thread_id = std::to_string(kind)}).values.n);
    } catch (const sg::NodeError& error) {
        return "NodeError " + error.reason() + " " + std::to_string(error.others().size());
    } catch (const sg::Error& error) {
        return "Error " + error.message();
    } catch (...) {
        return "?";
    }
}

}  // namespace

int main() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State& state) -> Writes {
        fail(state.n);
        return {sg::set(&State::n, 9)};
    });
    graph.addNode("b", [](const State& state) -> Writes {
        fail(state.n);
        return {sg::add(&State::log, "b")};
    });
    graph.addConditionalEdges("b", [](const State& state) -> std::string {
        if (state.n == 4) throw Mine();
        return sg::END;
    });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge("a", sg::END);
    const auto app =
        graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>(), .on_failure = sg::FailurePolicy::collect});
    const std::vector<std::string> expected{"n 9", "NodeError std 1", "NodeError mine 1",
                                            "NodeError unknown exception 1", "Error mine"};
    bool good = true;
    for (int kind = 0; kind < 5; ++kind) {
        const std::string got = run(app, kind);
        if (got == expected[static_cast<std::size_t>(kind)]) continue;
        std::printf("%d: '%s' instead of '%s'\n", kind, got.c_str(), expected[static_cast<std::size_t>(kind)].c_str());
        good = false;
    }
    return good ? 0 : 1;
}
