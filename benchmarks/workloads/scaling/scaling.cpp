// What a superstep costs as the graph's nodes, the state's channels, the store's threads, the thread's history,
// fan-outs or nesting grow.
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {

void registerCases() {
    registerNodes();
    registerChannels();
    registerThreads();
    registerHistory();
    registerWide();
}

}  // namespace bench
