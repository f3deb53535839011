#pragma once
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

/// The functions with which every workload registers its cases. A workload is a folder of benchmarks/workloads and
/// defines `registerCases`.
namespace bench {

/// Called once, by benchmarks/support/main.cpp.
void registerCases();

/// Returns whether sizes are to be small, for trials and not for figures. The harness sets it for --quick.
inline bool quick() { return std::getenv("STATEGRAPH_BENCH_QUICK") != nullptr; }

/// Registers `f(benchmark::State&)` as `<workload>/<case>[/size]`, or with `/floor` at the end for the same work
/// written by hand.
template <class F>
benchmark::internal::Benchmark* add(const std::string& name, F f) {
    return benchmark::RegisterBenchmark(name.c_str(), std::move(f));
}

/// Does the same with the size with which the case grows.
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

/// Does the same on another library, in the same program.
template <class F>
benchmark::internal::Benchmark* addPeer(const std::string& name, std::size_t size, const std::string& peer, F f) {
    return add(name + "/" + std::to_string(size) + "/peer/" + peer, std::move(f));
}

/// Used for a case that is a whole experiment: it runs once in each repetition, and measures its own time.
inline void once(benchmark::internal::Benchmark* added, benchmark::TimeUnit unit = benchmark::kMicrosecond) {
    added->Iterations(1)->UseManualTime()->Unit(unit);
}

}  // namespace bench
