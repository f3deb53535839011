#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <stategraph/answer.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// An edit inside a subgraph that waits for answers replaces the tasks that asked: nothing shows their questions as open
// any more, and nothing takes an answer until they have been asked again.
namespace sg = stategraph;
using namespace history;

namespace {

sg::Update<Line> nothing(const Line&) { return {}; }
sg::Update<Line> take(const Line& inner) { return {sg::add(&Line::v, inner.v)}; }

// START → p → one → two, where one and two ask.
LineGraph asksTwice() {
    LineGraph inner;
    inner.addNode("p", saying("p")).addNode("one", asking("one")).addNode("two", asking("two"));
    return inner.addEdge(sg::START, "p").addEdge("p", "one").addEdge("one", "two");
}

// START → sub → z, where sub is this graph.
LineApp around(LineGraph inner, const sg::Checkpointer& inside, const sg::Checkpointer& checkpointer) {
    LineGraph graph;
    graph.addNode("sub", inner.compile({.checkpointer = inside}), nothing, take).addNode("z", saying("z"));
    return graph.addEdge(sg::START, "sub").addEdge("sub", "z").compile({.checkpointer = checkpointer});
}

// The newest checkpoint in the log of the one task that waits at a config.
sg::Config insideOf(const LineApp& app, const sg::Config& config) {
    return app.getState(app.getState(config).tasks.at(0).state_config.value()).config;
}

void checkNothingOpen(const LineApp& app, const SharedSaver& saver, const std::string& thread) {
    const auto state = app.getState({.thread_id = thread}, {.subgraphs = true});
    CHECK(state.interrupts().empty());
    CHECK(state.next == Words{"sub"});
    CHECK(state.tasks.at(0).state->interrupts().empty());
    const auto waiting = saver->unfinishedThreads({.thread_ids = {thread}});
    REQUIRE(waiting.size() == 1);
    CHECK((waiting[0].reason == sg::Status::edited));
    CHECK(waiting[0].interrupts.empty());
    CHECK_THROWS_AS(sg::answer(*saver, {.thread_id = thread}, sg::Value("late")), sg::InvalidArgumentError);
}

// Calls test(app, saver, driver, thread) for logs of all lifetimes, and for all drivers.
template <class F>
void onAll(F test) {
    onBothSavers([&](const SharedSaver& saver) {
        for (const auto& [kind, checkpointer] : lifetimes()) {
            const LineApp app = around(asksTwice(), checkpointer, saver);
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(kind);
                CAPTURE(driver.name);
                test(app, saver, driver, std::string(kind) + " " + driver.name);
            }
        }
    });
}

}  // namespace

TEST_CASE("an edit inside a subgraph that waits closes its question until the thread is resumed") {
    onAll([](const LineApp& app, const SharedSaver& saver, const drivers::Driver& driver, const std::string& thread) {
        const sg::RunConfig t{.thread_id = thread};
        app.invoke({}, t);
        app.updateState(insideOf(app, t), says("edit"));
        checkNothingOpen(app, saver, thread);
        auto result = driver.run(app, sg::resume("early"), t);
        CHECK(result.what().find("resume the thread without an answer (RESUME)") != std::string::npos);

        result = driver.run(app, sg::RESUME, t);
        REQUIRE(result.interrupts.size() == 1);
        CHECK(result.interrupts[0].value == sg::Value("qone"));
        CHECK((driver.run(app, sg::resume("1"), t).status == sg::Status::interrupted));
        result = driver.run(app, sg::resume("2"), t);
        CHECK(result.what() == "");
        CHECK(result.values.v == Words{"p", "edit", "one:1", "two:2", "z"});
    });
}

TEST_CASE("an edit inside in the name of the node that asks makes the next one ask") {
    onAll([](const LineApp& app, const SharedSaver& saver, const drivers::Driver& driver, const std::string& thread) {
        const sg::RunConfig t{.thread_id = thread};
        app.invoke({}, t);
        app.updateState(insideOf(app, t), says("instead"), {.as_node = "one"});
        checkNothingOpen(app, saver, thread);
        const auto result = driver.run(app, sg::RESUME, t);
        REQUIRE(result.interrupts.size() == 1);
        CHECK(result.interrupts[0].value == sg::Value("qtwo"));
        CHECK(driver.run(app, sg::resume("2"), t).values.v == Words{"p", "instead", "two:2", "z"});
    });
}

TEST_CASE("an edit of an earlier checkpoint of the visit closes the question, too") {
    onAll([](const LineApp& app, const SharedSaver& saver, const drivers::Driver& driver, const std::string& thread) {
        const sg::RunConfig t{.thread_id = thread};
        app.invoke({}, t);
        const sg::Config log = app.getState(t).tasks.at(0).state_config.value();
        std::vector<sg::Config> visit;
        for (const auto& snapshot : app.getStateHistory(log)) visit.push_back(snapshot.config);
        REQUIRE(visit.size() == 3);
        app.updateState(visit[1], says("other p"), {.as_node = "p"});
        checkNothingOpen(app, saver, thread);
        REQUIRE(driver.run(app, sg::RESUME, t).interrupts.size() == 1);
        REQUIRE(driver.run(app, sg::resume("1"), t).interrupts.size() == 1);
        CHECK(driver.run(app, sg::resume("2"), t).values.v == Words{"other p", "one:1", "two:2", "z"});
    });
}

TEST_CASE("an edit of an earlier visit leaves the question of the current one open") {
    onAll([](const LineApp& app, const SharedSaver&, const drivers::Driver& driver, const std::string& thread) {
        const sg::RunConfig t{.thread_id = thread};
        app.invoke({}, t);
        const sg::Config earlier = insideOf(app, t);
        app.invoke(sg::resume("a1"), t);
        app.invoke(sg::resume("a2"), t);
        const auto asked = app.invoke({}, t);
        REQUIRE(asked.interrupts.size() == 1);
        app.updateState(earlier, says("edit"));
        CHECK(app.getState(t).interrupts() == asked.interrupts);
        CHECK(driver.run(app, sg::resume("b1"), t).interrupts.size() == 1);
    });
}

TEST_CASE("a question of another subgraph stays open, with the answers it has") {
    onBothSavers([](const SharedSaver& saver) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig t{.thread_id = driver.name};
            LineGraph graph;
            graph.addNode("a", asksTwice().compile(), nothing, take).addNode("b", asksTwice().compile(), nothing, take);
            const LineApp app = graph.addEdge(sg::START, "a").addEdge(sg::START, "b").compile({.checkpointer = saver});
            const auto asked = app.invoke({}, t);
            REQUIRE(asked.interrupts.size() == 2);
            app.updateState(insideOf(app, t), says("edit"));
            const auto left = app.getState(t).interrupts();
            REQUIRE(left.size() == 1);
            CHECK(left[0] == asked.interrupts[1]);
            const auto waiting = saver->unfinishedThreads({.thread_ids = {driver.name}});
            CHECK((waiting.at(0).reason == sg::Status::edited));
            CHECK(waiting.at(0).interrupts == left);
            CHECK(app.recover().empty());

            const auto result = driver.run(app, sg::resume("b1"), t);
            REQUIRE(result.what() == "");
            REQUIRE(result.interrupts.size() == 2);
            CHECK(result.interrupts[0].value == sg::Value("qone"));
            CHECK(result.interrupts[1].value == sg::Value("qtwo"));
        }
    });
}

TEST_CASE("an edit inside the innermost of three graphs closes its question in all of them") {
    onBothSavers([](const SharedSaver& saver) {
        for (const bool lasts : {false, true}) {
            CAPTURE(lasts);
            LineGraph middle;
            middle.addNode(
                "inner",
                asksTwice().compile(lasts ? sg::CompileOptions{.checkpointer = sg::PER_THREAD} : sg::CompileOptions{}),
                nothing, take);
            const LineApp app = around(std::move(middle.addEdge(sg::START, "inner")), {}, saver);
            const sg::RunConfig t{.thread_id = lasts ? "lasts" : "task"};
            app.invoke({}, t);
            const sg::Config in_middle = insideOf(app, t);
            app.updateState(insideOf(app, in_middle), says("edit"));
            checkNothingOpen(app, saver, t.thread_id.toString());
            CHECK(app.getState(in_middle).interrupts().empty());
            REQUIRE(app.invoke(sg::RESUME, t).interrupts.size() == 1);
            REQUIRE(app.invoke(sg::resume("1"), t).interrupts.size() == 1);
            CHECK(app.invoke(sg::resume("2"), t).values.v == Words{"p", "edit", "one:1", "two:2", "z"});

            // An edit of the graph in between replaces the task that contains the one that asks.
            app.invoke({}, t);
            REQUIRE(app.getState(t).interrupts().size() == 1);
            app.updateState(insideOf(app, t), says("instead"), {.as_node = "inner"});
            CHECK(app.getState(t).interrupts().empty());
            CHECK(app.invoke(sg::RESUME, t).values.v.back() == "z");
        }
    });
}

TEST_CASE("recover leaves a thread alone whose question an edit inside has closed") {
    onBothSavers([](const SharedSaver& saver) {
        const LineApp app = around(asksTwice(), {}, saver);
        app.invoke({}, {.thread_id = "t"});
        app.updateState(insideOf(app, {.thread_id = "t"}), says("edit"), {.as_node = "two"});
        CHECK(app.recover().empty());
        CHECK(app.recover({.edited = true}).size() == 1);
        CHECK(app.getState({.thread_id = "t"}).values.v == Words{"p", "edit", "z"});
    });
}

TEST_CASE("an edit inside that fails at any call of the saver leaves a thread that can be edited or asks again") {
    onBothSavers([](const SharedSaver& inner) {
        const auto saver = std::make_shared<sg::testing::FaultSaver>(inner);
        const LineApp app = around(asksTwice(), {}, saver);
        std::size_t failures = 0;
        for (const bool edits_again : {false, true}) {
            for (std::size_t n = 1; n < 50; ++n) {
                CAPTURE(n);
                CAPTURE(edits_again);
                const sg::RunConfig t{.thread_id = std::to_string(n) + (edits_again ? " edited" : " resumed")};
                app.invoke({}, t);
                const sg::Config inside = insideOf(app, t);
                saver->arm({.fail_at = n});
                bool failed = false;
                try {
                    app.updateState(inside, says("edit"));
                } catch (const sg::SaverError&) {
                    failed = true;
                }
                saver->disarm();
                if (!failed) break;
                ++failures;
                if (edits_again) app.updateState(inside, says("edit"));
                CHECK(app.recover().empty());
                REQUIRE(app.invoke(sg::RESUME, t).interrupts.size() == 1);
                REQUIRE(app.invoke(sg::resume("1"), t).interrupts.size() == 1);
                const Words done = app.invoke(sg::resume("2"), t).values.v;
                CHECK(done ==
                      (edits_again ? Words{"p", "edit", "one:1", "two:2", "z"} : Words{"p", "one:1", "two:2", "z"}));
            }
        }
        CHECK(failures > 4);
        CHECK(failures < 90);
    });
}
