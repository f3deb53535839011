#pragma once
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

/// What every workload uses to register its cases. A workload is a folder of benchmarks/workloads and defines
/// `registerCases`.
namespace bench {

/// Called once by benchmarks/support/main.cpp.
void registerCases();

/// Whether sizes are to be small: for trying out, not for figures. The harness sets it for --quick.
inline bool quick() { return std::getenv("STATEGRAPH_BENCH_QUICK") != nullptr; }

/// Registers `f(benchmark::State&)` as `<workload>/<case>[/size]`, or with a further `/floor` for the same work by
/// hand.
template <class F>
benchmark::internal::Benchmark* add(const std::string& name, F f) {
    return benchmark::RegisterBenchmark(name.c_str(), std::move(f));
}

/// The same with the size that the case grows with.
template <class F>
benchmark::internal::Benchmark* add(const std::string& name, std::size_t size, F f) {
    return add(name + "/" + std::to_string(size), std::move(f));
}
template <class F>
benchmark::internal::Benchmark* addFloor(const std::string& name, F f) {
    return add(name + "/floor", std::move(f));
}
template <class F>
benchmark::internal::Benchmark* addFloor(const std::string& name, std::size_t size, F f) {
    return addFloor(name + "/" + std::to_string(size), std::move(f));
}

/// For a case that is a whole experiment: run once a repetition, timed by itself.
inline void once(benchmark::internal::Benchmark* added, benchmark::TimeUnit unit = benchmark::kMicrosecond) {
    added->Iterations(1)->UseManualTime()->Unit(unit);
}

}  // namespace bench
