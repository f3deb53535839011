// EXPECT: stategraph: a tool's arguments are a struct with a fields() table
#include <stategraph/agent/tool.hpp>

namespace sg = stategraph;

sg::agent::Tool build() {
    return sg::agent::tool("weather", "The weather of a city", [](const std::string& city) { return city; });
}
