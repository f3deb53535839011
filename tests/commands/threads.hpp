#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/support/fixed_ids.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"
#if STATEGRAPH_HAS_ENCRYPTION
#include "tests/support/encryption.hpp"
#endif

// Threads for tests of commands, and what a saver has of them.
namespace commands_test {

namespace sg = stategraph;
using Saver = std::shared_ptr<sg::BaseCheckpointSaver>;

/// Calls `test(saver)` with a saver in memory, one on disk, and one that encrypts.
template <class F>
void onSavers(F test) {
    savers::onEach([&](savers::Store& store) { test(store.open()); });
#if STATEGRAPH_HAS_ENCRYPTION
    INFO("on a saver that encrypts");
    test(Saver(std::make_shared<sg::EncryptedSaver>(std::make_shared<sg::MemorySaver>(), encryption::key("k"))));
#endif
}

/// Everything that a saver has of a thread, by namespace, id and path.
using Rows = std::map<std::string, std::string>;
inline Rows rowsOf(sg::BaseCheckpointSaver& saver, const std::string& thread, bool with_writes = true) {
    Rows rows;
    for (const auto& row : saver.list({.thread_id = thread, .with_writes = with_writes})) {
        const std::string key = row.checkpoint_ns + " " + row.id.toString();
        rows[key] = row.bytes;
        for (const auto& write : row.writes) rows[key + " " + write.path] = write.bytes;
    }
    return rows;
}
inline std::string shown(const std::string& record) { return sg::cborToJson(std::string_view(record).substr(9)); }
inline std::string differences(const Rows& a, const Rows& b) {
    std::string text;
    for (const auto& [key, bytes] : a) {
        if (!b.contains(key)) text += "only in the first: " + key + "\n";
        if (b.contains(key) && b.at(key) != bytes)
            text += "another: " + key + "\n" + shown(bytes) + "\n" + shown(b.at(key)) + "\n";
    }
    for (const auto& [key, bytes] : b) {
        if (!a.contains(key)) text += "only in the second: " + key + "\n";
    }
    return text;
}

/// Returns why the thread is not finished, or "done" if it is.
inline std::string reasonOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    for (const auto& each : saver.unfinishedThreads()) {
        if (each.thread_id == thread) return sg::toString(each.reason);
    }
    return "done";
}

/// Returns a graph whose tasks ask in every way: alone, by keys in a subgraph with two questions, in a subgraph with
/// one, and in two Sends. Another task fails until `mends` is true. Their results meet in "z".
inline graphs::App askingApp(const Saver& saver, const std::shared_ptr<bool>& mends = nullptr) {
    using namespace graphs;
    static Log log;
    Graph inner;
    inner.addNode("deep", asks(log, "deep")).addEdge(sg::START, "deep");
    Graph graph;
    graph.addNode("a", appends("a")).addNode("ask", asks(log, "ask")).addNode("z", appends("z"), {.defer = true});
    Graph pair;
    for (const char* key : {"first", "second"}) {
        pair.addNode(key, [key](const State&, sg::Runtime& rt) {
            return bar(std::string(key) + sg::interrupt<std::string>(rt, key, std::string(key) + "?"));
        });
        pair.addEdge(sg::START, key);
    }
    graph.addNode("two", pair.compile());
    graph.addNode("sub", inner.compile());
    graph.addNode("sent", [](const std::string& payload, sg::Runtime& rt) -> Update {
        return bar(payload + sg::interrupt<std::string>(rt, payload + "?"));
    });
    graph.addEdge(sg::START, "a");
    for (const char* node : {"ask", "two", "sub"}) graph.addEdge("a", node).addEdge(node, "z");
    graph.addEdge("sent", "z");
    graph.addConditionalEdges("a",
                              [](const State&) {
                                  return std::vector<sg::Send>{{"sent", std::string("p")}, {"sent", std::string("q")}};
                              },
                              {"sent"});
    if (mends) {
        graph.addNode("fails", [mends](const State&) -> Update {
            if (!*mends) throw std::runtime_error("it is broken");
            return bar("mended");
        });
        graph.addEdge("a", "fails").addEdge("fails", "z");
    }
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

}  // namespace commands_test
