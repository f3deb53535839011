#pragma once
#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <stategraph/memory_saver.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"
#include "tests/random/graph.hpp"

// An undisturbed run of a random graph, and what it stores.
namespace random_graph {

constexpr int limit = 400;  // supersteps, more than any of these runs needs

struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};
inline void require(bool holds, const std::string& otherwise) {
    if (!holds) throw Wrong(otherwise);
}

/// Keeps only the names of tasks: "a:ID|b:=key" becomes "a|b:=key".
inline std::string withoutIds(const std::string& ns) {
    std::string out;
    for (std::size_t at = 0; at < ns.size();) {
        const std::size_t end = std::min(ns.find('|', at), ns.size());
        const std::string segment = ns.substr(at, end - at);
        const std::size_t colon = segment.find(':');
        const bool has_key = colon != std::string::npos && segment.compare(colon, 2, ":=") == 0;
        if (!out.empty()) out += '|';
        out += has_key ? segment : segment.substr(0, colon);
        at = end + 1;
    }
    return out;
}

/// What a saver holds of a thread, read without types: one line for each checkpoint of each log.
inline std::set<std::string> stored(sg::BaseCheckpointSaver& saver, const std::string& thread, bool with_steps,
                                    bool only_root) {
    std::set<std::string> lines;
    for (const auto& row : saver.list({.thread_id = thread})) {
        if (only_root && !row.checkpoint_ns.empty()) continue;
        const sg::LogName log{row.thread_id, row.checkpoint_ns};
        auto tuple = saver.getTuple({.log = log, .checkpoint_id = row.id});
        require(tuple.has_value(), "a checkpoint that is listed is not there");
        const auto folded = sg::checkpoint::fold(log, std::move(*tuple));
        std::string line = withoutIds(row.checkpoint_ns);
        if (with_steps) line += " " + std::to_string(folded.commit.step);
        for (const auto& channel : folded.channels) {
            const std::string value = sg::cborToJson(sg::checkpoint::materialise(channel.pieces));
            // The initial value of a channel with a reducer, which may be stored before anything is written to the
            // channel.
            if (value != "[]" && value != "{}" && value != "0") line += " " + std::string(channel.name) + "=" + value;
        }
        lines.insert(line);
    }
    return lines;
}

inline std::string answerTo(const sg::Interrupt& question) {
    return "a" + Digest().add(question.value.as<std::string>()).text();
}
inline Update theInput() { return {sg::add(&State::log, "input"), sg::add(&State::sum, 1)}; }

/// An undisturbed run.
struct Undisturbed {
    State end;
    std::size_t touches = 0;
    std::set<std::string> lines;
    std::set<std::string> lines_without_steps;
    std::set<std::string> root;

    Undisturbed(const GraphPlan& plan, int concurrency) {
        const auto world = std::make_shared<World>();
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = build(plan, world, {.checkpointer = saver});
        const sg::RunConfig config{.thread_id = "t",
                                   .durability = sg::Durability::sync,
                                   .recursion_limit = limit,
                                   .max_concurrency = concurrency,
                                   .context = Turn()};
        auto result = app.invoke(theInput(), config);
        for (int calls = 0; result.status == sg::Status::interrupted; ++calls) {
            require(calls < 200, "the undisturbed run asks for ever");
            Command command;
            std::set<std::string> ids;
            for (const auto& question : result.interrupts) {
                if (ids.insert(question.id.toString()).second)
                    command.answers.push_back({question.id, answerTo(question)});
            }
            result = app.invoke(command, config);
        }
        require(result.status == sg::Status::done,
                std::string("the undisturbed run is ") + sg::toString(result.status));
        end = result.values;
        touches = world->touches();
        lines = stored(*saver, "t", true, false);
        lines_without_steps = stored(*saver, "t", false, false);
        root = stored(*saver, "t", true, true);
    }
};

/// Whether a log in it lives with the thread.
inline bool remembers(const GraphPlan& plan) {
    for (const NodePlan& node : plan.nodes) {
        if (node.kind != Kind::subgraph) continue;
        if (node.memory == Memory::per_thread || node.memory == Memory::keyed || remembers(plan.inner[node.inner]))
            return true;
    }
    return false;
}

}  // namespace random_graph
