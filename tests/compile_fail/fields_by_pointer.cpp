// EXPECT: stategraph: members under their own names are template arguments: sg::fields<&T::a, &T::b>()
// THEN: must list every member|this type cannot be stored
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Item {
    int foo = 0;
    static constexpr auto fields() { return sg::fields(&Item::foo); }
};

sg::Value store() { return sg::Value(Item{}); }
