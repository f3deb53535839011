#include <algorithm>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Several questions at once: in one superstep, in subgraphs, and together with failures.
using namespace graphs;

namespace {

App three(Log& log, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("p", asks(log, "p")).addNode("q", asks(log, "q")).addNode("s", asks(log, "s"));
    graph.addNode("r", appends(log, "r")).addNode("z", appends(log, "z"));
    for (const char* name : {"p", "q", "r", "s"}) graph.addEdge(sg::START, name);
    graph.addEdge(std::vector<std::string>{"p", "q", "r", "s"}, "z");
    return graph.compile({.checkpointer = saver});
}

sg::TaskId idOf(const std::vector<sg::Interrupt>& interrupts, const std::string& node) {
    for (const auto& each : interrupts) {
        if (each.value == sg::Value("what for " + node + "?")) return each.id;
    }
    throw std::runtime_error(node + " does not ask");
}

App nested(Log& log, int depth, const sg::Checkpointer& inmost = {}) {
    Graph graph;
    graph.addNode("one", appends(log, "one"))
        .addNode("ask", asks(log, "ask"))
        .addEdge(sg::START, "one")
        .addEdge("one", "ask");
    App app = graph.compile({.checkpointer = inmost});
    for (int i = 1; i < depth; ++i) {
        Graph around;
        around.addNode("pre", appends(log, "pre")).addNode("sub", app);
        around.addEdge(sg::START, "pre").addEdge("pre", "sub");
        app = around.compile();
    }
    return app;
}

App around(Log& log, const App& inner, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    const auto in = [](const State&) { return Update{}; };
    const auto out = [](const State& state) { return Update{sg::add(&State::bar, state.bar)}; };
    graph.addNode("sub", inner, in, out).addNode("after", appends(log, "after"));
    graph.addEdge(sg::START, "sub").addEdge("sub", "after");
    return graph.compile({.checkpointer = saver});
}

}  // namespace

// quirk 2, design 6: "a partial resume": the waiting task stays in `next`
TEST_CASE("several questions are answered one at a time in any order, and nothing that finished runs again") {
    std::vector<std::string> order = {"p", "q", "s"};
    do {
        savers::onEach([&](savers::Store& store) {
            Log log;
            auto interrupts = three(log, store.open()).invoke(bar("i"), {.thread_id = "t"}).interrupts;
            REQUIRE(interrupts.size() == 3);
            CHECK(log.takeSorted() == Strings{"p", "q", "r", "s"});
            Strings waiting = {"p", "q", "s"};
            for (const auto& node : order) {
                const App app = three(log, store.open());
                const auto id = idOf(interrupts, node);
                const auto result = app.invoke(sg::Command<>{.answers = {{id, "for " + node}}}, {.thread_id = "t"});
                std::erase(waiting, node);
                CHECK(log.count(node) == 1);
                CHECK(log.count("r") == 0);
                log.take();
                CHECK(app.getState({.thread_id = "t"}).next == waiting);
                CHECK(result.interrupts.size() == waiting.size());
                for (const auto& left : waiting) CHECK(idOf(result.interrupts, left) == idOf(interrupts, left));
                if (waiting.empty())
                    CHECK(result.values.bar == Strings{"i", "p:for p", "q:for q", "r", "s:for s", "z"});
            }
        });
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("several are answered in one Command, and the last one that is open without its id") {
    Log log;
    const App app = three(log, std::make_shared<sg::MemorySaver>());
    const auto open = app.invoke(bar("i"), {.thread_id = "t"}).interrupts;
    const sg::Command<> two{.answers = {{idOf(open, "s"), "S"}, {idOf(open, "p"), "P"}}};
    CHECK(app.invoke(two, {.thread_id = "t"}).interrupts.size() == 1);
    CHECK(app.invoke(sg::Command<>{.resume = "Q"}, {.thread_id = "t"}).values.bar ==
          Strings{"i", "p:P", "q:Q", "r", "s:S", "z"});
}

// design 6: "a resume value where no interrupt is open, or several are and none is named"
TEST_CASE("an answer that names none of several is refused with the list, and nothing runs or is stored") {
    Log log;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = three(log, saver);
    const auto open = app.invoke(bar("i"), {.thread_id = "t"}).interrupts;
    log.take();
    const auto before = saver->list({.with_writes = true});
    const auto error =
        thrown<sg::InvalidArgumentError>([&] { app.invoke(sg::Command<>{.resume = "x"}, {.thread_id = "t"}); });
    for (const auto& each : open) {
        CHECK(contains(error.message(), each.id.toString()));
        CHECK(contains(error.message(), each.value.toJson()));
    }
    CHECK(log.take().empty());
    const auto after = saver->list({.with_writes = true});
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        CHECK((after[i].bytes == before[i].bytes));
        REQUIRE(after[i].writes.size() == before[i].writes.size());
        for (std::size_t w = 0; w < after[i].writes.size(); ++w)
            CHECK((after[i].writes[w].bytes == before[i].writes[w].bytes));
    }
}

TEST_CASE("a wrong answer together with a right one leaves only its own question open") {
    Log log;
    Graph graph;
    for (const char* name : {"p", "q"}) {
        graph.addNode(name, [name](const State&, sg::Runtime& runtime) -> Update {
            return bar(name + std::to_string(sg::interrupt<int>(runtime, std::string("what for ") + name + "?")));
        });
        graph.addEdge(sg::START, name);
    }
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph.compile({.checkpointer = saver});
    const auto open = app.invoke(Update{}, {.thread_id = "t"}).interrupts;
    const sg::Command<> both{.answers = {{idOf(open, "p"), "text"}, {idOf(open, "q"), 2}}};
    // The process that asked knows the type of each answer, so it refuses the Command as a whole.
    CHECK_THROWS_AS(app.invoke(both, {.thread_id = "t"}), sg::WrongTypeError);
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"p", "q"});
    // This object stands for another process, which learns the type from the node.
    const App elsewhere = graph.compile({.checkpointer = saver});
    CHECK_THROWS_AS(elsewhere.invoke(both, {.thread_id = "t"}), sg::WrongTypeError);
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"p"});
    CHECK(app.invoke(sg::Command<>{.resume = 1}, {.thread_id = "t"}).values.bar == Strings{"p1", "q2"});
}

// quirk 43: both are reported
TEST_CASE("an error and interrupts of one superstep are both reported, and both can be resumed") {
    savers::onEach([](savers::Store& store) {
        Log log;
        bool fails = true;
        Graph graph;
        graph.addNode("ask", asks(log, "ask")).addNode("ok", appends(log, "ok"));
        graph.addNode("bad", [&](const State&) -> Update {
            if (fails) throw std::runtime_error("broken");
            return bar("bad");
        });
        for (const char* name : {"ask", "bad", "ok"}) graph.addEdge(sg::START, name);
        const App app = graph.compile({.checkpointer = store.open()});
        const auto error = thrown<sg::NodeError>([&] { app.invoke(Update{}, {.thread_id = "t"}); });
        REQUIRE(error.interrupts().size() == 1);
        const auto state = app.getState({.thread_id = "t"});
        CHECK(state.interrupts() == error.interrupts());
        CHECK(state.next == Strings{"ask", "bad"});
        CHECK(state.values.bar == Strings{"ok"});
        const auto again = thrown<sg::NodeError>([&] { app.invoke(sg::Command<>{.resume = "A"}, {.thread_id = "t"}); });
        CHECK(again.interrupts().empty());
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"bad"});
        fails = false;
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"ask:A", "bad", "ok"});
        CHECK(log.count("ok") == 1);
    });
}

TEST_CASE("a question inside subgraphs, up to three deep, is answered from outside and nothing runs twice") {
    for (int depth = 1; depth <= 3; ++depth) {
        CAPTURE(depth);
        savers::onEach([depth](savers::Store& store) {
            Log log;
            const auto app = [&] { return around(log, nested(log, depth), store.open()); };
            const auto stopped = app().invoke(bar("i"), {.thread_id = "t"});
            CHECK((stopped.status == sg::Status::interrupted));
            REQUIRE(stopped.interrupts.size() == 1);
            CHECK(app().getState({.thread_id = "t"}).next == Strings{"sub"});
            CHECK(app().getState({.thread_id = "t"}).interrupts() == stopped.interrupts);
            const auto done =
                app().invoke(sg::Command<>{.answers = {{stopped.interrupts[0].id, "A"}}}, {.thread_id = "t"});
            CHECK((done.status == sg::Status::done));
            CHECK(contains(done.values.bar.at(done.values.bar.size() - 2), "ask:A"));
            CHECK(log.count("one") == 1);
            CHECK(log.count("pre") == static_cast<std::size_t>(depth - 1));
            CHECK(log.count("ask") == 2);
            CHECK(log.count("after") == 1);
        });
    }
}

// design 6: "several interrupts inside one subgraph"; quirk 36
TEST_CASE("several questions inside one subgraph are all shown, and answered one by one next to finished siblings") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto app = [&] {
            Graph inner;
            inner.addNode("p", asks(log, "p")).addNode("q", asks(log, "q")).addNode("r", appends(log, "r"));
            for (const char* name : {"p", "q", "r"}) inner.addEdge(sg::START, name);
            return around(log, inner.compile(), store.open());
        };
        const auto open = app().invoke(Update{}, {.thread_id = "t"}).interrupts;
        REQUIRE(open.size() == 2);
        const auto state = app().getState({.thread_id = "t"});
        REQUIRE(state.tasks.size() == 1);
        CHECK(state.tasks[0].open_interrupts == open);
        const auto half = app().invoke(sg::Command<>{.answers = {{idOf(open, "q"), "Q"}}}, {.thread_id = "t"});
        CHECK((half.status == sg::Status::interrupted));
        CHECK(half.interrupts.size() == 1);
        CHECK(app().getState({.thread_id = "t"}).interrupts() == half.interrupts);
        CHECK(app().getState({.thread_id = "t"}).next == Strings{"sub"});
        const auto done = app().invoke(sg::Command<>{.resume = "P"}, {.thread_id = "t"});
        CHECK(done.values.bar == Strings{"p:P", "q:Q", "r", "after"});
        // design 6: "a subgraph resumed beside finished siblings inside it"
        CHECK(log.count("r") == 1);
        CHECK(log.count("q") == 2);
    });
}

TEST_CASE("two subgraphs that ask at once are answered apart") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const App inner = nested(log, 1);
        const auto in = [](const State&) { return Update{}; };
        Graph graph;
        for (const std::string name : {"left", "right"}) {
            const auto out = [name](const State& state) { return bar(name + " " + state.bar.back()); };
            graph.addNode(name, inner, in, out).addEdge(sg::START, name);
        }
        const App app = graph.compile({.checkpointer = store.open()});
        const auto open = app.invoke(Update{}, {.thread_id = "t"}).interrupts;
        REQUIRE(open.size() == 2);
        CHECK(open[0].id != open[1].id);
        CHECK(app.invoke(sg::Command<>{.answers = {{open[1].id, "R"}}}, {.thread_id = "t"}).interrupts ==
              std::vector<sg::Interrupt>{open[0]});
        CHECK(app.getState({.thread_id = "t"}).next == Strings{"left"});
        CHECK(app.invoke(sg::Command<>{.resume = "L"}, {.thread_id = "t"}).values.bar ==
              Strings{"left ask:L", "right ask:R"});
        CHECK(log.count("one") == 2);
    });
}

TEST_CASE("a wrong answer to a question inside a subgraph leaves it open") {
    savers::onEach([](savers::Store& store) {
        Graph inner;
        inner.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
            return bar(std::to_string(sg::interrupt<int>(runtime, "a number?")));
        });
        inner.addEdge(sg::START, "ask");
        Log log;
        const App app = around(log, inner.compile(), store.open());
        const auto open = app.invoke(Update{}, {.thread_id = "t"}).interrupts;
        CHECK_THROWS_AS(app.invoke(sg::Command<>{.resume = "text"}, {.thread_id = "t"}), sg::WrongTypeError);
        CHECK(app.getState({.thread_id = "t"}).interrupts() == open);
        CHECK(app.invoke(sg::Command<>{.resume = 7}, {.thread_id = "t"}).values.bar == Strings{"7", "after"});
    });
}

TEST_CASE(
    "a question in a subgraph that stores nothing is kept outside, and the subgraph runs again from its beginning") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto app = [&] { return around(log, nested(log, 1, sg::NO_CHECKPOINTER), store.open()); };
        CHECK((app().invoke(Update{}, {.thread_id = "t"}).status == sg::Status::interrupted));
        CHECK(app().invoke(sg::Command<>{.resume = "A"}, {.thread_id = "t"}).values.bar ==
              Strings{"one", "ask:A", "after"});
        CHECK(log.count("one") == 2);
        for (const auto& row : store.open()->list({})) CHECK(row.checkpoint_ns.empty());
    });
}

TEST_CASE(
    "a subgraph with a log, inside one that stores nothing, resumes where it was each time the one around it runs "
    "again") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph inner;
        inner.addNode("one", appends(log, "one")).addNode("ask", asks(log, "ask"));
        inner.addEdge(sg::START, "one").addEdge("one", "ask");
        Graph middle;
        middle.addNode("first", appends(log, "first"))
            .addNode(
                "inner", inner.compile(), [](const State&) { return Update{}; },
                [](const State& inside) -> Update { return {sg::add(&State::bar, inside.bar)}; });
        middle.addNode("later", asks(log, "later"));
        middle.addEdge(sg::START, "first").addEdge("first", "inner").addEdge("inner", "later");
        Graph graph;
        graph.addNode("middle", middle.compile({.checkpointer = sg::NO_CHECKPOINTER})).addEdge(sg::START, "middle");
        const auto app = [&] { return graph.compile({.checkpointer = store.open()}); };
        CHECK((app().invoke(Update{}, {.thread_id = "t"}).status == sg::Status::interrupted));
        CHECK((app().invoke(sg::Command<>{.resume = "A"}, {.thread_id = "t"}).status == sg::Status::interrupted));
        CHECK(app().invoke(sg::Command<>{.resume = "B"}, {.thread_id = "t"}).values.bar ==
              Strings{"first", "one", "ask:A", "later:B"});
        CHECK(log.count("first") == 3);
        CHECK(log.count("one") == 1);
    });
}

TEST_CASE("interrupts with exit durability are stored when the run stops") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::exit};
        const auto open = three(log, store.open()).invoke(bar("i"), config).interrupts;
        CHECK(three(log, store.open()).getState({.thread_id = "t"}).interrupts() == open);
        const sg::Command<> all{.answers = {{idOf(open, "p"), "P"}, {idOf(open, "q"), "Q"}, {idOf(open, "s"), "S"}}};
        CHECK(three(log, store.open()).invoke(all, config).values.bar == Strings{"i", "p:P", "q:Q", "r", "s:S", "z"});
        CHECK(log.count("r") == 1);
    });
}

TEST_CASE("sends to one node ask apart, and are answered in any order") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph graph;
        graph.addNode(
            "split",
            [](const State&) -> Command {
                return {.go_to = {sg::Send("w", 0), sg::Send("w", 1), sg::Send("w", 2)}};
            },
            leadsTo({"w"}));
        graph.addNode("w", [&log](const int& number, sg::Runtime& runtime) -> Update {
            log.add(std::to_string(number));
            if (number == 1) return bar("1");
            return bar(sg::interrupt<std::string>(runtime, "what for " + std::to_string(number) + "?"));
        });
        graph.addEdge(sg::START, "split");
        const App app = graph.compile({.checkpointer = store.open()});
        const auto open = app.invoke(Update{}, {.thread_id = "t"}).interrupts;
        REQUIRE(open.size() == 2);
        CHECK(app.invoke(sg::Command<>{.answers = {{idOf(open, "2"), "two"}}}, {.thread_id = "t"}).interrupts.size() ==
              1);
        CHECK(app.invoke(sg::Command<>{.resume = "zero"}, {.thread_id = "t"}).values.bar ==
              Strings{"zero", "1", "two"});
        CHECK(log.takeSorted() == Strings{"0", "0", "0", "1", "2", "2"});
    });
}
