#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>

#include "tests/support/door.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// A run is refused when somebody else was first, for instance with an answer to a question that it is about to store
// again. What its other tasks have done meanwhile has happened, and is kept.
using namespace graphs;

namespace {

/// Notes when a put of the run was refused.
class Watched final : public Door {
public:
    using Door::Door;
    std::atomic<bool> was_refused{false};

    void put(const sg::PutRequest& request) override {
        try {
            Door::put(request);
        } catch (const sg::ConcurrentUpdateError&) {
            was_refused = true;
            throw;
        }
    }
};

void await(const std::atomic<bool>& flag) {
    while (!flag) std::this_thread::yield();
}

/// What the nodes of both runs do.
struct World {
    Log log;
    std::atomic<bool> is_second{false};
    std::atomic<bool> is_answered{false};
    std::shared_ptr<Watched> watched;
    std::optional<sg::Answer> to_asks;
    bool catches = false;
};

// START → asks, works, which both ask. In the second run "asks" asks again after somebody else has answered it, and
// "works" ends after that was refused.
Graph graphOf(World& world) {
    Graph graph;
    graph.addNode("asks", [&world](const State&, sg::Runtime& runtime) -> Update {
        if (world.is_second) await(world.is_answered);
        return bar(sg::interrupt<std::string>(runtime, "asks?"));
    });
    graph.addNode("works", [&world](const State&, sg::Runtime& runtime) -> Update {
        const auto said = sg::interrupt<std::string>(runtime, "works?");
        if (world.is_second) {
            sg::answer(*world.watched->inner(), {.thread_id = "t"}, {*world.to_asks});
            world.is_answered = true;
            await(world.watched->was_refused);
        }
        if (world.catches) {
            try {
                runtime.once("pay", [] { return 1; });
            } catch (const sg::ConcurrentUpdateError&) {
            }
        }
        world.log.add("works");
        return bar(said);
    });
    graph.addEdge(sg::START, "asks").addEdge(sg::START, "works");
    return graph;
}

sg::Interrupt questionOf(const App& app, const std::string& text) {
    for (const sg::Interrupt& each : app.getState({.thread_id = "t"}).interrupts()) {
        if (each.value == sg::Value(text)) return each;
    }
    FAIL("there is no question " << text);
    return {};
}

// Runs until the second run was refused.
App refused(savers::Store& store, World& world, sg::Durability durability) {
    world.watched = std::make_shared<Watched>(store.open());
    const App app = graphOf(world).compile({.checkpointer = world.watched});
    const sg::RunConfig config{.thread_id = "t", .durability = durability, .max_concurrency = 2};
    CHECK((app.invoke(Update{}, config).status == sg::Status::interrupted));
    const auto works = questionOf(app, "works?");
    world.to_asks.emplace(questionOf(app, "asks?").id, sg::Value("a"));
    world.is_second = true;
    Command command;
    command.answers.push_back({works.id, sg::Value("w")});
    CHECK_THROWS_AS(app.invoke(std::move(command), config), sg::ConcurrentUpdateError);
    world.is_second = false;
    return app;
}

}  // namespace

TEST_CASE("what a task has done beside one that was refused is kept, and is not done again") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::sync, sg::Durability::async}) {
            World world;
            const App app = refused(store, world, durability);
            CHECK(world.log.count("works") == 1);
            CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == sg::Status::done));
            CHECK(world.log.count("works") == 1);
            CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"a", "w"});
            world.watched->deleteThread("t");
        }
    });
}

TEST_CASE("what a task has made of a refusal that it met itself is not kept") {
    savers::onEach([](savers::Store& store) {
        World world;
        world.catches = true;
        const App app = refused(store, world, sg::Durability::sync);
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"asks", "works"});
        CHECK((app.invoke(sg::RESUME, {.thread_id = "t"}).status == sg::Status::done));
        CHECK(world.log.count("works") == 2);
    });
}
