#include <random>
#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include "serve/json_patch.hpp"
#include "tests/serve/json_patch.hpp"
#include "tests/support/seed.hpp"

// Changes of states as JSON Patch (RFC 6902).
namespace json = boost::json;
using stategraph::serve::patchOf;

namespace {

json::value random(std::mt19937& engine, int depth) {
    const auto any = [&](unsigned below) { return engine() % below; };
    const unsigned kind = any(depth > 0 ? 6 : 3);
    if (kind == 0) return static_cast<std::int64_t>(any(3));
    if (kind == 1) return any(2) == 0 ? json::value(nullptr) : json::value(true);
    if (kind == 2) return json::value(std::string(1 + any(2), 'x'));
    if (kind < 5) {
        json::array list;
        for (unsigned left = any(5); left > 0; --left) list.push_back(random(engine, depth - 1));
        return list;
    }
    static constexpr const char* names[] = {"a", "a/b", "~", "", "~1", "long name"};
    json::object object;
    for (unsigned left = any(5); left > 0; --left) object[names[any(6)]] = random(engine, depth - 1);
    return object;
}

}  // namespace

TEST_CASE("a patch changes one value into the other, and equal values have none") {
    const auto seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 engine(static_cast<std::mt19937::result_type>(seed));
    for (int round = 0; round < 2000; ++round) {
        const json::value from = random(engine, 4);
        const json::value to = random(engine, 4);
        const json::array patch = patchOf(from, to);
        CAPTURE(json::serialize(from));
        CAPTURE(json::serialize(to));
        CAPTURE(json::serialize(patch));
        CHECK(json_patch::applied(from, patch) == to);
        CHECK(patch.empty() == (from == to));
    }
}

TEST_CASE("a patch of a list that grew has what was added, wherever it was added") {
    const auto patch = [](std::string_view from, std::string_view to) {
        return json::serialize(patchOf(json::parse(from), json::parse(to)));
    };
    CHECK(patch("[1,2]", "[1,2,3]") == R"([{"op":"add","path":"/2","value":3}])");
    CHECK(patch("[1,2]", "[0,1,2]") == R"([{"op":"add","path":"/0","value":0}])");
    CHECK(patch("[1,2,3]", "[1,3]") == R"([{"op":"remove","path":"/1"}])");
    CHECK(patch(R"({"a":{"b":[1]}})", R"({"a":{"b":[2]}})") == R"([{"op":"replace","path":"/a/b/0","value":2}])");
    CHECK(patch(R"({"a/b":1})", R"({"m~n":2})") ==
          R"([{"op":"remove","path":"/a~1b"},{"op":"add","path":"/m~0n","value":2}])");
    CHECK(patch("1", "[]") == R"([{"op":"replace","path":"","value":[]}])");
}
