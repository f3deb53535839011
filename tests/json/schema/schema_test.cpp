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
          R"({"patternProperties": {"^(a+)\\1$": {}}})", R"({"multipleOf": 0})", R"({"items": {"multipleOf": -1}})"}) {
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

TEST_CASE("a check is linear although its schema is applied to a value in exponentially many ways") {
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
        {R"({"anyOf": [{"items": {"$ref": "#"}, "maxItems": 0}, {"items": {"$ref": "#"}, "maxItems": 1}]})", list},
        {chain + R"("allOf": [{"$ref": "#/definitions/d0"}]})", R"("a")"},
        {chain + R"("propertyNames": {"$ref": "#/definitions/d0"}})", R"({"a": 1})"}};
    for (const auto& [schema, value] : cases) {
        CAPTURE(schema);
        const auto check = sg::schemaCheck(schema);
        CHECK_NOTHROW(check(sg::parseJson(value)));
    }
    // And where it fails in as many ways.
    CHECK_THROWS_AS(sg::schemaCheck(chain + R"("allOf": [{"$ref": "#/definitions/d0"}]})")(sg::Value(1)),
                    sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::schemaCheck(R"({"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}})")(
                        sg::parseJson(std::string(120, '[') + "5" + std::string(120, ']'))),
                    sg::InvalidArgumentError);
}

TEST_CASE("a check that takes too long for the size of its value ends") {
    std::string schema = R"({"items": {"allOf": [{"$ref": "#/$defs/names"})";
    for (int i = 0; i < 500; ++i)
        schema += R"(, {"required": ["a)" + std::to_string(i) + R"("], "$ref": "#/$defs/names"})";
    schema += R"(]}, "$defs": {"names": {"enum": [)";
    for (int i = 0; i < 5000; ++i) schema += "\"" + std::to_string(i) + "\",";
    schema += R"(""]}}})";
    const auto check = sg::schemaCheck(schema);
    CHECK_NOTHROW(check(sg::parseJson(R"(["4999", "17"])")));
    CHECK_THROWS_AS(check(sg::Value(std::vector<int>(100'000, 1))), sg::InvalidArgumentError);
}

TEST_CASE("texts are compared whole, and counted in characters") {
    const auto accepts = [](const char* schema, const std::string& value) {
        try {
            (void)sg::schemaCheck(schema)(sg::Value(value));
            return true;
        } catch (const sg::InvalidArgumentError&) {
            return false;
        }
    };
    const std::string hidden("abc\0; rm", 8);
    for (const char* schema : {R"({"enum": ["abc"]})", R"({"const": "abc"})", R"({"pattern": "^abc$"})",
                               R"({"maxLength": 7})", R"({"not": {"pattern": "rm"}})"}) {
        CAPTURE(schema);
        CHECK(accepts(schema, "abc"));
        CHECK_FALSE(accepts(schema, hidden));
    }
    CHECK(accepts(R"({"const": "abc\u0000; rm"})", hidden));
    CHECK(accepts(R"({"pattern": "c\u0000;"})", hidden));
    const std::string smile = "\xf0\x9f\x98\x80";
    CHECK(accepts(R"({"minLength": 2, "maxLength": 2})", "\xc3\xa9" + smile));
    CHECK_FALSE(accepts(R"({"minLength": 3})", "\xc3\xa9" + smile));
    CHECK(accepts(R"({"pattern": "^..$"})", "\xc3\xa9" + smile));
    CHECK(accepts(R"({"pattern": "^[\u00e0-\u00ff]{1,2}\\ud83d\\ude00$"})", "\xc3\xa9" + smile));
    const auto hides = sg::schemaCheck(R"({"additionalProperties": false, "properties": {"a": {}}})");
    CHECK_NOTHROW(hides(sg::parseJson(R"({"a": 1})")));
    CHECK_THROWS_AS(hides(sg::parseJson(R"({"a\u0000b": 1})")), sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(hides(sg::parseJson(R"({"a": 1, "a": 2})")), doctest::Contains("twice"),
                         sg::InvalidArgumentError);
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
    CHECK_NOTHROW(sg::schemaCheck(chain(500, R"({"anyOf": [)", "]}"))(text));
    CHECK_NOTHROW(sg::schemaCheck(chain(1500, R"({"properties": {"a": )", "}}"))(text));
    CHECK_NOTHROW(sg::schemaCheck(chain(20'000, "", ""))(text));
    CHECK_THROWS_WITH_AS(sg::schemaCheck(chain(1500, R"({"anyOf": [)", "]}")), doctest::Contains("levels deep"),
                         sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(sg::schemaCheck(chain(20'000, R"({"not": )", "}")), doctest::Contains("levels deep"),
                         sg::InvalidArgumentError);
    const auto list = sg::schemaCheck(R"({"items": {"anyOf": [{"anyOf": [{"anyOf": [{"$ref": "#"}]}]}]}})");
    CHECK_NOTHROW(list(sg::parseJson(std::string(250, '[') + std::string(250, ']'))));
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
