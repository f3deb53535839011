// EXPECT: stategraph: this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    int* pointer = nullptr;
};

void call(sg::Runtime& runtime) {
    runtime.once("key", [] { return Item{}; });
}
