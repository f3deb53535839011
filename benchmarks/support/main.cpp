// The main function of every workload: refuses builds whose figures would mean nothing, and writes what was built into
// the output.
#include <cstdio>
#include <string>

#include <benchmark/benchmark.h>

#include <stategraph/version.hpp>

#include "benchmarks/support/workload.hpp"
#include "tests/support/sanitized.hpp"

int main(int argc, char** argv) {
#if !defined(NDEBUG) || !defined(__OPTIMIZE__)
    std::fprintf(stderr,
                 "%s: REFUSED: this is not a Release build (assertions are on, or optimisation is off), and its "
                 "figures would mean nothing.\n"
                 "Build with: cmake --preset release && cmake --build --preset release, or use benchmarks/run.sh\n",
                 argv[0]);
    return 2;
#endif
#if STATEGRAPH_WITH_ASAN || STATEGRAPH_WITH_TSAN
    std::fprintf(stderr, "%s: REFUSED: this is built with a sanitizer, and its figures would mean nothing.\n", argv[0]);
    return 2;
#endif
    benchmark::AddCustomContext("stategraph_build", "Release");
    benchmark::AddCustomContext("stategraph_version", std::to_string(STATEGRAPH_VERSION_MAJOR) + "." +
                                                          std::to_string(STATEGRAPH_VERSION_MINOR) + "." +
                                                          std::to_string(STATEGRAPH_VERSION_PATCH));
    benchmark::AddCustomContext("compiler", __VERSION__);
    benchmark::AddCustomContext("quick", bench::quick() ? "yes" : "no");
    bench::registerCases();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    if (benchmark::RunSpecifiedBenchmarks() == 0) std::fprintf(stderr, "%s: no case fits the filter\n", argv[0]);
    benchmark::ClearRegisteredBenchmarks();  // destroys what cases share before RocksDB's own static objects
    benchmark::Shutdown();
    return 0;
}
