#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/schema.hpp>

namespace sg = stategraph;

TEST_CASE("a check by a schema names the member and what is wrong, and fills in defaults") {
    const auto check = sg::schemaCheck(R"({"type": "object", "required": ["city"], "additionalProperties": false,
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "default": 3}}})");
    CHECK(check(sg::parseJson(R"({"city": "Rome"})")) == sg::parseJson(R"({"city": "Rome", "days": 3})"));
    CHECK_THROWS_WITH_AS(check(sg::parseJson(R"({"city": 5})")), doctest::Contains("$[city]"),
                         sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(check(sg::parseJson("{}")), doctest::Contains("city"), sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(check(sg::parseJson(R"({"city": "Rome", "days": 0})")), doctest::Contains("$[days]"),
                         sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(check(sg::parseJson(R"({"city": "Rome", "town": 0})")), doctest::Contains("town"),
                         sg::InvalidArgumentError);
}

TEST_CASE("schemas that cannot be used are refused when the check is made") {
    for (const char* text :
         {"", "{", "5", R"({"$ref": "http://example.com/schema"})", R"({"$ref": "#"})", R"({"allOf": [{"$ref": "#"}]})",
          R"({"$ref": "#/nowhere"})", R"({"pattern": "("})", R"({"enum": 5})", R"({"pattern": "^(a+)\\1$"})",
          R"({"patternProperties": {"^(a+)+$": {}}})",
          R"({"properties": {"x": {"patternProperties": {"^((a|a))*$": {}}}}})"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(sg::schemaCheck(text), sg::InvalidArgumentError);
    }
    const std::string long_pattern = R"({"pattern": ")" + std::string(2000, 'a') + R"("})";
    CHECK_THROWS_WITH_AS(sg::schemaCheck(long_pattern), doctest::Contains("1024"), sg::InvalidArgumentError);
}

TEST_CASE("a pattern that a backtracking matcher would follow for ever comes to its end") {
    for (const char* text : {R"({"items": {"pattern": "^(a+)+$"}})", R"({"items": {"pattern": "^(a|a)*$"}})",
                             R"({"items": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}})"}) {
        CAPTURE(text);
        const auto check = sg::schemaCheck(text);
        const auto list = [](std::string item) { return sg::Value(std::vector<std::string>{std::move(item)}); };
        CHECK_THROWS_WITH(check(list(std::string(60, 'a') + "!")), doctest::Contains("$[0]"));
        CHECK_THROWS_WITH(check(list(std::string(4000, 'a') + "!")), doctest::Contains("$[0]"));
    }
}

TEST_CASE("a value that is deep or has many faults gives a short complaint") {
    const auto check = sg::schemaCheck(R"({"type": "array", "items": {"type": "string"}})");
    try {
        (void)check(sg::Value(std::vector<int>(1000, 5)));
        FAIL("numbers are no texts");
    } catch (const sg::InvalidArgumentError& why) {
        CHECK(std::string(why.what()).size() < 4096);
        CHECK(std::string(why.what()).find("more") != std::string::npos);
    }
}
