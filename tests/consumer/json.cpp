#include <stategraph/json.hpp>

// Boost.JSON's own functions are called from here, so the library must bring them along.
int main() {
    const boost::json::value parsed = boost::json::parse(R"({"n": [1, 2]})");
    const stategraph::Value value = stategraph::fromJson(parsed);
    return boost::json::serialize(stategraph::toJsonValue(value)) == R"({"n":[1,2]})" ? 0 : 1;
}
