// The cost of a superstep as one of these grows: the graph's nodes, the state's channels, the store's threads, the
// thread's history, fan-outs, and nesting.
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
