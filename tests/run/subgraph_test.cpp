#include <set>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"

// Compiled graphs as nodes.
using namespace graphs;

namespace {

// Shares bar with State; own is private to it.
struct Inner {
    Strings bar = {};
    int own = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("bar", &Inner::bar, sg::append), sg::channel("own", &Inner::own, sg::sum));
    }
};

// START -> count, which adds 1 to own and reports its previous value.
sg::CompiledGraph<Inner> counting(const sg::Checkpointer& checkpointer = {}) {
    sg::StateGraph<Inner> graph;
    graph.addNode("count", [](const Inner& state) -> sg::Update<Inner> {
        return {sg::add(&Inner::own, 1), sg::add(&Inner::bar, "own was " + std::to_string(state.own))};
    });
    graph.addEdge(sg::START, "count");
    return graph.compile({.checkpointer = checkpointer});
}

Update nothing(const State&) { return {}; }
template <class S>
auto input() {
    return [](const State&) -> sg::Update<S> { return {}; };
}
Update barOf(const Inner& inner) { return {sg::add(&State::bar, inner.bar)}; }

App parentOf(const sg::CompiledGraph<Inner>& inner, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("sub", inner, input<Inner>(), barOf).addEdge(sg::START, "sub");
    return graph.compile({.checkpointer = saver});
}

// START -> one -> two -> three, where two may fail or ask.
App steps(Log& log, const bool& fails) {
    Graph graph;
    graph.addNode("one", appends(log, "one")).addNode("three", appends(log, "three"));
    graph.addNode("two", [&](const State&) -> Update {
        log.add("two");
        if (fails) throw std::runtime_error("two is broken");
        return bar("two");
    });
    graph.addEdge(sg::START, "one").addEdge("one", "two").addEdge("two", "three");
    return graph.compile();
}

std::set<std::string> namespaces(sg::BaseCheckpointSaver& saver) {
    std::set<std::string> all;
    for (const auto& row : saver.list({})) all.insert(row.checkpoint_ns);
    return all;
}

}  // namespace

// 11.1: what the subgraph returns goes through the parent's reducers
TEST_CASE("channels of one name are shared, and a list that both append to comes back twice") {
    Graph inner;
    inner.addNode("s1", appends("s1")).addNode("s2", appends("s2")).addEdge(sg::START, "s1").addEdge("s1", "s2");
    Graph graph;
    graph.addNode("a", appends("a")).addNode("sub", inner.compile()).addEdge(sg::START, "a").addEdge("a", "sub");
    CHECK(graph.compile().invoke(bar("i")).values.bar == Strings{"i", "a", "i", "a", "s1", "s2"});
}

TEST_CASE("only channels of the same name are shared, and unset ones are not passed") {
    struct Other {
        std::string foo = "untouched";
        double other_n = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel("foo", &Other::foo), sg::channel("other_n", &Other::other_n));
        }
    };
    sg::StateGraph<Other> inner;
    std::string seen;
    inner.addNode("look", [&seen](const Other& state) -> sg::Update<Other> {
        seen = state.foo + " " + std::to_string(static_cast<int>(state.other_n));
        return {};
    });
    inner.addEdge(sg::START, "look");
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    graph.compile().invoke({sg::add(&State::n, 5)});
    CHECK(seen == "untouched 0");
    CHECK(graph.compile().invoke({sg::set(&State::foo, "x")}).values.foo == "x");
    CHECK(seen == "x 0");
}

TEST_CASE("two functions map state in and out instead") {
    Graph graph;
    graph.addNode(
        "sub", counting(), [](const State& state) -> sg::Update<Inner> { return {sg::add(&Inner::own, state.n)}; },
        [](const Inner& inner) -> Update {
            return {sg::add(&State::n, inner.own), sg::set(&State::foo, inner.bar.back())};
        });
    graph.addEdge(sg::START, "sub");
    const auto values = graph.compile().invoke({sg::add(&State::n, 5)}).values;
    CHECK(values.n == 11);
    CHECK(values.foo == "own was 5");
    CHECK(values.bar.empty());
}

TEST_CASE("a mapping function that throws is its node's failure") {
    const auto breaks = [](const auto&) -> Update { throw std::runtime_error("no mapping"); };
    for (const bool in : {true, false}) {
        Graph graph;
        if (in) {
            graph.addNode(
                "sub", steps(*std::make_unique<Log>(), false), [breaks](const State& s) { return breaks(s); }, nothing);
        } else {
            Graph inner;
            inner.addNode("x", appends("x")).addEdge(sg::START, "x");
            graph.addNode("sub", inner.compile(), nothing, [breaks](const State& s) { return breaks(s); });
        }
        graph.addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto error = thrown<sg::NodeError>([&] { app.invoke(Update{}, {.thread_id = "t"}); });
        CHECK(error.context().node == "sub");
        CHECK(error.reason() == "no mapping");
    }
}

TEST_CASE("a subgraph takes and returns its own input and output parts") {
    struct OnlyBar {
        Strings bar = {};
        static constexpr auto channels() { return sg::channels(sg::channel("bar", &OnlyBar::bar, sg::append)); }
    };
    sg::StateGraph<State, OnlyBar, OnlyBar> inner;
    inner.addNode("x", [](const State& state) -> Update {
        return {sg::set(&State::foo, "hidden"), sg::add(&State::n, 100),
                sg::add(&State::bar, "n was " + std::to_string(state.n))};
    });
    inner.addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    const auto values = graph.compile().invoke({sg::add(&State::n, 5)}).values;
    CHECK(values.n == 5);
    CHECK(values.foo.empty());
    CHECK(values.bar == Strings{"n was 0"});
}

TEST_CASE("a subgraph starts afresh at each visit, in a loop too, and each visit has a log of its own") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        Graph graph;
        graph.addNode("sub", counting(), input<Inner>(), barOf).addEdge(sg::START, "sub");
        graph.addConditionalEdges("sub",
                                  [](const State& state) { return state.bar.size() % 2 == 1 ? "sub" : sg::END; });
        const App app = graph.compile({.checkpointer = saver});
        app.invoke(Update{}, {.thread_id = "t"});
        CHECK(app.invoke(Update{}, {.thread_id = "t"}).values.bar == Strings(4, "own was 0"));
        CHECK(namespaces(*saver).size() == 5);
    });
}

TEST_CASE("PER_THREAD keeps one log for all visits of a thread, and threads apart") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
            const std::string thread = "t" + std::to_string(static_cast<int>(durability));
            const sg::RunConfig config{.thread_id = thread, .durability = durability};
            parentOf(counting(sg::PER_THREAD), store.open()).invoke(Update{}, config);
            const auto values = parentOf(counting(sg::PER_THREAD), store.open()).invoke(Update{}, config).values;
            // Inner's bar accumulates too.
            CHECK(values.bar == Strings{"own was 0", "own was 0", "own was 1"});
        }
        CHECK(namespaces(*store.open()) == std::set<std::string>{"", "sub"});
    });
}

TEST_CASE("PER_THREAD: a visit that had not begun when its run stopped begins with its input when the run is resumed") {
    savers::onEach([](savers::Store& store) {
        const auto app = [&] { return parentOf(counting(sg::PER_THREAD), store.open()); };
        app().invoke(Update{}, {.thread_id = "t"});
        const auto paused = app().invoke(Update{}, {.thread_id = "t", .interrupt_before = {"sub"}});
        CHECK((paused.status == sg::Status::breakpoint));
        CHECK(app().invoke(sg::RESUME, {.thread_id = "t"}).values.bar ==
              Strings{"own was 0", "own was 0", "own was 1"});
    });
}

TEST_CASE("PER_THREAD: a visit of a run that was lost before the graph around it was stored is passed over") {
    const auto saver = std::make_shared<RecordingSaver>();
    bool is_dying = false;
    saver->after_put = [&](const sg::PutRequest& request) {
        if (is_dying && !request.log.checkpoint_ns.empty())
            saver->before_put = [](std::size_t) { throw std::runtime_error("gone"); };
    };
    const App app = parentOf(counting(sg::PER_THREAD), saver);
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::exit};
    app.invoke(Update{}, config);
    is_dying = true;
    for (int i = 0; i < 2; ++i) {
        CHECK_THROWS(app.invoke(Update{}, config));
        saver->before_put = {};
    }
    is_dying = false;
    CHECK(saver->takeLines().size() == 4);  // both lost visits are stored, and nothing of the outer graph
    CHECK(app.invoke(Update{}, config).values.bar == Strings{"own was 0", "own was 0", "own was 1"});
    CHECK(app.invoke(Update{}, config).values.bar.back() == "own was 2");
}

TEST_CASE("PER_THREAD is refused at the root") {
    CHECK_THROWS_AS(counting(sg::PER_THREAD).invoke(sg::Update<Inner>{}, {.thread_id = "t"}), sg::InvalidArgumentError);
}

TEST_CASE("NO_CHECKPOINTER stores nothing of the subgraph") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        parentOf(counting(sg::NO_CHECKPOINTER), saver).invoke(Update{}, {.thread_id = "t"});
        CHECK(namespaces(*saver) == std::set<std::string>{""});
    });
}

TEST_CASE("a subgraph with a saver of its own uses the parent's") {
    const auto own = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    parentOf(counting(own), saver).invoke(Update{}, {.thread_id = "t"});
    CHECK(own->list({}).empty());
    CHECK(namespaces(*saver).size() == 2);
}

TEST_CASE("with exit durability a subgraph that finishes stores nothing") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    parentOf(counting(), saver).invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::exit});
    CHECK(saver->list({}).size() == 1);
}

TEST_CASE("after a failure inside, what had finished there does not run again") {
    savers::onEach([](savers::Store& store) {
        for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
            const sg::RunConfig config{.thread_id = std::to_string(static_cast<int>(durability)),
                                       .durability = durability};
            Log log;
            bool fails = true;
            const auto app = [&] {
                Graph graph;
                graph.addNode("sub", steps(log, fails))
                    .addNode("beside", appends(log, "beside"))
                    .addNode("end", appends(log, "end"));
                graph.addEdge(sg::START, "sub")
                    .addEdge(sg::START, "beside")
                    .addEdge(std::vector<std::string>{"sub", "beside"}, "end");
                return graph.compile({.checkpointer = store.open()});
            };
            const auto error = thrown<sg::NodeError>([&] { app().invoke(Update{}, config); });
            CHECK(error.context().node == "two");
            CHECK(error.reason() == "two is broken");
            CHECK(app().getState({.thread_id = config.thread_id}).next == Strings{"sub"});
            CHECK_THROWS_AS(app().invoke(sg::RESUME, config), sg::NodeError);
            fails = false;
            CHECK(app().invoke(sg::RESUME, config).values.bar == Strings{"beside", "one", "two", "three", "end"});
            CHECK(log.takeSorted() == Strings{"beside", "end", "one", "three", "two", "two", "two"});
        }
    });
}

TEST_CASE("inside a subgraph nodes know where they are") {
    std::string ns;
    std::string thread;
    Graph inner;
    inner.addNode("x", [&](const State&, sg::Runtime& runtime) -> Update {
        ns = runtime.checkpointNs();
        thread = runtime.threadId();
        return {};
    });
    inner.addEdge(sg::START, "x");
    Graph graph;
    graph.addNode("sub", inner.compile()).addEdge(sg::START, "sub");
    graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}).invoke(Update{}, {.thread_id = "t"});
    CHECK(ns.rfind("sub:", 0) == 0);
    CHECK(thread == "t");
}

TEST_CASE("a pending subgraph's state is read through its parent") {
    Log log;
    bool fails = true;
    Graph graph;
    graph.addNode("sub", steps(log, fails)).addEdge(sg::START, "sub");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
    const auto state = app.getState({.thread_id = "t"}, {.subgraphs = true});
    REQUIRE(state.tasks.size() == 1);
    REQUIRE(state.tasks[0].state);
    CHECK(state.tasks[0].state->next == Strings{"two"});
    CHECK(state.tasks[0].state->values_as_cbor.toJson() == R"({"n":0,"bar":["one"]})");
    CHECK(state.tasks[0].state->tasks.at(0).error == "two is broken");
}

TEST_CASE("a PER_THREAD subgraph takes its input at each visit, also when the run was resumed right before it") {
    savers::onEach([](savers::Store& store) {
        Graph graph;
        graph.addNode("sub", counting(sg::PER_THREAD), input<Inner>(), barOf).addEdge(sg::START, "sub");
        const App app = graph.compile({.checkpointer = store.open()});
        app.invoke(Update{}, {.thread_id = "t"});
        app.invoke(Update{}, {.thread_id = "t", .interrupt_before = {"sub"}});
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.bar == Strings{"own was 0", "own was 0", "own was 1"});
    });
}

TEST_CASE(
    "a PER_THREAD subgraph that several Sends visit at once is an error that says so; others have a log for each "
    "visit") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        const auto outer = [&](const sg::Checkpointer& checkpointer) {
            Graph graph;
            graph.addNode("sub", counting(checkpointer));
            graph.addConditionalEdges(sg::START, [](const State&) {
                return std::vector{sg::Send("sub", Inner{.bar = {}, .own = 1}),
                                   sg::Send("sub", Inner{.bar = {}, .own = 2})};
            });
            return graph.compile({.checkpointer = saver});
        };
        CHECK_THROWS_WITH_AS(outer(sg::PER_THREAD).invoke({}, {.thread_id = "one"}),
                             doctest::Contains("its one log takes one visit at a time"), sg::InvalidUpdateError);
        CHECK(outer({}).invoke({}, {.thread_id = "two"}).values.bar == Strings{"own was 1", "own was 2"});
    });
}
