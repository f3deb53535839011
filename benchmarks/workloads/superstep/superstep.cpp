// One superstep: a node that counts, and a router that repeats it a thousand times. One iteration is one run of a
// thousand supersteps.
#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

constexpr int steps = 1000;

void loop(benchmark::State& state) {
    const auto app = loopGraph(steps).compile();
    for (auto _ : state) {
        const auto result = app.invoke({stategraph::set(&Counter::n, 0)}, {.recursion_limit = steps});
        if (result.values.n != steps) state.SkipWithError("wrong result");
    }
    state.counters["items"] = static_cast<double>(steps);
}

void loopByHand(benchmark::State& state) {
    const volatile CounterNode node = countByHand;
    const volatile CounterRouter more = [](const Counter& s) { return s.n < steps; };
    for (auto _ : state) {
        Counter counter;
        do {
            counter = node(counter);
        } while (more(counter));
        benchmark::DoNotOptimize(counter);
    }
    state.counters["items"] = static_cast<double>(steps);
}

}  // namespace

void registerCases() {
    add("superstep/loop", steps, loop);
    addFloor("superstep/loop", steps, loopByHand);
}

}  // namespace bench
