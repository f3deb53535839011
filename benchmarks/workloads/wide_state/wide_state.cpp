// LangGraph's wide_state: fifteen channels, six nodes, a join, and a loop that ends when there are more than n
// messages. Lists are concatenated with themselves, so that most of the work is copying the elements of the state's
// lists.
#include "benchmarks/support/wide_cases.hpp"

namespace bench {

void registerCases() {
    for (const WideShape& shape : wide_shapes) {
        if (isLeftOut(shape)) continue;
        addWide<WideOf<stategraph::Shared<Item>>>("wide_state", "", shape);
        addWide<WideOf<Item>>("wide_state", "_copied", shape);
    }
}

}  // namespace bench
