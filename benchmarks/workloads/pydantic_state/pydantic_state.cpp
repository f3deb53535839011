// LangGraph's pydantic_state: the graph of wide_state with a validated state. Here the compiler checks what nodes
// write. The run's input comes from outside and is read strictly: each key, and each value of the map.
#include "benchmarks/support/wide_cases.hpp"

namespace bench {

void registerCases() {
    using Wide = WideOf<stategraph::Shared<Item>>;
    for (const WideShape& shape : wide_shapes) {
        if (isLeftOut(shape)) continue;
        const stategraph::Value input = wideInput(shape);
        addWide<Wide>("pydantic_state", "", shape, [input] { return stategraph::Update<Wide>::of(input); });
    }
}

}  // namespace bench
