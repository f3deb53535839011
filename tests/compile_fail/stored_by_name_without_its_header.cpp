// EXPECT: stategraph: stored_by_name needs #include <stategraph/by_name.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Named {
    using stored_by_name = void;
    int number = 0;
};

sg::Value value() { return Named{}; }
