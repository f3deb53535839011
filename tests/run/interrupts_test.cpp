#include <map>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/codec_std.hpp>
#include <stategraph/detail/stop_on_return.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Single questions inside nodes, and how they are answered. For several at once see interrupts_parallel_test.cpp.
using namespace graphs;

namespace {

App asking(Log& log, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("before", appends(log, "before"))
        .addNode("ask", asks(log, "ask"))
        .addNode("after", appends(log, "after"));
    graph.addEdge(sg::START, "before").addEdge("before", "ask").addEdge("ask", "after");
    return graph.compile({.checkpointer = saver});
}

sg::Command<> answer(sg::Value value) { return {.resume = std::move(value)}; }

std::string stored(sg::BaseCheckpointSaver& saver) {
    std::string all;
    for (const auto& row : saver.list({.with_writes = true})) {
        all += row.bytes;
        for (const auto& write : row.writes) all += write.path + write.bytes;
    }
    return all;
}

}  // namespace

TEST_CASE("a node that asks stops the run, and continues from its beginning with the answer") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const App app = asking(log, store.open());
        const auto stopped = app.invoke(bar("i"), {.thread_id = "t"});
        CHECK((stopped.status == sg::Status::interrupted));
        REQUIRE(stopped.interrupts.size() == 1);
        CHECK(stopped.interrupts[0].value == sg::Value("what for ask?"));
        CHECK(stopped.values.bar == Strings{"i", "before"});
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.next == Strings{"ask"});
        CHECK(state.interrupts() == stopped.interrupts);
        const auto done = app.invoke(answer("yes"), {.thread_id = "t"});
        CHECK((done.status == sg::Status::done));
        CHECK(done.interrupts.empty());
        CHECK(done.values.bar == Strings{"i", "before", "ask:yes", "after"});
        CHECK(log.take() == Strings{"before", "ask", "ask", "after"});
        CHECK(app.getState({.thread_id = "t"}).interrupts().empty());
    });
}

// design 6: "tasks that failed or paused and later finished"; quirk 11: answered, and not among the open ones
TEST_CASE("an answered interrupt stays on its task's record and is not open") {
    Log log;
    const App app = asking(log, std::make_shared<sg::MemorySaver>());
    app.invoke(bar("i"), {.thread_id = "t"});
    app.invoke(answer("yes"), {.thread_id = "t"});
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
        if (snapshot.next != Strings{"ask"}) continue;
        REQUIRE(snapshot.tasks.size() == 1);
        CHECK(snapshot.tasks[0].interrupts.size() == 1);
        CHECK(snapshot.tasks[0].open_interrupts.empty());
        CHECK(snapshot.tasks[0].result.toJson() == R"({"bar":["ask:yes"]})");
    }
}

TEST_CASE("a run stays interrupted while it is resumed without an answer, and what came before does not run again") {
    Log log;
    const App app = asking(log, std::make_shared<sg::MemorySaver>());
    const auto first = app.invoke(bar("i"), {.thread_id = "t"});
    const auto again = app.invoke(sg::RESUME, {.thread_id = "t"});
    CHECK((again.status == sg::Status::interrupted));
    CHECK(again.interrupts == first.interrupts);
    CHECK(log.take() == Strings{"before", "ask", "ask"});
}

TEST_CASE("an interrupt and its answer outlive the process") {
    savers::onEach([](savers::Store& store) {
        Log log;
        sg::TaskId id;
        {
            const App app = asking(log, store.open());
            id = app.invoke(bar("i"), {.thread_id = "t"}).interrupts.at(0).id;
        }
        {
            const App app = asking(log, store.open());
            CHECK(app.getState({.thread_id = "t"}).interrupts().at(0).id == id);
        }
        const App app = asking(log, store.open());
        const sg::Command<> named{.answers = {{id, "later"}}};
        CHECK(app.invoke(named, {.thread_id = "t"}).values.bar == Strings{"i", "before", "ask:later", "after"});
        CHECK(log.take() == Strings{"before", "ask", "ask", "after"});
    });
}

// quirk 20: one id for the task, answers by position. quirk 1: an answer is for its question alone
TEST_CASE("two questions of one node are answered in order, and an answer is never used for the other") {
    savers::onEach([](savers::Store& store) {
        int runs = 0;
        const auto app = [&] {
            Graph graph;
            graph.addNode("ask", [&runs](const State&, sg::Runtime& runtime) -> Update {
                ++runs;
                const auto name = sg::interrupt<std::string>(runtime, "name?");
                const auto age = sg::interrupt<int>(runtime, "age?");
                return {sg::add(&State::bar, name), sg::add(&State::n, age)};
            });
            graph.addEdge(sg::START, "ask");
            return graph.compile({.checkpointer = store.open()});
        };
        const auto first = app().invoke(Update{}, {.thread_id = "t"});
        CHECK(first.interrupts.at(0).value == sg::Value("name?"));
        const auto second = app().invoke(answer("Ada"), {.thread_id = "t"});
        REQUIRE(second.interrupts.size() == 1);
        CHECK(second.interrupts[0].value == sg::Value("age?"));
        CHECK(second.interrupts[0].id != first.interrupts[0].id);
        CHECK(second.interrupts[0].index == 1);
        const auto still = app().invoke(sg::RESUME, {.thread_id = "t"});
        CHECK(still.interrupts == second.interrupts);
        const auto done = app().invoke(answer(36), {.thread_id = "t"});
        CHECK(done.values.bar == Strings{"Ada"});
        CHECK(done.values.n == 36);
        CHECK(runs == 4);
    });
}

TEST_CASE("a node in a loop asks anew each time") {
    Log log;
    Graph graph;
    graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask");
    graph.addConditionalEdges("ask", [](const State& state) { return state.bar.size() < 3 ? "ask" : sg::END; });
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    auto result = app.invoke(Update{}, {.thread_id = "t"});
    for (const char* text : {"1", "2", "3"}) {
        REQUIRE((result.status == sg::Status::interrupted));
        const auto id = result.interrupts.at(0).id;
        result = app.invoke(answer(text), {.thread_id = "t"});
        if (!result.interrupts.empty()) CHECK(result.interrupts[0].id != id);
    }
    CHECK((result.status == sg::Status::done));
    CHECK(result.values.bar == Strings{"ask:1", "ask:2", "ask:3"});
}

TEST_CASE("an interrupt in a router drops its node's writes, and the whole node runs again") {
    for (const bool alone : {true, false}) {
        Log log;
        Graph graph;
        graph.addNode("a", appends(log, "a")).addNode("y", appends("y")).addEdge(sg::START, "a");
        if (!alone) graph.addNode("b", appends(log, "b")).addEdge(sg::START, "b");
        graph.addConditionalEdges(
            "a", [](const State&, sg::Runtime& runtime) { return sg::interrupt<std::string>(runtime, "where?"); });
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto stopped = app.invoke(bar("i"), {.thread_id = "t"});
        CHECK((stopped.status == sg::Status::interrupted));
        CHECK(stopped.values.bar == (alone ? Strings{"i"} : Strings{"i", "b"}));
        const auto done = app.invoke(answer("y"), {.thread_id = "t"});
        CHECK(done.values.bar == (alone ? Strings{"i", "a", "y"} : Strings{"i", "a", "b", "y"}));
        CHECK(log.count("a") == 2);
        CHECK(log.count("b") == (alone ? 0 : 1));
    }
}

TEST_CASE("falsy answers count, and null is an answer by id") {
    Graph graph;
    graph.addNode("ask",
                  [](const State&, sg::Runtime& runtime) -> Update { return bar(sg::interrupt(runtime).toJson()); });
    graph.addEdge(sg::START, "ask");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const std::pair<sg::Value, const char*> falsy[] = {
        {false, "false"}, {0, "0"}, {"", "\"\""}, {Strings{}, "[]"}, {std::map<std::string, int>{}, "{}"}};
    for (const auto& [value, json] : falsy) {  // quirk 4: an empty map is an ordinary value
        app.invoke(Update{}, {.thread_id = json});
        CHECK(app.invoke(answer(value), {.thread_id = json}).values.bar == Strings{json});
    }
    const auto stopped = app.invoke(Update{}, {.thread_id = "null"});
    CHECK(stopped.interrupts.at(0).value.isNull());
    CHECK_THROWS_AS(app.invoke(answer(sg::Value()), {.thread_id = "null"}), sg::EmptyInputError);
    const sg::Command<> named{.answers = {{stopped.interrupts[0].id, sg::Value()}}};
    CHECK(app.invoke(named, {.thread_id = "null"}).values.bar == Strings{"null"});
}

TEST_CASE("an answer of the wrong type is an error, and the question stays open") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
            return {sg::add(&State::n, sg::interrupt<int>(runtime, "a number?")),
                    sg::add(&State::n, sg::interrupt<int>(runtime, "another?"))};
        });
        graph.addEdge(sg::START, "ask");
        const App app = graph.compile({.checkpointer = store.open()});
        app.invoke(bar("i"), {.thread_id = "t"});
        for (int question = 0; question < 2; ++question) {
            const auto open = app.getState({.thread_id = "t"}).interrupts();
            REQUIRE(open.size() == 1);
            const auto error = thrown<sg::WrongTypeError>([&] { app.invoke(answer("seven"), {.thread_id = "t"}); });
            CHECK(error.context().node == "ask");
            CHECK(contains(error.message(), "stays open"));
            CHECK(app.getState({.thread_id = "t"}).interrupts() == open);
            app.invoke(answer(7), {.thread_id = "t"});
        }
        CHECK(app.getState({.thread_id = "t"}).values.n == 14);
    });
}

TEST_CASE("a question without a saver is an error at once") {
    Log log;
    Graph graph;
    graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask");
    CHECK_THROWS_AS(graph.compile().invoke(Update{}), sg::MissingCheckpointerError);
    CHECK_THROWS_AS(graph.compile().invoke(answer("x"), {}), sg::Error);
}

// design 6: "a resume value where no interrupt is open"; quirk 45
TEST_CASE("an answer where nothing asks is refused and stores nothing") {
    Log log;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = asking(log, saver);
    CHECK_THROWS_AS(app.invoke(answer("x"), {.thread_id = "fresh"}), sg::InvalidArgumentError);
    CHECK(saver->list({}).empty());
    const auto id = app.invoke(bar("i"), {.thread_id = "t"}).interrupts.at(0).id;
    const std::string before = stored(*saver);
    const sg::Command<> other{.answers = {{sg::TaskId(1, 2), "x"}}};
    const auto unknown = thrown<sg::InvalidArgumentError>([&] { app.invoke(other, {.thread_id = "t"}); });
    CHECK(contains(unknown.message(), id.toString()));
    CHECK(contains(unknown.message(), "what for ask?"));
    const sg::Command<> twice{.answers = {{id, "x"}, {id, "y"}}};
    CHECK_THROWS_AS(app.invoke(twice, {.thread_id = "t"}), sg::InvalidArgumentError);
    CHECK((stored(*saver) == before));
    app.invoke(answer("yes"), {.thread_id = "t"});
    const std::string after = stored(*saver);
    CHECK_THROWS_AS(app.invoke(answer("x"), {.thread_id = "t"}), sg::InvalidArgumentError);
    CHECK((stored(*saver) == after));
}

TEST_CASE("resume, update and goto in one Command") {
    Log log;
    Graph graph;
    graph.addNode("ask", [](const State& state, sg::Runtime& runtime) -> Update {
        return bar("ask saw " + std::to_string(state.bar.size()) + ":" + sg::interrupt<std::string>(runtime));
    });
    graph.addNode("ok", appends(log, "ok")).addNode("z", appends(log, "z"));
    graph.addEdge(sg::START, "ask").addEdge(sg::START, "ok").addEdge("ask", "z");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.invoke(bar("i"), {.thread_id = "t"});
    const Command command{.resume = "R", .update = bar("UPD"), .go_to = {"z"}};
    CHECK(app.invoke(command, {.thread_id = "t"}).values.bar == Strings{"i", "UPD", "ask saw 2:R", "ok", "z", "z"});
    CHECK(log.count("ok") == 1);
}

TEST_CASE("new input abandons an open question") {
    Log log;
    const App app = asking(log, std::make_shared<sg::MemorySaver>());
    const auto first = app.invoke(bar("i"), {.thread_id = "t"});
    const auto second = app.invoke(bar("j"), {.thread_id = "t"});
    CHECK(second.values.bar == Strings{"i", "before", "j", "before"});
    CHECK(second.interrupts.at(0).id != first.interrupts.at(0).id);
    CHECK(app.invoke(answer("x"), {.thread_id = "t"}).values.bar.back() == "after");
}

TEST_CASE("a stop on return counts for its attempt alone, also in a node with a time limit and in an error handler") {
    const auto stop = [](sg::Runtime& rt) -> Update {
        const auto answer = sg::ask<std::string>(rt, "k", "?");
        if (answer) return {sg::add(&State::bar, *answer)};
        sg::detail::stopOnReturn(rt);
        return {};
    };
    const auto check = [](Graph& graph) {
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            const auto asked = driver.run(app, Update{}, config);
            REQUIRE(asked.interrupts.size() == 1);
            CHECK(asked.interrupts.front().key == "k");
            const auto done = driver.run(app, sg::Command<>{.answers = {{"k", "a"}}}, config);
            REQUIRE(done.what() == "");
            CHECK(done.values.bar == Strings{"a"});
        }
    };
    Graph limited;
    limited.addNode("n", [stop](const State&, sg::Runtime& rt) { return stop(rt); },
                    {.timeout = std::chrono::hours(1)});
    limited.addEdge(sg::START, "n");
    check(limited);

    Graph retried;  // the first attempt notes a stop, and then fails
    retried.addNode("n",
                    [stop](const State&, sg::Runtime& rt) -> Update {
                        Update update = stop(rt);
                        if (rt.attempt() == 1) throw std::runtime_error("again");
                        return update;
                    },
                    {.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(0)}});
    retried.addEdge(sg::START, "n");
    check(retried);

    Graph handled;
    handled.addNode("n", [stop](const State&, sg::Runtime& rt) -> Update {
        (void)stop(rt);
        throw std::runtime_error("fails after its stop");
    });
    handled.onError("n", [stop](const State&, const sg::NodeFailure&, sg::Runtime& rt) { return stop(rt); });
    handled.addEdge(sg::START, "n");
    check(handled);

    Graph recovers;  // what the failed node noted does not stop its handler
    recovers.addNode("n", [stop](const State&, sg::Runtime& rt) -> Update {
        (void)stop(rt);
        throw std::runtime_error("fails after its stop");
    });
    recovers.onError("n", [](const State&, const sg::NodeFailure&) -> Update {
        return {sg::add(&State::bar, std::string("handled"))};
    });
    recovers.addEdge(sg::START, "n");
    const App app = recovers.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const drivers::Driver& driver : drivers::all()) {
        const auto done = driver.run(app, Update{}, {.thread_id = driver.name});
        REQUIRE(done.what() == "");
        CHECK(done.values.bar == Strings{"handled"});
    }
}
