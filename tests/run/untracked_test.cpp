#include <functional>
#include <memory>
#include <mutex>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/savers.hpp"

// Untracked channels whose values cannot be stored, such as a lock, a function, or a list of them.
namespace sg = stategraph;
using sg::Status;

namespace {

/// A type without a codec.
struct Socket {
    int number = 0;
    bool operator==(const Socket&) const = default;
};

struct Desk {
    std::shared_ptr<std::mutex> lock = {};
    std::function<int(int)> twice = {};
    std::vector<Socket> sockets = {};
    int sum = 0;

    static constexpr auto channels() {
        return sg::channels(
            sg::channel("lock", &Desk::lock, sg::untracked), sg::channel("twice", &Desk::twice, sg::untracked),
            sg::channel("sockets", &Desk::sockets, sg::untracked), sg::channel("sum", &Desk::sum, sg::sum));
    }
};
using DeskGraph = sg::StateGraph<Desk>;
using DeskUpdate = sg::Update<Desk>;

DeskUpdate equipped() {
    return {sg::set(&Desk::lock, std::make_shared<std::mutex>()), sg::set(&Desk::twice, [](int n) { return 2 * n; }),
            sg::set(&Desk::sockets, {{7}, {8}})};
}

// START → use, which adds with the function from the input; three at once, then a last one.
DeskGraph usingThem() {
    DeskGraph graph;
    const auto use = [](const Desk& desk) -> DeskUpdate {
        if (!desk.lock || !desk.twice) return {sg::add(&Desk::sum, 1000)};
        const std::lock_guard lock(*desk.lock);
        return {sg::add(&Desk::sum, desk.twice(static_cast<int>(desk.sockets.size())))};
    };
    for (const char* name : {"a", "b", "c"}) graph.addNode(name, use).addEdge(sg::START, name);
    graph.addNode("z", use).addEdge({"a", "b", "c"}, "z");
    return graph;
}

}  // namespace

TEST_CASE(
    "untracked channels hold what cannot be stored, in every driver and with every saver, and it is never stored") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = usingThem().compile({.checkpointer = saver});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto outcome = driver.run(app, equipped(), {.thread_id = driver.name});
            REQUIRE(outcome.what() == "");
            CHECK(app.getState({.thread_id = driver.name}).values.sum == 16);
        }
        for (const auto& row : saver->list({.with_writes = true})) {
            CHECK(row.bytes.view().find("sockets") == std::string::npos);
            CHECK(row.bytes.view().find("twice") == std::string::npos);
        }
    });
}

TEST_CASE("it is there until the run ends, gone after that, and a new one can be brought") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = usingThem().compile({.checkpointer = saver, .interrupt_before = {"z"}});
    CHECK((app.invoke(equipped(), {.thread_id = "t"}).status == Status::breakpoint));
    CHECK(app.getState({.thread_id = "t"}).values.lock == nullptr);
    const auto without = app.invoke(sg::RESUME, {.thread_id = "t"});
    CHECK(without.values.sum == 12 + 1000);
    CHECK_FALSE(without.values.twice);
    const auto kept = usingThem().compile().invoke(equipped());
    CHECK(kept.values.lock != nullptr);
    CHECK(kept.values.sockets == std::vector<Socket>{{7}, {8}});
}

TEST_CASE("events, snapshots and updates show null for it") {
    const auto app = usingThem().compile();
    std::vector<std::string> seen;
    app.stream(equipped(), {}, {.modes = {sg::StreamMode::values, sg::StreamMode::debug}},
               [&](const sg::StreamEvent& event) {
                   if (event.mode == sg::StreamMode::values) seen.push_back(event.data.toJson());
               });
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.back().find("\"lock\":null") != std::string::npos);
    CHECK(seen.back().find("\"sum\":16") != std::string::npos);
}

TEST_CASE("subgraphs share it, Sends carry a state without it, and a cached node is distinguished by the rest") {
    DeskGraph inner;
    int calls = 0;
    inner.addNode("in", [&calls](const Desk& desk) -> DeskUpdate {
        ++calls;
        return {sg::add(&Desk::sum, desk.twice ? desk.twice(1) : 500), sg::set(&Desk::sockets, {{9}})};
    });
    inner.addEdge(sg::START, "in");
    DeskGraph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub").addEdge("sub", "after");
    graph.addNode("after",
                  [](const Desk& desk) -> DeskUpdate { return {sg::add(&Desk::sum, desk.sockets.front().number)}; });
    CHECK(graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()})
              .invoke(equipped(), {.thread_id = "t"})
              .values.sum == 2 + 9);

    DeskGraph cached;
    cached
        .addNode("n", [&calls](const Desk&) -> DeskUpdate { return {sg::add(&Desk::sum, ++calls)}; },
                 {.cache = {.ttl = std::chrono::milliseconds(60'000)}})
        .addEdge(sg::START, "n");
    const auto app = cached.compile({.cache = std::make_shared<sg::MemoryCache>()});
    const int first = app.invoke(equipped()).values.sum;
    CHECK(app.invoke(equipped()).values.sum == first);
    CHECK(app.invoke({sg::add(&Desk::sum, 1)}).values.sum != first);
}

TEST_CASE("an edit and a clear reach it like other channels") {
    DeskGraph graph;
    graph.addNode("a", [](const Desk&) -> DeskUpdate {
        return {sg::clear(&Desk::twice), sg::overwrite(&Desk::sockets, {{1}, {2}, {3}})};
    });
    graph.addNode("b", [](const Desk& desk) -> DeskUpdate {
        return {sg::add(&Desk::sum, desk.twice ? 0 : static_cast<int>(desk.sockets.size()))};
    });
    graph.addSequence("c", [](const Desk&) -> DeskUpdate { return {}; })
        .addEdge(sg::START, "a")
        .addEdge("a", "b")
        .addEdge("b", "c");
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = graph.compile({.checkpointer = saver});
    CHECK(app.invoke(equipped(), {.thread_id = "t"}).values.sum == 3);
    app.updateState({.thread_id = "t"}, equipped(), {.as_node = "b"});
    CHECK(app.getState({.thread_id = "t"}).values.sum == 3);
    CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == Status::done));
}
