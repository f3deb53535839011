// EXPECT: stategraph: a tool's function is callable as f(const Args&) or f(const Args&, ToolContext&)
#include <stategraph/agent/tool.hpp>

namespace sg = stategraph;

struct Path {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&Path::path>(); }
};
struct City {
    std::string name = {};
    static constexpr auto fields() { return sg::fields<&City::name>(); }
};

void build() {
    const auto tool = sg::agent::tool<Path>("list", {}, [](const City& city) { return city.name; });
}
