// EXPECT: stategraph: two alternatives of a variant have the same tag
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Circle {
    double radius = 0;
    static constexpr std::string_view tag = "shape";
    static constexpr auto fields() { return sg::fields(sg::field("radius", &Circle::radius)); }
};
struct Box {
    double side = 0;
    static constexpr std::string_view tag = "shape";
    static constexpr auto fields() { return sg::fields(sg::field("side", &Box::side)); }
};

sg::Value value(std::variant<Circle, Box>{});
