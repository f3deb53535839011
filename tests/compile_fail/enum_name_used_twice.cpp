// EXPECT: stategraph: two entries of enumNames() have the same name
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

enum class Colour { red, green };
constexpr auto enumNames(Colour) { return sg::enumNames<Colour>({{"red", Colour::red}, {"red", Colour::green}}); }

sg::Value value(Colour::red);
