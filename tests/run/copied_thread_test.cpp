#include <doctest/doctest.h>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// After a copy, the copied thread and its original are independent.
using namespace graphs;

TEST_CASE("tasks of a copied thread have the original's ids and idempotency keys of their own") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Strings keys;
        std::vector<sg::TaskId> ids;
        Graph graph;
        graph.addNode("first", [](const State&, sg::Runtime& rt) -> Update {
            return bar(rt.once("paid", [&] { return "by " + std::string(rt.threadId()); }));
        });
        graph.addNode("pay", [&](const State&, sg::Runtime& rt) -> Update {
            keys.push_back(rt.idempotencyKey("charge"));
            ids.push_back(rt.taskId());
            return bar(rt.once("charge", [&] { return "by " + std::string(rt.threadId()); }));
        });
        graph.addEdge(sg::START, "first").addEdge("first", "pay");
        const App app = graph.compile({.checkpointer = saver, .interrupt_before = {"pay"}});
        app.invoke(Update{}, {.thread_id = "one"});
        saver->copyThread("one", "two");
        CHECK(app.invoke(sg::RESUME, {.thread_id = "one"}).values.bar == Strings{"by one", "by one"});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "two"}).values.bar == Strings{"by one", "by two"});
        REQUIRE(keys.size() == 2);
        CHECK(ids[0] == ids[1]);
        CHECK(keys[0] != keys[1]);
    });
}
