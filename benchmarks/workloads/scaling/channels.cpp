// A superstep that reads and writes one of 5 to 500 channels, all of which have a value. The state is a JsonState,
// because a struct with 500 members would measure the compiler; the tables with which the engine works are the same.
#include <string>

#include <stategraph/json.hpp>

#include "benchmarks/support/savers.hpp"
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

// There are so many that the input, which writes every channel once, is a small part.
constexpr int steps = 20'000;

struct Channels {
    explicit Channels(std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            const std::string name = "channel_" + std::to_string(i);
            schema.channel(name);
            values[name] = 0;
        }
        written = "channel_" + std::to_string(size / 2);
    }
    sg::JsonSchema schema;
    boost::json::object values;
    std::string written;
};

void loop(benchmark::State& state, Store store, std::size_t size) {
    const Channels channels(size);
    const std::string& name = channels.written;
    sg::StateGraph<sg::JsonState> graph(channels.schema);
    graph
        .addNode("a",
                 [&](const sg::JsonState& s) -> sg::Update<sg::JsonState> {
                     return {sg::write(name, s.at(name).as_int64() + 1)};
                 })
        .addEdge(sg::START, "a")
        .addConditionalEdges("a",
                             [&](const sg::JsonState& s) { return s.at(name).as_int64() < steps ? "a" : sg::END; });
    const FreshSaver fresh(store);
    const auto app = graph.compile({.checkpointer = fresh.saver});
    for (auto _ : state) {
        const auto result =
            app.invoke(sg::Update<sg::JsonState>::of(channels.values), {.thread_id = "t", .recursion_limit = steps});
        if (result.values.at(name) != steps) state.SkipWithError("wrong result");
        if (!fresh.saver) continue;
        state.PauseTiming();  // so that each iteration begins with an empty thread
        fresh.saver->deleteThread("t");
        state.ResumeTiming();
    }
    state.counters["items"] = steps;
}

}  // namespace

void registerChannels() {
    for (const std::size_t size : {5, 50, 500}) {
        for (const Store store : {Store::none, Store::memory}) {
            add(std::string("scaling/channels_") + toString(store), size,
                [=](benchmark::State& state) { loop(state, store, size); });
        }
    }
}

}  // namespace bench
