// EXPECT: stategraph: this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    int* pointer = nullptr;
};

Item ask(sg::Runtime& runtime) { return sg::interrupt<Item>(runtime, "which?"); }
