#include <stategraph/json.hpp>

// This calls functions of Boost.JSON, so the library must link it for its users.
int main() {
    const boost::json::value parsed = boost::json::parse(R"({"n": [1, 2]})");
    const stategraph::Value value = stategraph::fromJson(parsed);
    return boost::json::serialize(stategraph::toJsonValue(value)) == R"({"n":[1,2]})" ? 0 : 1;
}
