#include <chrono>
#include <memory>
#include <random>

#include "tests/async/support.hpp"
#include "tests/fault/fault_graph.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/history_savers.hpp"

// A run that is awaited stores what the same run stores when it blocks, byte for byte.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

template <class Run>
history::Bytes storedBy(savers::Store& store, Run run) {
    const auto saver = store.open();
    run(saver);
    return history::bytesOf(*saver);
}

// A graph with everything that a superstep can contain. Its nodes wait, or do the same without waiting.
Graph mixed(bool waits) {
    const auto node = [waits](Graph& graph, const std::string& name, auto body, const sg::NodeOptions& options = {}) {
        if (waits) {
            graph.addNode(
                name,
                [body](const State& state, sg::Runtime& runtime) -> Task<Command> {
                    co_await sg::sleepFor(std::chrono::microseconds(state.n % 7 * 100));
                    Command command = body(state, runtime);
                    co_await sg::sleepFor(50us);
                    co_return command;
                },
                options);
        } else {
            graph.addNode(name, body, options);
        }
    };
    Graph inside;
    node(inside, "ask", [](const State&, sg::Runtime& runtime) -> Command {
        return {.update = {sg::add(&State::bar, "inner:" + sg::interrupt<std::string>(runtime, "inside?"))}};
    });
    node(inside, "after",
         [](const State& state, sg::Runtime&) -> Command { return {.update = {sg::add(&State::n, state.n)}}; });
    inside.addEdge(sg::START, "ask").addEdge("ask", "after");
    const auto in = [](const State& state) -> Update {
        return {sg::set(&State::foo, state.foo), sg::add(&State::n, 1)};
    };
    const auto out = [](const State& state) -> Update {
        return {sg::add(&State::bar, state.bar), sg::add(&State::n, state.n)};
    };

    Graph graph;
    const auto says = [](const std::string& text) {
        return [text](const State&, sg::Runtime& runtime) -> Command {
            return {.update = {sg::add(&State::bar, text + std::to_string(runtime.step())), sg::add(&State::n, 1)}};
        };
    };
    node(graph, "first", says("first"));
    node(graph, "left", says("left"));
    node(graph, "right", says("right"));
    node(graph, "flaky",
         [](const State&, sg::Runtime& runtime) -> Command {
             if (runtime.attempt() < 3) throw std::runtime_error("not yet");
             return {.update = {sg::add(&State::bar, "flaky")}};
         },
         {.retry = {.max_attempts = 3, .initial_interval = 0.1ms, .jitter = false}});
    node(graph, "effect",
         [](const State&, sg::Runtime& runtime) -> Command {
             const int number = runtime.once("count", [] { return 42; });
             return {.update = {sg::add(&State::n, number)},
                     .go_to = {sg::Send("work", State{.n = 1}), sg::Send("work", State{.n = 2})}};
         },
         {.ends = {"work"}});
    node(graph, "work", [](const State& state, sg::Runtime&) -> Command {
        return {.update = {sg::add(&State::bar, "work" + std::to_string(state.n))}};
    });
    graph.addNode("inside", inside.compile(), in, out);
    node(graph, "question", [](const State&, sg::Runtime& runtime) -> Command {
        return {.update = {sg::add(&State::bar, "answer:" + sg::interrupt<std::string>(runtime, "outside?"))}};
    });
    node(graph, "join", says("join"));
    graph.addEdge(sg::START, "first").addEdge("first", "left").addEdge("first", "right").addEdge("first", "flaky");
    graph.addEdge(Strings{"left", "right", "flaky"}, "effect")
        .addEdge("effect", "inside")
        .addEdge("effect", "question");
    graph.addEdge(Strings{"inside", "question"}, "join").addEdge("join", sg::END);
    return graph;
}

// Runs it to the end with `run(app, input, config)`, and answers its questions.
template <class F>
State driveToEnd(const App& app, sg::Durability durability, F run) {
    sg::RunConfig config{.thread_id = "t", .durability = durability};
    sg::Result<State> result = run(app, Update{sg::set(&State::foo, "x")}, config);
    for (int i = 0; i < 5 && !result.interrupts.empty(); ++i) {
        sg::Command command;
        for (const auto& question : result.interrupts) command.answers.push_back({question.id, "yes"});
        result = run(app, command, config);
    }
    CHECK((result.status == sg::Status::done));
    return result.values;
}

const auto blocking = [](const auto& app, auto input, const sg::RunConfig& config) {
    return app.invoke(std::move(input), config);
};
const auto awaited = [](const auto& app, auto input, const sg::RunConfig& config) {
    return sg::syncWait(app.asyncInvoke(std::move(input), config));
};
const auto spawned = [](const auto& app, auto input, const sg::RunConfig& config) {
    return sg::spawn(twoThreads(), app.asyncInvoke(std::move(input), config)).get();
};

}  // namespace

TEST_CASE("awaited and blocking runs, of coroutines and of blocking nodes, store the same bytes") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        std::optional<history::Bytes> expected;
        std::optional<State> values;
        for (const bool waits : {false, true}) {
            const auto compare = [&](auto run) {
                savers::onEachAndLater([&](savers::Store& store) {
                    const auto saver = store.open();
                    const auto app = mixed(waits).compile({.checkpointer = saver, .ids = FixedIds::make()});
                    const State got = driveToEnd(app, durability, run);
                    const history::Bytes bytes = history::bytesOf(*saver);
                    CHECK(bytes.size() > 5);
                    if (!expected) {
                        expected = bytes;
                        values = got;
                    }
                    CHECK(got == *values);
                    CHECK((bytes == *expected));
                });
            };
            compare(blocking);
            compare(awaited);
            compare(spawned);
        }
    }
}

TEST_CASE("the graph of the fault tests stores the same bytes when its runs are awaited") {
    const auto stored = [](auto run) {
        savers::MemoryStore store;
        const auto saver = store.open();
        fault::Runs runs;
        const auto app = fault::faultGraph(runs, saver);
        sg::Result<fault::State> result =
            run(app, fault::Update{sg::add(&fault::State::list, "input")}, sg::RunConfig{.thread_id = "t"});
        for (int i = 0; i < 5 && !result.interrupts.empty(); ++i) {
            result = run(app, sg::Command<>{.resume = "yes"}, sg::RunConfig{.thread_id = "t"});
        }
        return history::bytesOf(*saver);
    };
    const history::Bytes bytes = stored(blocking);
    CHECK(bytes.size() > 3);
    CHECK((stored(awaited) == bytes));
    CHECK((stored(spawned) == bytes));
}
