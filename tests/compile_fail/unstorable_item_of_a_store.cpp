// EXPECT: stategraph: this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    int* pointer = nullptr;
};

void put(sg::BaseStore& store) { store.put({"a"}, "key", Item{}); }
