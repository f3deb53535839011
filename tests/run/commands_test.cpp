#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Commands, which combine an update and control flow, from a node or passed to a run.
using namespace graphs;

namespace {

std::vector<std::pair<sg::Source, std::int64_t>> history(const App& app) {
    std::vector<std::pair<sg::Source, std::int64_t>> all;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}))
        all.emplace_back(snapshot.source, snapshot.step);
    return all;
}

// START -> a -> b -> c, and a node z that only Commands lead to.
App chain(Log& log, const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const sg::NodeNames& before = {}) {
    Graph graph;
    for (const char* name : {"a", "b", "c"}) graph.addNode(name, appends(log, name));
    graph.addNode("z", appends(log, "z"));
    graph.addConditionalEdges(sg::START,
                              // The router makes z reachable for the check of the graph.
                              [](const State&) { return "a"; });
    graph.addEdge("a", "b").addEdge("b", "c");
    return graph.compile({.checkpointer = saver, .interrupt_before = before});
}

}  // namespace

TEST_CASE("a goto adds to the node's static edges") {
    Graph graph;
    graph.addNode(
        "a", [](const State&) -> Command { return {.update = bar("a"), .go_to = {"z"}}; }, leadsTo({"z"}));
    graph.addNode("b", appends("b")).addNode("z", appends("z")).addEdge(sg::START, "a").addEdge("a", "b");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"a", "b", "z"});
}

TEST_CASE("several gotos run together, a repeated one once") {
    Graph graph;
    graph.addNode(
        "a",
        [](const State&) -> Command {
            return {.go_to = {"y", "z", "y"}};
        },
        leadsTo({"y", "z"}));
    graph.addNode("y", appends("y")).addNode("z", appends("z")).addEdge(sg::START, "a").addEdge("a", "z");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"y", "z"});
}

TEST_CASE("a goto to the end leads nowhere") {
    Graph graph;
    graph.addNode("a", [](const State&) -> Command { return {.update = bar("a"), .go_to = {sg::END}}; });
    graph.addNode("b", appends("b")).addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const State& state) { return state.n > 0 ? "b" : sg::END; });
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"a"});
    CHECK(graph.compile().invoke({sg::add(&State::n, 1)}).values.bar == Strings{"a", "b"});
}

TEST_CASE("a Command's goto and a router's choice both fire") {
    Graph graph;
    graph.addNode("a", [](const State&) -> Command { return {.update = {sg::set(&State::foo, "y")}, .go_to = {"z"}}; });
    // The router sees the node's own writes.
    graph.addConditionalEdges("a", [](const State& state) { return state.foo; });
    graph.addNode("y", appends("y")).addNode("z", appends("z")).addEdge(sg::START, "a");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"y", "z"});
}

// quirk 24: an unknown target is an error, and not left out in silence
TEST_CASE("a goto to a node that does not exist is an error and nothing of the node is kept") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("a", [](const State&) -> Command { return {.update = bar("a"), .go_to = {"nowhere"}}; })
        .addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = saver});
    const auto error = thrown<sg::InvalidUpdateError>([&] { app.invoke(bar("i"), {.thread_id = "t"}); });
    CHECK(contains(error.message(), "'nowhere'"));
    CHECK(error.context().node == "a");
    CHECK(error.context().step == 1);
    const auto state = app.getState({.thread_id = "t"});
    CHECK(state.values.bar == Strings{"i"});
    CHECK(state.next == Strings{"a"});
    REQUIRE(state.tasks.size() == 1);
    CHECK(contains(state.tasks[0].error.value_or(""), "'nowhere'"));
}

TEST_CASE("a Command for the parent updates it by channel name, leads there, and the subgraph's own changes are lost") {
    struct Inner {
        Strings bar = {};
        std::string own = {};
        static constexpr auto channels() {
            return sg::channels(sg::channel("bar", &Inner::bar, sg::append), sg::channel("own", &Inner::own));
        }
    };
    sg::StateGraph<Inner> inner;
    inner.addNode("one", [](const Inner&) -> sg::Update<Inner> { return {sg::add(&Inner::bar, "lost")}; });
    inner.addNode("two", [](const Inner&) -> sg::Command<Inner> {
        return {.update = {sg::add(&Inner::bar, "up")}, .go_to = {"t"}, .graph = sg::CommandGraph::parent};
    });
    inner.addEdge(sg::START, "one").addEdge("one", "two");
    Graph graph;
    graph.addNode("sub", inner.compile(), leadsTo({"t"})).addNode("u", appends("u")).addNode("t", appends("t"));
    graph.addEdge(sg::START, "sub").addEdge("sub", "u");
    CHECK(graph.compile().invoke(bar("i")).values.bar == Strings{"i", "up", "t", "u"});
}

TEST_CASE("a Command for the parent reaches one level and goes through two when passed on") {
    Graph inmost;
    inmost.addNode("deep", [](const State&) -> Command {
        return {.update = {sg::set(&State::foo, "deep")}, .go_to = {"target"}, .graph = sg::CommandGraph::parent};
    });
    inmost.addEdge(sg::START, "deep");
    Graph middle;
    middle.addNode("sub", inmost.compile(), leadsTo({"target"}));
    middle.addNode("target", [](const State& state) -> Command {
        return {.update = {sg::set(&State::foo, state.foo + "+middle")},
                .go_to = {"top"},
                .graph = sg::CommandGraph::parent};
    });
    middle.addEdge(sg::START, "sub");
    Graph graph;
    graph.addNode("sub", middle.compile(), leadsTo({"top"})).addNode("top", [](const State& state) -> Update {
        return bar(state.foo);
    });
    graph.addEdge(sg::START, "sub");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"deep+middle"});
}

// quirk 42: deterministic, the first in task order
TEST_CASE("of several Commands for the parent in one superstep the first in task order counts") {
    Graph inner;
    for (const char* name : {"b", "a"}) {
        inner.addNode(name, [name](const State&) -> Command {
            return {.update = {sg::set(&State::foo, name)}, .graph = sg::CommandGraph::parent};
        });
        inner.addEdge(sg::START, name);
    }
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    for (int i = 0; i < 20; ++i) CHECK(graph.compile().invoke(Update{}).values.foo == "a");
}

TEST_CASE("a Command for a parent is refused where there is none, from a node and as input") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph graph;
    graph.addNode("a", [](const State&) -> Command { return {.graph = sg::CommandGraph::parent}; })
        .addEdge(sg::START, "a");
    const App app = graph.compile({.checkpointer = saver});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::InvalidUpdateError);
    CHECK(app.getState({.thread_id = "t"}).next == Strings{"a"});
    const Command command{.update = bar("x"), .graph = sg::CommandGraph::parent};
    CHECK_THROWS_AS(app.invoke(command, {.thread_id = "t"}), sg::InvalidUpdateError);
}

TEST_CASE("a Command for a parent that lacks the channel is refused by name") {
    struct Inner {
        std::string own = {};
        static constexpr auto channels() { return sg::channels(sg::channel("own", &Inner::own)); }
    };
    sg::StateGraph<Inner> inner;
    inner.addNode("a", [](const Inner&) -> sg::Command<Inner> {
        return {.update = {sg::set(&Inner::own, "x")}, .graph = sg::CommandGraph::parent};
    });
    inner.addEdge(sg::START, "a");
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    const auto error = thrown<sg::InvalidUpdateError>([&] { graph.compile().invoke(Update{}); });
    CHECK(error.context().channel == "own");
}

// design 6: "a Command's update given to invoke" on an unfinished superstep
TEST_CASE("a Command's update joins the superstep that waits") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto app = chain(log, store.open(), {{"b"}});
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto before = history(app);
        CHECK((app.invoke(Command{.update = bar("cmd")}, {.thread_id = "t", .interrupt_before = {"b", "c"}}).status ==
               sg::Status::breakpoint));
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i", "a", "cmd", "b"});
        CHECK(history(app).size() == before.size() + 1);  // one checkpoint for b's superstep, and none for the Command
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            if (snapshot.step == 1) CHECK(snapshot.values.bar == Strings{"i", "a"});
        }
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "a", "cmd", "b", "c"});
    });
}

TEST_CASE("what a Command wrote to a superstep that fails is kept, shown, and there when it runs again") {
    savers::onEach([](savers::Store& store) {
        bool fails = true;
        const auto app = [&] {
            Graph graph;
            graph.addNode("a", [&fails](const State& state) -> Update {
                if (fails) throw std::runtime_error("not yet");
                return bar("a saw " + std::to_string(state.bar.size()));
            });
            graph.addEdge(sg::START, "a");
            return graph.compile({.checkpointer = store.open()});
        };
        CHECK_THROWS_AS(app().invoke(bar("i"), {.thread_id = "t"}), sg::NodeError);
        CHECK_THROWS_AS(app().invoke(Command{.update = bar("x")}, {.thread_id = "t"}), sg::NodeError);
        CHECK_THROWS_AS(app().invoke(Command{.update = bar("y")}, {.thread_id = "t"}), sg::NodeError);
        CHECK(app().getState({.thread_id = "t"}).values.bar == Strings{"i", "x", "y"});
        for (const auto& snapshot : app().getStateHistory({.thread_id = "t"})) CHECK(snapshot.values.bar.size() <= 1);
        fails = false;
        CHECK(app().invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"i", "x", "y", "a saw 3"});
        CHECK(app().getState({.thread_id = "t"}).values.bar == Strings{"i", "x", "y", "a saw 3"});
    });
}

TEST_CASE("a later Command replaces what an earlier one wrote to the superstep that waits, where one write is taken") {
    savers::onEach([](savers::Store& store) {
        for (const drivers::Driver& driver : drivers::crossed()) {
            CAPTURE(driver.name);
            bool fails = true;
            Graph graph;
            graph.addNode("a", [&fails](const State& state) -> Update {
                if (fails) throw std::runtime_error("not yet");
                return bar("a saw " + state.foo);
            });
            graph.addEdge(sg::START, "a");
            const auto app = graph.compile({.checkpointer = store.open()});
            const sg::RunConfig config{.thread_id = driver.name};
            const auto give = [&](Update update, const std::string& foo, const Strings& list) {
                CHECK(driver.run(app, Command{.update = std::move(update)}, config).as<sg::NodeError>() != nullptr);
                const State state = app.getState({.thread_id = driver.name}).values;
                CHECK(state.foo == foo);
                CHECK(state.bar == list);
            };
            CHECK(driver.run(app, bar("i"), config).as<sg::NodeError>() != nullptr);
            give({sg::set<&State::foo>("x")}, "x", {"i"});
            give({sg::set<&State::foo>("y"), sg::add<&State::bar>("1")}, "y", {"i", "1"});
            give({sg::overwrite<&State::bar>(Strings{"o"})}, "y", {"o"});
            give({sg::add<&State::bar>("2")}, "y", {"o", "2"});
            give({sg::overwrite<&State::bar>(Strings{"p"}), sg::set<&State::foo>("z")}, "z", {"p"});
            fails = false;
            CHECK(driver.run(app, sg::RESUME, config).values.bar == Strings{"p", "a saw z"});
        }
    });
}

// design 6: "a Command's update given to invoke", otherwise; quirk 44
TEST_CASE("a Command's update on a finished thread is an input commit of its own, and older checkpoints stay") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto app = chain(log, store.open());
        app.invoke(bar("i"), {.thread_id = "t"});
        const auto head = app.getState({.thread_id = "t"});
        log.take();
        const auto result = app.invoke(Command{.update = bar("cmd")}, {.thread_id = "t"});
        CHECK(result.values.bar == Strings{"i", "a", "b", "c", "cmd"});
        CHECK(log.take().empty());
        CHECK((history(app).front() == std::pair{sg::Source::input, head.step + 1}));
        CHECK(app.getState(head.config).values == head.values);
    });
}

TEST_CASE("a Command's goto on a finished thread runs that node and what follows it") {
    Log log;
    const auto app = chain(log, std::make_shared<sg::MemorySaver>());
    app.invoke(bar("i"), {.thread_id = "t"});
    log.take();
    CHECK(app.invoke(Command{.update = bar("cmd"), .go_to = {"b"}}, {.thread_id = "t"}).values.bar ==
          Strings{"i", "a", "b", "c", "cmd", "b", "c"});
    CHECK(log.take() == Strings{"b", "c"});
    CHECK(app.invoke(Command{.go_to = {"z", sg::END}}, {.thread_id = "t"}).values.bar.back() == "z");
}

TEST_CASE("a Command's goto at a breakpoint runs in addition to what waits") {
    Log log;
    const auto app = chain(log, std::make_shared<sg::MemorySaver>(), {{"b"}});
    app.invoke(bar("i"), {.thread_id = "t"});
    log.take();
    CHECK(app.invoke(Command{.go_to = {"z"}}, {.thread_id = "t"}).values.bar == Strings{"i", "a", "b", "z", "c"});
    CHECK(log.takeSorted() == Strings{"b", "c", "z"});
}

TEST_CASE("a Send of a Command that a run is given runs in addition to the Sends that wait, and replaces none") {
    savers::onEach([](savers::Store& store) {
        Log log;
        Graph graph;
        graph.addNode("a", appends(log, "a"));
        graph.addNode("w", [&log](const int& n, sg::Runtime& rt) -> Update {
            log.add("w" + std::to_string(n));
            return bar("w" + std::to_string(n) + sg::interrupt<std::string>(rt, n));
        });
        graph.addEdge(sg::START, "a");
        graph.addConditionalEdges("a", [](const State&) { return std::vector<sg::Send>{{"w", 1}, {"w", 2}}; });
        const App app = graph.compile({.checkpointer = store.open()});
        app.invoke(bar("i"), {.thread_id = "t"});
        log.take();
        const auto asked = app.invoke(Command{.go_to = {sg::Send{"w", 3}}}, {.thread_id = "t"});
        CHECK(asked.interrupts.size() == 3);
        CHECK(log.takeSorted() == Strings{"w1", "w2", "w3"});
        std::vector<sg::Answer> answers;
        for (const auto& question : asked.interrupts) answers.emplace_back(question.id, sg::Value("!"));
        CHECK(app.invoke(sg::resume(answers), {.thread_id = "t"}).values.bar == Strings{"i", "a", "w1!", "w2!", "w3!"});
    });
}

// quirk 3: applied once on a fresh thread
TEST_CASE("a Command on a fresh thread is applied once") {
    Log log;
    const auto app = chain(log, std::make_shared<sg::MemorySaver>());
    CHECK(app.invoke(Command{.update = bar("cmd"), .go_to = {"z"}}, {.thread_id = "t"}).values.bar ==
          Strings{"cmd", "z"});
    CHECK(log.take() == Strings{"z"});
}

// quirk 4: Command() is an error that says so
TEST_CASE("an empty Command is refused, on a fresh thread and on one that has state") {
    Log log;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = chain(log, saver);
    CHECK_THROWS_AS(app.invoke(Command{}, {.thread_id = "t"}), sg::EmptyInputError);
    CHECK_THROWS_AS(app.invoke(sg::Command<>{}, {.thread_id = "t"}), sg::EmptyInputError);
    CHECK(saver->list({}).empty());
    app.invoke(bar("i"), {.thread_id = "t"});
    const auto before = history(app);
    CHECK_THROWS_AS(app.invoke(Command{}, {.thread_id = "t"}), sg::EmptyInputError);
    CHECK((history(app) == before));
}

TEST_CASE("a Command to a run with an unknown goto, a wrong payload or a wrong write stores nothing") {
    Log log;
    const auto app = chain(log, std::make_shared<sg::MemorySaver>());
    app.invoke(bar("i"), {.thread_id = "t"});
    const auto before = history(app);
    CHECK_THROWS_AS(app.invoke(Command{.update = bar("x"), .go_to = {"nowhere"}}, {.thread_id = "t"}),
                    sg::InvalidUpdateError);
    CHECK_THROWS_AS(app.invoke(Command{.go_to = {sg::Send("a", 7)}}, {.thread_id = "t"}), sg::InvalidUpdateError);
    CHECK_THROWS_AS(app.invoke(Command{.update = {sg::detail::setMember(&State::n, 7)}}, {.thread_id = "t"}),
                    sg::InvalidUpdateError);
    CHECK_THROWS_AS(
        app.invoke(Command{.update = {sg::set(&State::foo, "x"), sg::set(&State::foo, "y")}}, {.thread_id = "t"}),
        sg::InvalidUpdateError);
    CHECK((history(app) == before));
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i", "a", "b", "c"});
}
