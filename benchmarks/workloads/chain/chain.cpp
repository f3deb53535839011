// The cost of an `invoke` with three nodes one after the other.
#include "benchmarks/support/chain.hpp"
#include "benchmarks/support/tbb_graph.hpp"

namespace bench {

void registerCases() {
    add("chain/invoke", 3, [](benchmark::State& state) { runChain(state, 3); });
    addFloor("chain/invoke", 3, [](benchmark::State& state) { runChainByHand(state, 3); });
    tbb_graph::addChain("chain/invoke", 3, false);
}

}  // namespace bench
