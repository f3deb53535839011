#pragma once
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

// Graphs whose threads the tests of history read, edit and replay, and queries on snapshots for those tests.
namespace history {

namespace sg = stategraph;

/// A state with one list, as in the examples of the model.
struct Line {
    std::vector<std::string> v = {};
    static constexpr auto channels() { return sg::channels(sg::channel("v", &Line::v, sg::append)); }
};
using Words = std::vector<std::string>;
using LineGraph = sg::StateGraph<Line>;
using LineApp = sg::CompiledGraph<Line>;

inline sg::Update<Line> says(std::string word) { return {sg::add(&Line::v, std::move(word))}; }

/// A node that appends a given word.
inline auto saying(std::string word) {
    return [word](const Line&) -> sg::Update<Line> { return says(word); };
}

/// A node that asks "q" with its name appended, and appends "name:answer".
inline auto asking(std::string name) {
    return [name](const Line&, sg::Runtime& runtime) -> sg::Update<Line> {
        return says(name + ":" + sg::interrupt<std::string>(runtime, "q" + name));
    };
}

/// START → each of the names in turn → END, where each node appends its name.
inline LineGraph chainOf(const Words& names) {
    LineGraph graph;
    std::string from = sg::START;
    for (const auto& name : names) {
        graph.addNode(name, saying(name)).addEdge(from, name);
        from = name;
    }
    graph.addEdge(from, sg::END);
    return graph;
}

/// START → all names at once, then plain edges to "z".
inline LineGraph fanOf(const Words& names) {
    LineGraph graph;
    for (const auto& name : names) graph.addNode(name, saying(name)).addEdge(sg::START, name).addEdge(name, "z");
    return graph.addNode("z", saying("z"));
}

/// How long the log of a subgraph lives, in words and as it is compiled.
inline std::vector<std::pair<const char*, sg::Checkpointer>> lifetimes() {
    return {{"of a task", {}},
            {"of the thread", sg::PER_THREAD},
            {"with a key", sg::perThread([](const Line&) { return std::string("key"); })}};
}

/// All snapshots of a thread, newest first.
template <class S, class In, class Out>
std::vector<sg::StateSnapshot<S>> historyOf(const sg::CompiledGraph<S, In, Out>& app, const sg::Config& config,
                                            const sg::HistoryOptions& options = {}) {
    std::vector<sg::StateSnapshot<S>> snapshots;
    for (const auto& snapshot : app.getStateHistory(config, options)) snapshots.push_back(snapshot);
    return snapshots;
}

/// All snapshots of a thread, oldest first.
template <class S, class In, class Out>
std::vector<sg::StateSnapshot<S>> pastOf(const sg::CompiledGraph<S, In, Out>& app, const sg::Config& config) {
    auto snapshots = historyOf(app, config);
    return {snapshots.rbegin(), snapshots.rend()};
}

template <class S>
std::vector<std::int64_t> stepsOf(const std::vector<sg::StateSnapshot<S>>& snapshots) {
    std::vector<std::int64_t> steps;
    for (const auto& snapshot : snapshots) steps.push_back(snapshot.step);
    return steps;
}

/// "fork", "loop", …
template <class S>
Words sourcesOf(const std::vector<sg::StateSnapshot<S>>& snapshots) {
    Words sources;
    for (const auto& snapshot : snapshots) sources.push_back(sg::toString(snapshot.source));
    return sources;
}

/// The task of a node; the test fails if there is none.
inline const sg::TaskSnapshot& taskOf(const sg::SnapshotData& snapshot, const std::string& name) {
    for (const auto& task : snapshot.tasks) {
        if (task.name == name) return task;
    }
    FAIL("no task of node ", name);
    throw 0;
}

/// The message of the E that `call` throws; the test fails if it throws nothing or another exception.
template <class E, class F>
std::string errorOf(F call) {
    try {
        (void)call();
    } catch (const E& error) {
        return error.what();
    } catch (const std::exception& other) {
        FAIL_CHECK("another error: ", std::string(other.what()));
        return {};
    }
    FAIL_CHECK("no error");
    return {};
}

/// Whether a text contains all parts, in any order.
inline bool mentions(const std::string& text, const Words& parts) {
    for (const auto& part : parts) {
        if (text.find(part) != std::string::npos) continue;
        MESSAGE("no '", part, "' in: ", text);
        return false;
    }
    return true;
}

}  // namespace history
