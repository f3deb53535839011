// What a superstep costs as the graph's nodes, the state's channels, the store's threads or the thread's history grow.
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {

void registerCases() {
    registerNodes();
    registerChannels();
    registerThreads();
    registerHistory();
}

}  // namespace bench
