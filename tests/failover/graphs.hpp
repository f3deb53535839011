#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/postgres_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/failover/journal.hpp"

// What the processes of a failover test run and store.
namespace failover {

namespace sg = stategraph;

/// A thread takes numbers. For each number, workers have one effect and add three entries: number * 10 + 1 to 3.
struct Work {
    std::int64_t number = 0;
    int step = 0;
    std::vector<std::int64_t> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("number", &Work::number), sg::channel("step", &Work::step),
                            sg::channel("log", &Work::log, sg::append));
    }
};
inline constexpr int steps_each = 3;

/// Three supersteps. The first one has an effect, which is looked for in the journal if its end is not known.
inline sg::CompiledGraph<Work> workGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver, const Journal& effects,
                                         std::string what) {
    sg::StateGraph<Work> graph;
    graph.addNode("step", [&effects, what](const Work& state, sg::Runtime& runtime) -> sg::Update<Work> {
        const std::string thread(runtime.threadId());
        if (state.step == 0) {
            runtime.once(
                "effect " + std::to_string(state.number), [&] { effects.note(what, thread, state.number); },
                [&] {
                    for (const Line& line : Journal::read(effects.path())) {
                        if (line.what == what && line.thread == thread && line.number == state.number) return true;
                    }
                    return false;
                });
        }
        effects.note(what + "-node", thread, state.number * 10 + state.step + 1);
        return {sg::set<&Work::step>(state.step + 1), sg::add<&Work::log>(state.number * 10 + state.step + 1)};
    });
    graph.addEdge(sg::START, "step").addConditionalEdges("step", [](const Work& state) {
        return state.step < steps_each ? "step" : sg::END;
    });
    return graph.compile({.checkpointer = std::move(saver)});
}

/// One superstep, which adds the number.
inline sg::CompiledGraph<Work> noteGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Work> graph;
    graph.addNode("note", [](const Work& state) -> sg::Update<Work> { return {sg::add<&Work::log>(state.number)}; });
    graph.addEdge(sg::START, "note").addEdge("note", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// Limits of time for servers that come and go: a statement that gets no answer is abandoned after 4 s, and a call
/// waits up to a minute for a new primary.
inline sg::PostgresSaverOptions saverOptions() {
    return {.statement_timeout = std::chrono::seconds(2), .reconnect_for = std::chrono::minutes(1)};
}

}  // namespace failover
