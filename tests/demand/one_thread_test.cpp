#include <atomic>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "tests/support/door.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/savers.hpp"

// Reports of users of checkpointed graph engines, as tests that are named after the ideas: one thread, its writers, its
// past, and what is pruned. docs/reliability.md says where the others are.
using namespace graphs;

namespace {

Graph twoQuestions(Log& log) {
    Graph graph;
    graph.addNode("first", appends(log, "first"))
        .addNode("ask a", asks(log, "a"))
        .addNode("ask b", asks(log, "b"))
        .addNode("side", appends(log, "side"));
    graph.addNode("last", appends(log, "last"));
    graph.addEdge(sg::START, "first");
    for (const char* name : {"ask a", "ask b", "side"}) graph.addEdge("first", name);
    graph.addEdge({"ask a", "ask b", "side"}, "last");
    return graph;
}

std::size_t bytesOf(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    std::size_t bytes = 0;
    for (const auto& row : saver.list({.thread_id = thread, .with_writes = true})) {
        bytes += row.bytes.size() + 16 + thread.size();
        for (const auto& write : row.writes) bytes += write.bytes.size() + write.path.size() + 16 + thread.size();
    }
    return bytes;
}

}  // namespace

TEST_CASE("appends take linear bytes, and less after a prune") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Graph graph;
        graph.addNode("add", [](const State&) -> Update {
            return {sg::add(&State::bar, std::string(200, 'm')), sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, "add").addConditionalEdges("add", [](const State& s) {
            return std::string(s.n < 2000 ? "add" : sg::END);
        });
        const App app = graph.compile({.checkpointer = saver});
        std::vector<std::size_t> sizes;
        for (const int steps : {250, 500, 1000, 2000}) {
            const std::string thread = std::to_string(steps);
            app.invoke({sg::add(&State::n, 2000 - steps)}, {.thread_id = thread, .recursion_limit = 5000});
            sizes.push_back(bytesOf(*saver, thread));
            CHECK(static_cast<double>(sizes.back()) < 1.6 * 200 * steps);
        }
        for (std::size_t i = 1; i < sizes.size(); ++i)
            CHECK(static_cast<double>(sizes[i]) < 2.3 * static_cast<double>(sizes[i - 1]));
        const auto before = saver->storedBytes();
        CHECK(saver->prune({.keep_last = 1}) > 1000);
        CHECK(saver->list({}).size() == sizes.size());
        if (before) CHECK(saver->storedBytes().value() < *before);
        for (const char* thread : {"250", "2000"})
            CHECK(app.getState({.thread_id = thread}).values.bar.size() == std::stoul(thread));
    });
}

TEST_CASE("a prune while two interrupts wait: both can still be answered") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        const App app = twoQuestions(log).compile({.checkpointer = saver});
        const auto asked = app.invoke(Update{}, {.thread_id = "t"});
        REQUIRE(asked.interrupts.size() == 2);
        CHECK(saver->prune({.keep_last = 1}) > 0);
        app.invoke(sg::Command<>{.answers = {{asked.interrupts[1].id, "B"}}}, {.thread_id = "t"});
        saver->prune({.keep_last = 1});
        const auto done = app.invoke(sg::Command<>{.answers = {{asked.interrupts[0].id, "A"}}}, {.thread_id = "t"});
        CHECK((done.status == sg::Status::done));
        CHECK(done.values.bar == Strings{"first", "a:A", "b:B", "side", "last"});
        CHECK(log.count("side") == 1);
    });
}

TEST_CASE("a writer is frozen, another finishes, the first thaws: it is refused, and the chain has one tip") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
            const auto saver = store.open();
            const std::string thread = std::to_string(static_cast<int>(durability));
            std::atomic<bool> freezes{true};
            Signal frozen;
            Signal thaw;
            Graph graph;
            graph.addNode("a", [&](const State&) -> Update {
                if (freezes.exchange(false)) {
                    frozen.give();
                    REQUIRE(thaw.await());
                    return bar("from the frozen one");
                }
                return bar("a");
            });
            graph.addNode("b", appends("b")).addEdge(sg::START, "a").addEdge("a", "b");
            std::atomic<int> refused{0};
            std::thread first([&] {
                try {
                    graph.compile({.checkpointer = saver})
                        .invoke(Update{}, {.thread_id = thread, .durability = durability});
                } catch (const sg::ConcurrentUpdateError&) {
                    ++refused;
                }
            });
            REQUIRE(frozen.await());
            // Another process takes over the thread.
            const App other = graph.compile({.checkpointer = std::make_shared<Door>(saver)});
            const auto done = other.invoke(Update{}, {.thread_id = thread, .durability = durability});
            CHECK(done.values.bar == Strings{"a", "b"});
            thaw.give();
            first.join();
            CHECK(refused == 1);
            CHECK(other.getState({.thread_id = thread}).values.bar == Strings{"a", "b"});
            std::set<sg::CheckpointId> parents;
            std::set<sg::CheckpointId> ids;
            for (const auto& snapshot : other.getStateHistory({.thread_id = thread})) {
                ids.insert(snapshot.config.checkpoint_id);
                if (snapshot.parent_config)
                    CHECK(parents.insert(snapshot.parent_config->checkpoint_id).second);  // nobody has two children
            }
            CHECK(parents.size() + 1 == ids.size());
        }
    });
}

TEST_CASE("one commit is forked a hundred times, each fork writes the same field, and all are read back") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph graph;
        graph.addNode("a", appends(log, "a")).addNode("b", appends(log, "b")).addEdge(sg::START, "a").addEdge("a", "b");
        const App app = graph.compile({.checkpointer = store.open()});
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto past = history::pastOf(app, {.thread_id = "t"});
        std::vector<sg::Config> forks;
        for (int i = 0; i < 100; ++i) {
            const auto fork = app.updateState(past.at(2).config, bar("fork " + std::to_string(i)), {.as_node = "a"});
            forks.push_back(app.invoke(sg::RESUME, fork).config);
        }
        for (int i = 0; i < 100; ++i)
            CHECK(app.getState(forks[static_cast<std::size_t>(i)]).values.bar ==
                  Strings{"i", "a", "fork " + std::to_string(i), "b"});
    });
}

TEST_CASE("an old commit is edited and run again: the original history is bit-identical") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Log log;
        Graph graph;
        graph.addNode("a", appends(log, "a")).addNode("b", appends(log, "b")).addEdge(sg::START, "a").addEdge("a", "b");
        const App app = graph.compile({.checkpointer = saver});
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto before = saver->list({.thread_id = "t", .with_writes = true});
        const auto past = history::pastOf(app, {.thread_id = "t"});
        app.invoke(sg::RESUME, app.updateState(past.at(2).config, bar("edit"), {.as_node = "a"}));
        const auto after = saver->list({.thread_id = "t", .with_writes = true});
        REQUIRE(after.size() > before.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
            const auto& then = before[before.size() - 1 - i];
            const auto& now = after[after.size() - 1 - i];
            CHECK(then.id == now.id);
            CHECK(then.bytes == now.bytes);
            CHECK(then.writes.size() == now.writes.size());
        }
        for (const auto& snapshot : past) CHECK(app.getState(snapshot.config).values == snapshot.values);
    });
}

TEST_CASE("filter keys with quotes, wildcards and operators are names like any other") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph graph;
        graph.addNode("a", appends(log, "a")).addEdge(sg::START, "a");
        const App app = graph.compile({.checkpointer = store.open()});
        const Strings keys{
            "a'b",         "a\"b", "%", "*", "a%' OR '1'='1", "$gt", "a.b", "a\\b", "x; DROP TABLE checkpoints",
            "{\"$ne\":1}", "ä"};
        for (std::size_t i = 0; i < keys.size(); ++i) {
            app.invoke(Update{}, {.thread_id = "t", .metadata = {{keys[i], static_cast<int>(i)}}});
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            CAPTURE(keys[i]);
            const auto found = [&](int value) {
                return history::historyOf(app, {.thread_id = "t"}, {.filter = {{keys[i], value}}}).size();
            };
            CHECK(found(static_cast<int>(i)) == 3);  // input, START, a
            CHECK(found(99) == 0);
        }
        CHECK(history::historyOf(app, {.thread_id = "t"}, {.filter = {{"unknown", 1}}}).empty());
    });
}
