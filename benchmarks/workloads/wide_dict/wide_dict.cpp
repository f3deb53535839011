// LangGraph's wide_dict: the graph of wide_state with dictionaries. Entries of the maps are shared one by one, so that
// the channels which merge maps copy pointers. The cases named _json have a state of JSON.
#include "benchmarks/workloads/wide_dict/wide_dict.hpp"

namespace bench {

void registerCases() {
    for (const WideShape& shape : wide_shapes) {
        if (isLeftOut(shape)) continue;
        addWide<WideOf<stategraph::Shared<ItemOfShared>, ItemOfShared>>("wide_dict", "", shape);
        addJsonCases(shape);
    }
}

}  // namespace bench
