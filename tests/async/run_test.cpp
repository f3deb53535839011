#include <atomic>
#include <chrono>
#include <stdexcept>

#include <stategraph/retry.hpp>

#include "tests/async/support.hpp"
#include "tests/support/savers.hpp"

// Coroutine nodes, and runs that are awaited.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

Task<Update> named(const State& state) {
    co_await sg::sleepFor(1ms);
    co_return {sg::add(&State::n, state.n + 1)};
}

// A graph with a router and a node that sends to it, a subgraph, a question, and a retry.
Graph inner() {
    Graph graph;
    graph
        .addNode("in",
                 [](const State& state) -> Task<Update> {
                     const std::string text = state.foo + "!";
                     co_await sg::sleepFor(1ms);
                     co_return {sg::add(&State::bar, text), sg::add(&State::n, 1)};
                 })
        .addEdge(sg::START, "in")
        .addNode("plain", [](const State&) -> Update { return {sg::add(&State::n, 10)}; })
        .addEdge("in", "plain");
    return graph;
}

}  // namespace

TEST_CASE("nodes that are coroutines are nodes like others, in runs that block and in runs that are awaited") {
    Graph graph = chainOf(named, appendsLater("b"), [](const State& state, sg::Runtime& runtime) -> Task<Command> {
        co_await sg::sleepFor(1ms);
        co_return {.update = {sg::set(&State::foo, std::string(runtime.node()) + std::to_string(state.n))},
                   .go_to = {}};
    });
    const auto app = graph.compile();
    const auto blocking = app.invoke({sg::add(&State::n, 4)}).values;
    CHECK(blocking == State{"n39", {"b"}, 9});
    CHECK(sg::syncWait(app.asyncInvoke({sg::add(&State::n, 4)})).values == blocking);
}

TEST_CASE("what is given to a run may be written in the co_await itself") {
    savers::onEachAndLater([](savers::Store& store) {
        Graph graph;
        Log log;
        graph.addNode("a", asks(log, "a")).addEdge(sg::START, "a").addNode("b", appendsLater("b")).addEdge("a", "b");
        const auto app = graph.compile({.checkpointer = store.open()});
        const std::string long_thread(100, 't');
        const std::string long_text(100, 'x');
        sg::Metadata tags{{"who", "me, at some length, so that it is not in the string itself"}};
        const sg::NodeNames stops(Strings{"b", "b"});  // g++ 12 refuses lists in braces inside of a co_await
        const auto runs = [&]() -> Task<int> {
            auto asked = co_await app.asyncInvoke(
                {sg::set(&State::foo, long_text), sg::add(&State::bar, long_text)},
                {.thread_id = long_thread, .durability = sg::Durability::sync, .metadata = tags});
            CHECK((asked.status == sg::Status::interrupted));
            auto stopped = co_await app.asyncInvoke(sg::Command<>{.resume = long_text},
                                                    {.thread_id = long_thread, .interrupt_before = stops});
            CHECK((stopped.status == sg::Status::breakpoint));
            auto done = co_await app.asyncInvoke(sg::RESUME, {.thread_id = long_thread});
            CHECK(done.values.bar == Strings{long_text, "a:" + long_text, "b"});
            auto forked = co_await app.asyncInvoke(
                sg::RESUME, sg::Config{.thread_id = long_thread, .checkpoint_id = stopped.config.checkpoint_id});
            CHECK(forked.values == done.values);
            const State payload;  // a user's own aggregate is not protected in this way (docs/async.md)
            auto more = co_await app.asyncInvoke(
                Command{.update = {sg::set(&State::foo, long_text + "2")}, .go_to = sg::Send("b", payload)},
                {.thread_id = long_thread, .metadata = std::move(tags)});
            CHECK(more.values.foo == long_text + "2");
            co_return static_cast<int>(more.values.bar.size());
        };
        CHECK(sg::syncWait(runs()) == 4);
        const auto state = app.getState({.thread_id = long_thread});
        REQUIRE(state.metadata.size() == 1);
        CHECK(state.metadata[0].value.as<std::string>().size() > 40);
    });
}

TEST_CASE("an unknown breakpoint is an error of the awaited run") {
    const auto app = chainOf(appendsLater("a")).compile();
    const sg::NodeNames names(Strings{"nobody, at length, so that it allocates"});
    const auto runs = [&]() -> Task<> { (void)co_await app.asyncInvoke(Update{}, {.interrupt_before = names}); };
    CHECK_THROWS_WITH_AS(sg::syncWait(runs()), doctest::Contains("nobody"), sg::InvalidArgumentError);
}

TEST_CASE("coroutine nodes of a superstep wait at the same time, on one thread") {
    Graph graph;
    std::atomic<int> at_once = 0;
    std::atomic<int> most = 0;
    for (int i = 0; i < 50; ++i) {
        const std::string name = "w" + std::to_string(i);
        graph.addNode(name, [&](const State&) -> Task<Update> {
            const int now = ++at_once;
            if (now > most) most = now;
            co_await sg::sleepFor(20ms);
            --at_once;
            co_return {sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, name);
    }
    const auto app = graph.compile();
    CHECK(sg::syncWait(app.asyncInvoke({})).values.n == 50);
    CHECK(most == 50);
    most = 0;
    CHECK(sg::syncWait(app.asyncInvoke({}, {.max_concurrency = 3})).values.n == 50);
    CHECK(most <= 3);
    most = 0;
    CHECK(sg::syncWait(app.asyncInvoke({}, {.max_concurrency = 1})).values.n == 50);
    CHECK(most == 1);
    CHECK(app.invoke({}).values.n == 50);
}

TEST_CASE("blocking nodes run on the executor while coroutines wait") {
    Graph graph;
    const auto waiting = std::this_thread::get_id();
    std::atomic<int> elsewhere = 0;
    graph
        .addNode("block",
                 [&](const State&) -> Update {
                     elsewhere += std::this_thread::get_id() != waiting;
                     return {sg::add(&State::bar, "block")};
                 })
        .addNode("await", appendsLater("await"))
        .addNode("last", [&](const State&) -> Update {
            elsewhere += 10 * (std::this_thread::get_id() != waiting);
            return {sg::add(&State::bar, "last")};
        });
    graph.addEdge(sg::START, "block").addEdge(sg::START, "await").addEdge(Strings{"block", "await"}, "last");
    const auto app = graph.compile();
    CHECK(sg::syncWait(app.asyncInvoke({})).values.bar == Strings{"await", "block", "last"});
    CHECK(elsewhere == 1);
}

TEST_CASE("what a coroutine node throws is the node's failure, and its siblings' results are kept") {
    savers::onEachAndLater([](savers::Store& store) {
        Graph graph;
        std::atomic<bool> fails = true;
        Log log;
        graph
            .addNode("bad",
                     [&](const State&) -> Task<Update> {
                         co_await sg::sleepFor(2ms);
                         if (fails) throw std::runtime_error("not now");
                         co_return {sg::add(&State::bar, "bad")};
                     })
            .addNode("good", [&](const State&) -> Task<Update> {
                log.add("good");
                co_await sg::sleepFor(1ms);
                co_return {sg::add(&State::bar, "good")};
            });
        graph.addEdge(sg::START, "bad").addEdge(sg::START, "good");
        const auto app = graph.compile({.checkpointer = store.open()});
        try {
            (void)sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t"}));
            FAIL("it must fail");
        } catch (const sg::NodeError& error) {
            CHECK(error.reason() == "not now");
            CHECK(error.context().node == "bad");
            CHECK(error.context().thread_id == "t");
        }
        fails = false;
        CHECK(sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "t"})).values.bar == Strings{"bad", "good"});
        CHECK(log.take() == Strings{"good"});
    });
}

TEST_CASE("attempts of coroutine nodes and of blocking ones wait without a thread") {
    Log log;
    const auto flaky = [&log](const State&, sg::Runtime& runtime) -> Task<Update> {
        const int attempt = runtime.attempt();
        log.add(std::to_string(attempt));
        co_await sg::sleepFor(1ms);
        if (attempt < 3) throw std::runtime_error("no");
        co_return bar("later");
    };
    const auto blocking = [&log](const State&, sg::Runtime& runtime) -> Update {
        log.add("b" + std::to_string(runtime.attempt()));
        if (runtime.attempt() < 2) throw std::runtime_error("no");
        return bar("blocking");
    };
    const sg::NodeOptions tries{.retry = {.max_attempts = 3, .initial_interval = 1ms, .jitter = false}};
    Graph graph;
    graph.addNode("a", flaky, tries).addNode("b", blocking, tries).addEdge(sg::START, "a").addEdge(sg::START, "b");
    const auto app = graph.compile();
    for (const int concurrency : {1, 2}) {
        CHECK(sg::syncWait(app.asyncInvoke({}, {.max_concurrency = concurrency})).values.bar ==
              Strings{"later", "blocking"});
        CHECK(log.takeSorted() == Strings{"1", "2", "3", "b1", "b2"});
    }
    CHECK(app.invoke({}).values.bar == Strings{"later", "blocking"});
    log.take();
    Graph alone;
    alone.addNode("b", blocking, tries).addEdge(sg::START, "b");
    CHECK(sg::syncWait(alone.compile().asyncInvoke({})).values.bar == Strings{"blocking"});
    CHECK(log.take() == Strings{"b1", "b2"});
}

TEST_CASE("a coroutine node can ask, before and after it waited") {
    savers::onEachAndLater([](savers::Store& store) {
        Graph graph = chainOf([](const State&, sg::Runtime& runtime) -> Task<Update> {
            const auto first = sg::interrupt<std::string>(runtime, "first?");
            co_await sg::sleepFor(1ms);
            const auto second = sg::interrupt<std::string>(runtime, "second?");
            co_return {sg::add(&State::bar, Strings{first, second})};
        });
        const auto app = graph.compile({.checkpointer = store.open()});
        const auto runs = [&]() -> Task<Strings> {
            Strings questions;
            auto result = co_await app.asyncInvoke(Update{}, {.thread_id = "t"});
            questions.push_back(result.interrupts.at(0).value.as<std::string>());
            result = co_await app.asyncInvoke(sg::Command<>{.resume = "one"}, {.thread_id = "t"});
            questions.push_back(result.interrupts.at(0).value.as<std::string>());
            result = co_await app.asyncInvoke(sg::Command<>{.resume = 3}, {.thread_id = "t"});
            co_return questions;
        };
        CHECK_THROWS_AS(sg::syncWait(runs()), sg::WrongTypeError);
        const auto done = sg::syncWait(app.asyncInvoke(sg::Command<>{.resume = "two"}, {.thread_id = "t"}));
        CHECK(done.values.bar == Strings{"one", "two"});
    });
}

TEST_CASE("sends to a coroutine node give each its payload, which lives as long as the coroutine") {
    Graph graph;
    constexpr sg::NodeId<std::string> work{"work"};
    graph
        .addNode("plan",
                 [=](const State&) -> Task<Command> {
                     co_await sg::sleepFor(1ms);
                     Command command;
                     for (int i = 0; i < 20; ++i) command.go_to.add(work(std::string(50, static_cast<char>('a' + i))));
                     co_return command;
                 },
                 {.ends = {"work"}})
        .addNode(work, [](const std::string& item) -> Task<Update> {
            co_await sg::sleepFor(1ms);
            co_return {sg::add(&State::bar, item)};
        });
    graph.addEdge(sg::START, "plan");
    const auto app = graph.compile();
    const auto result = sg::syncWait(app.asyncInvoke({}));
    REQUIRE(result.values.bar.size() == 20);
    for (int i = 0; i < 20; ++i)
        CHECK(result.values.bar[static_cast<std::size_t>(i)] == std::string(50, static_cast<char>('a' + i)));
    CHECK(app.invoke({}).values == result.values);
}

TEST_CASE("a graph inside a graph is awaited too") {
    const auto sub = inner().compile();
    const auto in = [](const State& state) -> Update { return {sg::set(&State::foo, state.foo)}; };
    const auto out = [](const State& state) -> Update {
        return {sg::add(&State::bar, state.bar), sg::add(&State::n, state.n)};
    };
    Graph graph;
    graph.addNode("one", sub, in, out).addNode("two", sub, in, out).addNode("end", appendsLater("end"));
    graph.addEdge(sg::START, "one").addEdge(sg::START, "two").addEdge(Strings{"one", "two"}, "end");
    const auto app = graph.compile();
    const auto result = sg::syncWait(app.asyncInvoke({sg::set(&State::foo, "x")}, {}));
    CHECK(result.values == State{"x", {"x!", "x!", "end"}, 22});
    CHECK(app.invoke({sg::set(&State::foo, "x")}).values == result.values);
}

TEST_CASE("a run's errors come out of the co_await, with its thread") {
    Graph loop;
    loop.addNode("a", appendsLater("a")).addEdge(sg::START, "a").addConditionalEdges("a", [](const State&) {
        return "a";
    });
    const auto app = loop.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t", .recursion_limit = 3})),
                    sg::GraphRecursionError);
    CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t", .recursion_limit = 0})),
                    sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(Update{}, {})), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::syncWait(app.asyncInvoke(sg::RESUME, {.thread_id = "new"})), sg::EmptyInputError);
}

TEST_CASE("ten thousand supersteps do not pile up on the stack") {
    Graph loop;
    loop.addNode("plain", [](const State&) -> Update { return {sg::add(&State::n, 1)}; })
        .addNode("task", [](const State&) -> Task<Update> { co_return {sg::add(&State::n, 1)}; })
        .addEdge(sg::START, "plain")
        .addEdge("plain", "task")
        .addConditionalEdges("task", [](const State& state) { return state.n < 10'000 ? "plain" : sg::END; });
    const auto app = loop.compile();
    CHECK(sg::syncWait(app.asyncInvoke({}, {.recursion_limit = 20'000})).values.n == 10'000);
}

TEST_CASE("blocking runs of coroutine nodes do not need a free thread of the executor") {
    Graph graph;
    for (int i = 0; i < 8; ++i) {
        const std::string name = "w" + std::to_string(i);
        graph.addNode(name, appendsLater(name, 3ms)).addEdge(sg::START, name);
    }
    const auto app = graph.compile({.executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = 1})});
    CHECK(app.invoke({}).values.bar.size() == 8);
}
