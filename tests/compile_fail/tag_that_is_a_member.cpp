// EXPECT: stategraph: an alternative of a variant has a member of the tag's name
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Circle {
    double type = 0;
    static constexpr std::string_view tag = "circle";
    static constexpr auto fields() { return sg::fields(sg::field("type", &Circle::type)); }
};

sg::Value value(std::variant<Circle>{});
