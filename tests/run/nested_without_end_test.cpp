#include <pthread.h>

#include <memory>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/graphs.hpp"

// Blocking runs that are nested in each other until the stack has no room.
using namespace graphs;

namespace {

/// A graph whose node begins another run, `depth` times.
struct Recursion {
    int depth = 0;
    int begun = 0;
    std::optional<App> app = {};

    template <class F>
    explicit Recursion(F again) {
        Graph graph;
        graph.addNode("again", [this, again](const State&, sg::Runtime& runtime) -> Update {
            if (begun++ < depth) again(*this, runtime);
            return bar("done");
        });
        graph.addEdge(sg::START, "again");
        app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    }
};

/// A leaf inside as many subgraphs.
App nested(int depth) {
    Graph innermost;
    innermost.addNode("leaf", [](const State&) { return bar("leaf"); });
    innermost.addEdge(sg::START, "leaf");
    App app = innermost.compile();
    for (int i = 0; i < depth; ++i) {
        Graph graph;
        graph.addNode("inner", app).addEdge(sg::START, "inner");
        app = graph.compile();
    }
    Graph root;
    root.addNode("inner", app).addEdge(sg::START, "inner");
    return root.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

constexpr int deep = 100;
constexpr int without_end = 1'000'000;

/// Runs the app on a thread with a stack of 2 MiB, and returns the text of its error.
std::string errorOnSmallStack(const App& app) {
    struct Call {
        const App& app;
        std::string error = {};
    } call{app};
    const auto run = [](void* argument) -> void* {
        auto& called = *static_cast<Call*>(argument);
        try {
            called.app.invoke(Update{}, {.thread_id = "t"});
        } catch (const sg::Error& error) {
            called.error = error.what();
        }
        return nullptr;
    };
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, std::size_t(2) << 20U) == 0);
    pthread_t thread{};
    REQUIRE(pthread_create(&thread, &attributes, run, &call) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return call.error;
}

bool saysNoRoom(const std::string& error) { return error.find("has no room for another one") != std::string::npos; }

}  // namespace

TEST_CASE("graphs that nodes call without end are an error, and the thread can be resumed") {
    Recursion recursion([](Recursion& self, sg::Runtime& runtime) { runtime.invoke(*self.app, Update{}, "again"); });
    recursion.depth = without_end;
    CHECK(saysNoRoom(errorOnSmallStack(*recursion.app)));
    CHECK(recursion.begun > 10);
    recursion.depth = 0;
    CHECK(recursion.app->invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"done"});
    recursion.begun = 0;
    recursion.depth = deep;
    CHECK(recursion.app->invoke(Update{}, {.thread_id = "deep"}).values.bar == Strings{"done"});
    CHECK(recursion.begun == deep + 1);
}

TEST_CASE("runs of other threads that nodes begin without end are an error") {
    Recursion recursion([](Recursion& self, sg::Runtime&) {
        self.app->invoke(Update{}, {.thread_id = "t" + std::to_string(self.begun)});
    });
    recursion.depth = without_end;
    CHECK(saysNoRoom(errorOnSmallStack(*recursion.app)));
    CHECK(recursion.begun > 10);
}

TEST_CASE("subgraphs that are nested too deeply for the stack are an error, and a hundred are none") {
    CHECK(nested(deep).invoke(Update{}, {.thread_id = "deep"}).values.bar == Strings{"leaf"});
    CHECK(saysNoRoom(errorOnSmallStack(nested(2'000))));
}
