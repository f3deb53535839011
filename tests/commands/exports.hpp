#pragma once
#include <sstream>

#include <stategraph/export.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/commands/threads.hpp"

// A thread with all kinds of rows, and its lines.
namespace exports {

using namespace graphs;
using namespace commands_test;

// Returns a graph whose thread has all kinds of rows: subgraphs' logs, one with memory and a key, questions, answers,
// an edit, forks.
inline App appOf(const Saver& saver) {
    static Log log;
    Graph inner;
    inner.addNode("deep", asks(log, "deep")).addEdge(sg::START, "deep");
    Graph kept;
    kept.addNode("k\xc3\xa9pt", appends("kept")).addEdge(sg::START, "k\xc3\xa9pt");
    Graph graph;
    graph.addNode("a", appends("a")).addNode("sub", inner.compile()).addNode("z", appends("z"));
    graph.addNode("keyed", kept.compile({.checkpointer = sg::perThread([](const State& state) { return state.foo; })}));
    graph.addEdge(sg::START, "a").addEdge("a", "keyed").addEdge("keyed", "sub").addEdge("sub", "z");
    return graph.compile({.checkpointer = saver});
}
inline void makeThread(const App& app, sg::BaseCheckpointSaver& saver, const std::string& thread) {
    const sg::RunConfig config{.thread_id = thread, .max_concurrency = 1, .metadata = {{"user", "\"Ada\"\n"}}};
    app.invoke({sg::set(&State::foo, "k\"|=\\\xc3\xa9"), sg::add(&State::bar, "i")}, config);
    app.invoke(sg::resume("yes"), config);
    app.updateState({.thread_id = thread}, bar("edit"), {.as_node = "a"});
    app.invoke(sg::RESUME, config);
    sg::fork(saver, {.thread_id = thread});
    app.invoke(sg::RESUME, config);
}

inline std::string exported(sg::BaseCheckpointSaver& saver, const std::string& thread,
                            const sg::ExportOptions& options = {}) {
    std::ostringstream out;
    sg::exportThread(saver, thread, out, options);
    return out.str();
}
inline sg::ThreadRows imported(sg::BaseCheckpointSaver& saver, const std::string& text,
                               const sg::ImportOptions& options = {}) {
    std::istringstream in(text);
    return sg::importThread(saver, in, options);
}
inline Strings linesOf(const std::string& text) {
    Strings lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
inline std::string textOf(const Strings& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}
// Returns the lines of commits and pending writes.
inline Strings rowLinesOf(const std::string& text) {
    Strings lines = linesOf(text);
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("{\"ns"); });
    return lines;
}
// Returns the text without the checksum, so that the rest is checked.
inline std::string withoutSum(std::string text) {
    const std::size_t at = text.find(",\"xxh3\"");
    return at == std::string::npos ? text : text.substr(0, at) + "}\n";
}
inline std::string refusal(const std::string& text) {
    sg::MemorySaver saver;
    std::string why;
    try {
        imported(saver, text);
    } catch (const sg::CorruptCheckpointError& error) {
        why = error.what();
    }
    CHECK(saver.list({}).empty());
    return why;
}

inline const std::string& sample() {
    static const std::string text = [] {
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = askingApp(saver);
        app.invoke(bar("i"), {.thread_id = "t", .max_concurrency = 1});
        return exported(*saver, "t");
    }();
    return text;
}

// Returns the lines of a saver that keeps no descriptions of graphs.
inline std::string sampleWithoutGraphs() {
    sg::testing::FaultSaver saver(std::make_shared<sg::MemorySaver>());
    imported(saver, sample());
    return exported(saver, "t");
}

}  // namespace exports
