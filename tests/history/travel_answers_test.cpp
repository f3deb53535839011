#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/history_graphs.hpp"
#include "tests/support/history_savers.hpp"

// Runs that begin at an edit or a fork inside a subgraph and ask: the thread takes the answers, in that branch.
namespace sg = stategraph;
using namespace history;
using graphs::Log;

namespace {

sg::Update<Line> nothing(const Line&) { return {}; }
sg::Update<Line> take(const Line& inner) { return {sg::add(&Line::v, inner.v)}; }

// START → sub → z; the subgraph is START → p → one → two, where one and two ask.
LineApp asksTwice(Log& log, const sg::Checkpointer& checkpointer, const SharedSaver& saver) {
    LineGraph inner;
    inner.addNode("p", [&log](const Line&) -> sg::Update<Line> {
        log.add("p");
        return says("p");
    });
    inner.addNode("one", asking("one")).addNode("two", asking("two"));
    inner.addEdge(sg::START, "p").addEdge("p", "one").addEdge("one", "two");
    LineGraph graph;
    graph.addNode("sub", inner.compile({.checkpointer = checkpointer}), nothing, take).addNode("z", saying("z"));
    graph.addEdge(sg::START, "sub").addEdge("sub", "z");
    return graph.compile({.checkpointer = saver});
}

// Calls test(app, log, driver, thread) for logs of all lifetimes, and for all drivers.
template <class F>
void onAll(F test) {
    onBothSavers([&](const SharedSaver& saver) {
        for (const auto& [kind, checkpointer] : lifetimes()) {
            Log log;
            const LineApp app = asksTwice(log, checkpointer, saver);
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(kind);
                CAPTURE(driver.name);
                log.take();
                test(app, log, driver, std::string(kind) + " " + driver.name);
            }
        }
    });
}

// The newest checkpoint inside the subgraph that waits.
sg::Config insideOf(const LineApp& app, const std::string& thread) {
    return app.getState({.thread_id = thread}, {.subgraphs = true}).tasks.at(0).state->config;
}

// Runs from a checkpoint inside, at which "one" is due, and answers both questions.
Words answered(const LineApp& app, const drivers::Driver& driver, const sg::Config& from, const std::string& word) {
    const sg::RunConfig thread{.thread_id = from.thread_id};
    auto result = driver.run(app, sg::RESUME, from);
    REQUIRE(result.what() == "");
    REQUIRE(result.interrupts.size() == 1);
    CHECK(result.interrupts[0].value == sg::Value("qone"));
    const auto open = app.getState({.thread_id = from.thread_id}).interrupts();
    REQUIRE(open.size() == 1);
    CHECK(open[0].id == result.interrupts[0].id);
    result = driver.run(app, sg::resume(word + "1"), thread);
    REQUIRE(result.what() == "");
    REQUIRE(result.interrupts.size() == 1);
    CHECK(result.interrupts[0].value == sg::Value("qtwo"));
    result = driver.run(app, sg::resume(word + "2"), thread);
    REQUIRE(result.what() == "");
    CHECK((result.status == sg::Status::done));
    return result.values.v;
}

}  // namespace

TEST_CASE("a run from an edit inside a subgraph that asks continues with the edit when it is answered") {
    onAll([](const LineApp& app, Log& log, const drivers::Driver& driver, const std::string& thread) {
        app.invoke({}, {.thread_id = thread});
        const sg::Config at_question = insideOf(app, thread);
        app.invoke(sg::resume("a1"), {.thread_id = thread});
        app.invoke(sg::resume("a2"), {.thread_id = thread});
        CHECK(log.take() == Words{"p"});
        const sg::Config edited = app.updateState(at_question, says("edit"));
        CHECK(answered(app, driver, edited, "b") == Words{"p", "edit", "one:b1", "two:b2", "z"});
        CHECK(log.take().empty());
    });
}

TEST_CASE("of several edits inside a subgraph the one at which the run began takes the answers") {
    onAll([](const LineApp& app, Log& log, const drivers::Driver& driver, const std::string& thread) {
        app.invoke({}, {.thread_id = thread});
        const sg::Config at_question = insideOf(app, thread);
        const sg::Config first = app.updateState(at_question, says("first"));
        const sg::Config second = app.updateState(at_question, says("second"));
        CHECK(log.take() == Words{"p"});
        CHECK(answered(app, driver, first, "a") == Words{"p", "first", "one:a1", "two:a2", "z"});
        CHECK(answered(app, driver, second, "b") == Words{"p", "second", "one:b1", "two:b2", "z"});
        CHECK(log.take().empty());
    });
}

TEST_CASE("a run from a checkpoint inside a visit that began inside itself can be answered, too") {
    onAll([](const LineApp& app, Log& log, const drivers::Driver& driver, const std::string& thread) {
        app.invoke({}, {.thread_id = thread});
        sg::Config at_question = insideOf(app, thread);
        app.invoke(sg::resume("a1"), {.thread_id = thread});
        app.invoke(sg::resume("a2"), {.thread_id = thread});
        CHECK(log.take() == Words{"p"});
        for (const char* word : {"b", "c", "d"}) {
            INFO("answers ", std::string(word));
            // The next run begins where this one asked.
            CHECK((driver.run(app, sg::RESUME, at_question).status == sg::Status::interrupted));
            const sg::Config next = insideOf(app, thread);
            const std::string answer(word);
            CHECK(answered(app, driver, at_question, word) ==
                  Words{"p", "one:" + answer + "1", "two:" + answer + "2", "z"});
            at_question = next;
        }
        CHECK(log.take().empty());
    });
}
