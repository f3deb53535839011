// Three steps, each of which is stored before the next one begins: one run alone, 64 at once, and runs that begin at
// 10, 50 and 90 % of the rate that the store can hold. Programs of DBOS and LangGraph.js (peers/three_steps.mjs) do
// the first two on the same server and in the same folder. With `sync` each commit is on the disk before the next step.
#include <algorithm>
#include <map>

#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/three_steps/load.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

constexpr std::size_t width = 64;
double secondsEach() { return quick() ? 1 : 5; }

// Returns microseconds, of sorted seconds.
double percentile(const std::vector<double>& sorted, double share) {
    const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
    return sorted[std::min(at, sorted.size() - 1)] * 1e6;
}

double countersOf(benchmark::State& state, const std::string& prefix, std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    state.counters[prefix + "p50_us"] = percentile(seconds, 0.5);
    state.counters[prefix + "p95_us"] = percentile(seconds, 0.95);
    state.counters[prefix + "p99_us"] = percentile(seconds, 0.99);
    // Of fewer, it would be the largest.
    if (seconds.size() >= 1000) state.counters[prefix + "p999_us"] = percentile(seconds, 0.999);
    state.counters[prefix + "largest_us"] = seconds.back() * 1e6;
    return percentile(seconds, 0.5);
}

void report(benchmark::State& state, const Times& times) {
    state.SetIterationTime(countersOf(state, "", times.runs) / 1e6);
    (void)countersOf(state, "superstep_", times.supersteps);
}

/// Returns what a store can hold, measured once.
double heldBy(Store store) {
    static std::map<Store, double> held;
    if (const auto found = held.find(store); found != held.end()) return found->second;
    return held[store] = Load(store, sg::Durability::sync).runsPerSecond(width, secondsEach());
}

void addStore(Store store, sg::Durability durability) {
    const bool is_sync = durability == sg::Durability::sync;
    const std::string name = std::string("three_steps/") + toString(store) + (is_sync ? "_sync" : "_async");
    const auto repetitions = quick() ? 1 : 3;
    once(add(name, [=](benchmark::State& state) {
             Load load(store, durability);
             (void)load.alone(secondsEach() / 5);
             for (auto _ : state) {
                 report(state, load.alone(secondsEach()));
                 state.counters["runs_per_second"] = load.runsPerSecond(width, secondsEach());
             }
         })->Repetitions(repetitions));
    for (const int percent : is_sync ? std::vector<int>{10, 50, 90} : std::vector<int>{}) {
        once(add(name, static_cast<std::size_t>(percent), [=](benchmark::State& state) {
                 const double rate = heldBy(store) * percent / 100;
                 Load load(store, durability);
                 for (auto _ : state) report(state, load.atRate(rate, 2 * secondsEach()));
                 state.counters["runs_per_second"] = rate;
             })->Repetitions(repetitions));
    }
}

}  // namespace

void registerCases() {
    std::vector<Store> stores = {Store::rocksdb};
#if STATEGRAPH_HAS_SQLITE
    stores.push_back(Store::sqlite);
#endif
#if STATEGRAPH_HAS_POSTGRES
    if (!postgresConninfo().empty()) stores.push_back(Store::postgres);
#endif
    for (const Store store : stores) {
        addStore(store, sg::Durability::sync);
        addStore(store, sg::Durability::async);
    }
}

}  // namespace bench
