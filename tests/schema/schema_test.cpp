#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
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
          R"({"patternProperties": {"^(a+)\\1$": {}}})", R"({"pattern": "a\u0000b"})", R"({"multipleOf": 0})",
          R"({"items": {"multipleOf": -1}})"}) {
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

TEST_CASE("patterns of names that a backtracking matcher would follow for ever come to their end") {
    for (const char* text :
         {R"({"patternProperties": {"^(a+)+$": false}})", R"({"patternProperties": {"^a*a*a*a*a*a*a*a*$": false}})",
          R"({"propertyNames": {"not": {"pattern": "^((a|a))*$"}}})"}) {
        CAPTURE(text);
        const auto check = sg::schemaCheck(text);
        const auto named = [](std::string name) { return sg::Value(std::map<std::string, int>{{std::move(name), 1}}); };
        CHECK_NOTHROW(check(named(std::string(4000, 'a') + "!")));
        CHECK_THROWS_AS(check(named("aa")), sg::InvalidArgumentError);
    }
}

TEST_CASE("a check ends although its schema is applied to a value in exponentially many ways") {
    std::string chain = R"({"definitions": {)";
    for (int i = 0; i < 40; ++i) {
        const std::string next = R"({"$ref": "#/definitions/d)" + std::to_string(i + 1) + "\"}";
        chain += "\"d" + std::to_string(i) + R"(": {"allOf": [)" + next + ", " + next + "]},";
    }
    chain += R"("d40": {"type": "string"}}, )";
    std::string list = "[]";
    for (int i = 0; i < 60; ++i) list = "[" + list + "]";
    const std::pair<std::string, std::string> cases[] = {
        {R"({"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]})", list},
        {chain + R"("allOf": [{"$ref": "#/definitions/d0"}]})", R"("a")"},
        {chain + R"("propertyNames": {"$ref": "#/definitions/d0"}})", R"({"a": 1})"}};
    for (const auto& [schema, value] : cases) {
        CAPTURE(schema);
        const auto check = sg::schemaCheck(schema);
        CHECK_THROWS_WITH_AS(check(sg::parseJson(value)), doctest::Contains("takes too long"),
                             sg::InvalidArgumentError);
    }
}

TEST_CASE("references that lead thousands of levels deep are read, or refused, and do not overflow the stack") {
    const auto chain = [](int length, const std::string& before, const std::string& after) {
        std::string schema = R"({"definitions": {)";
        for (int i = 0; i < length; ++i) {
            schema += "\"d" + std::to_string(i) + "\": " + before + R"({"$ref": "#/definitions/d)" +
                      std::to_string(i + 1) + "\"}" + after + ",";
        }
        return schema + "\"d" + std::to_string(length) + R"(": {"type": "string"}}, "$ref": "#/definitions/d0"})";
    };
    const sg::Value text = sg::parseJson(R"("x")");
    CHECK_NOTHROW(sg::schemaCheck(chain(500, R"({"allOf": [)", "]}"))(text));
    CHECK_NOTHROW(sg::schemaCheck(chain(1500, R"({"properties": {"a": )", "}}"))(text));
    CHECK_THROWS_WITH_AS(sg::schemaCheck(chain(1500, R"({"allOf": [)", "]}"))(text), doctest::Contains("levels deep"),
                         sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(sg::schemaCheck(chain(20'000, R"({"allOf": [)", "]}")), doctest::Contains("levels deep"),
                         sg::InvalidArgumentError);
}

TEST_CASE("multiples and unique items are those of JSON Schema, for every number") {
    const auto accepts = [](const char* schema, const char* value) {
        CAPTURE(schema);
        CAPTURE(value);
        const auto check = sg::schemaCheck(schema);
        try {
            (void)check(sg::parseJson(value));
            return true;
        } catch (const sg::InvalidArgumentError&) {
            return false;
        }
    };
    CHECK(accepts(R"({"multipleOf": 0.01})", "19.99"));
    CHECK_FALSE(accepts(R"({"multipleOf": 0.01})", "19.995"));
    CHECK_FALSE(accepts(R"({"multipleOf": 5})", "5.5"));
    CHECK(accepts(R"({"multipleOf": 2})", "1e300"));
    CHECK(accepts(R"({"multipleOf": 1})", "-9223372036854775808"));
    CHECK(accepts(R"({"uniqueItems": true})", "[9007199254740992, 9007199254740993]"));
    CHECK_FALSE(accepts(R"({"uniqueItems": true})", R"([{"a": 1, "b": [2]}, {"b": [2], "a": 1.0}])"));
    CHECK_FALSE(accepts(R"({"uniqueItems": true})", "[1, 2, 1.0]"));
    CHECK(accepts(R"({"uniqueItems": true})", R"([1, "1", true, [1], {"1": 1}, null])"));
    std::vector<int> many(50'000);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int>(i);
    CHECK_NOTHROW(sg::schemaCheck(R"({"uniqueItems": true})")(sg::Value(many)));
}
