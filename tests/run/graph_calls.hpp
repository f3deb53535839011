#pragma once
#include <doctest/doctest.h>

#include <stategraph/async.hpp>

#include "tests/support/graphs.hpp"

// A graph that is called, and nodes that call it.
namespace graph_calls {

using namespace graphs;
using namespace std::chrono_literals;

/// The graph that is called. It doubles a number in two steps.
struct Work {
    std::string name = {};
    int n = 0;
    int secret = 0;  // not part of its output

    static constexpr auto channels() {
        return sg::channels(sg::channel("name", &Work::name), sg::channel("n", &Work::n),
                            sg::channel("secret", &Work::secret));
    }
};
struct WorkResult {
    std::string name = {};
    int n = 0;

    static constexpr auto channels() {
        return sg::channels(sg::channel("name", &WorkResult::name), sg::channel("n", &WorkResult::n));
    }
};
using WorkApp = sg::CompiledGraph<Work, Work, WorkResult>;

enum class Asks : bool { no, yes };

/// "first" stores the number, "second" adds the answer to its question (1 if it does not ask).
inline WorkApp worker(Log& log, Asks asks, const sg::CompileOptions& options = {}) {
    sg::StateGraph<Work, Work, WorkResult> graph;
    graph.addNode("first", [&log](const Work& work) -> sg::Update<Work> {
        log.add("first " + work.name);
        return {sg::set(&Work::n, work.n * 2), sg::set(&Work::secret, 7)};
    });
    graph.addNode("second", [&log, asks](const Work& work, sg::Runtime& rt) -> sg::Update<Work> {
        const int more = asks == Asks::yes ? sg::interrupt<int>(rt, "more", "how many more for " + work.name + "?") : 1;
        log.add("second " + work.name);
        return {sg::set(&Work::n, work.n + more)};
    });
    graph.addEdge("first", "second");
    graph.addEdge(sg::START, "first");
    return graph.compile(options);
}

inline sg::Update<Work> work(std::string name, int n) {
    return {sg::set(&Work::name, std::move(name)), sg::set(&Work::n, n)};
}

inline std::string text(const WorkResult& result) { return result.name + "=" + std::to_string(result.n); }

/// A graph of one node "n", blocking or a coroutine, which calls `inner` for each name.
inline Graph caller(const WorkApp& inner, Strings names, bool awaited, const sg::NodeOptions& options = {}) {
    Graph graph;
    if (!awaited) {
        graph.addNode(
            "n",
            [inner, names](const State&, sg::Runtime& rt) -> Update {
                Strings results;
                for (const std::string& name : names) results.push_back(text(rt.invoke(inner, work(name, 10), name)));
                return {sg::overwrite(&State::bar, std::move(results))};
            },
            options);
    } else {
        graph.addNode(
            "n",
            [inner, names](const State&, sg::Runtime& rt) -> sg::Task<Update> {
                std::vector<sg::Task<WorkResult>> calls;
                for (const std::string& name : names) calls.push_back(rt.asyncInvoke(inner, work(name, 10), name));
                std::vector<WorkResult> all = co_await sg::whenAll(std::move(calls));
                Strings results;
                for (const WorkResult& each : all) results.push_back(text(each));
                Update update{sg::overwrite(&State::bar, std::move(results))};
                co_return update;
            },
            options);
    }
    graph.addEdge(sg::START, "n");
    return graph;
}

inline Strings keysOf(const std::vector<sg::Interrupt>& interrupts) {
    Strings keys;
    for (const auto& each : interrupts) keys.push_back(each.value.as<std::string>());
    return keys;
}

/// Answers all open questions one after another until the run ends.
template <class S, class Outcome, class Run>
Outcome answerAll(const sg::CompiledGraph<S>& app, Outcome outcome, Run run) {
    for (int i = 0; i < 20 && outcome.status == sg::Status::interrupted; ++i) {
        CHECK(app.getState({.thread_id = outcome.config.thread_id}).interrupts() == outcome.interrupts);
        outcome = run(sg::Command<>{.answers = {{outcome.interrupts.at(0).id, 5}}});
        REQUIRE(outcome.what() == "");
    }
    return outcome;
}

}  // namespace graph_calls
