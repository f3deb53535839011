#include <algorithm>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Events that subscribers read from the log equal those of the run's own stream.
using namespace graphs;
using sg::StreamMode;

namespace {

/// Nodes that write in every possible way: several times, nothing, overwriting, clearing, with a Command, through
/// Sends, in loops.
App everything(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("twice", [](const State&) -> Update {
        return {sg::add(&State::bar, "x"), sg::add(&State::bar, "y"), sg::add(&State::n, 2)};
    });
    graph.addNode("nothing", [](const State&) -> Update { return {}; });
    graph.addNode("over", [](const State&) -> Update {
        return {sg::overwrite(&State::bar, Strings{"only"}), sg::set(&State::foo, std::string("f"))};
    });
    graph.addNode(
        "jump", [](const State&) { return Command{.update = {sg::add(&State::n, 1)}, .go_to = {"work"}}; },
        leadsTo({"work"}));
    graph.addNode("work", [](const State& state) -> Update {
        return {sg::add(&State::bar, "w" + state.foo), sg::add(&State::n, 1)};
    });
    graph.addNode("loop", [](const State&) -> Update { return {sg::add(&State::n, 1)}; });
    graph.addEdge(sg::START, "twice")
        .addEdge("twice", "nothing")
        .addEdge("twice", "over")
        .addEdge({"nothing", "over"}, "jump");
    const auto sends = [](const State& state) {
        std::vector<sg::Send> all;
        for (int i = 0; i < 3 && state.n < 12; ++i) all.push_back(sg::Send("work", State{.foo = std::to_string(i)}));
        return all;
    };
    graph.addConditionalEdges("loop", sends, {"work", sg::END});
    graph.addEdge("work", "loop");
    return graph.compile({.checkpointer = saver});
}

/// Runs the graph with a subscriber, twice on one thread. What the subscriber reads, live and afterwards, must equal
/// what the run emitted.
template <class A, class Input>
void checkLogEqualsLive(const A& app, const sg::ThreadId& thread, sg::Durability durability, const Input& input) {
    sg::StreamHub hub(app);
    const sg::StreamModes modes = {StreamMode::updates, StreamMode::values, StreamMode::checkpoints};
    auto live = hub.subscribe(thread, {.modes = modes});
    Strings told;
    for (int round = 0; round < 2; ++round) {
        app.stream(input(), {.thread_id = thread, .durability = durability, .hub = &hub}, {.modes = modes},
                   [&](const sg::StreamEvent& event) { told.push_back(std::to_string(event.step) + toJson(event)); });
    }
    auto afterwards = hub.subscribe(thread, {.from = sg::StreamPosition(), .modes = modes});
    for (sg::Subscription* subscription : {&live, &afterwards}) {
        Strings read;
        std::int64_t sequence = 0;
        while (const auto event = subscription->next({})) {
            CHECK(event->durable);
            CHECK(event->position.sequence >= sequence);
            sequence = event->position.sequence;
            read.push_back(std::to_string(event->step) + toJson(static_cast<const sg::StreamEvent&>(*event)));
        }
        // Within a superstep the stream reports tasks as they finish, and a checkpoint when the run continues from it.
        std::sort(read.begin(), read.end());
        std::sort(told.begin(), told.end());
        for (std::size_t i = 0; i < std::min(read.size(), told.size()); ++i) CHECK(read[i] == told[i]);
        CHECK(read.size() == told.size());
    }
}

}  // namespace

TEST_CASE("the log provides for every superstep what the run's stream reported, live and afterwards") {
    savers::onEach([](savers::Store& store) {
        for (const sg::Durability durability : {sg::Durability::sync, sg::Durability::async}) {
            const App app = everything(store.open());
            checkLogEqualsLive(app, durability == sg::Durability::sync ? "sync" : "async", durability,
                               [] { return bar("in"); });
        }
    });
}

TEST_CASE("a superstep that wrote nothing has no values, also where its commit is a snapshot or channels end with it") {
    struct Passing {
        std::string big = {};
        std::string note = {};
        int n = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel("big", &Passing::big), sg::channel("note", &Passing::note, sg::ephemeral),
                                sg::channel("n", &Passing::n, sg::sum));
        }
    };
    using PassingUpdate = sg::Update<Passing>;
    savers::onEach([](savers::Store& store) {
        for (const bool in_parallel : {false, true}) {
            sg::StateGraph<Passing> graph;
            graph.addNode("write", [](const Passing& state) -> PassingUpdate {
                return {sg::set(&Passing::big, std::string(2000, static_cast<char>('a' + state.n))),
                        sg::set(&Passing::note, std::string("n")), sg::add(&Passing::n, 1)};
            });
            const auto idle = [](const Passing&) -> PassingUpdate { return {}; };
            graph.addNode("idle", idle);
            graph.addNode("clear", [](const Passing&) -> PassingUpdate { return {sg::clear(&Passing::note)}; });
            graph.addEdge(sg::START, "write").addEdge("write", "idle");
            if (in_parallel) graph.addNode("idle2", idle).addEdge("write", "idle2");
            graph.addEdge("idle", "clear")
                .addConditionalEdges(
                    "clear", [](const Passing& state) { return std::string(state.n % 7 == 0 ? sg::END : "write"); },
                    {"write", sg::END});
            const auto app = graph.compile({.checkpointer = store.open()});
            const sg::ThreadId thread = in_parallel ? "parallel" : "alone";
            checkLogEqualsLive(app, thread, sg::Durability::sync, [] { return PassingUpdate{}; });
        }
    });
}
