// What each keyword of JSON Schema asks for, in the drafts from 4 to 2020-12.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/schema.hpp>

namespace sg = stategraph;

namespace {

/// Returns what is wrong with a value; empty if nothing is.
std::string faultOf(const std::string& schema, const std::string& value) {
    const auto check = sg::schemaCheck(schema);
    try {
        (void)check(sg::parseJson(value));
        return {};
    } catch (const sg::InvalidArgumentError& why) {
        CHECK(!std::string(why.what()).empty());
        return why.what();
    }
}

/// Returns why a schema is refused; empty if it is not.
std::string refusalOf(const std::string& schema) {
    try {
        (void)sg::schemaCheck(schema);
        return {};
    } catch (const sg::InvalidArgumentError& why) {
        return why.what();
    }
}

struct Row {
    std::string schema;
    std::vector<const char*> accepted;
    std::vector<const char*> refused;
};

void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        CAPTURE(row.schema);
        for (const char* value : row.accepted) {
            CAPTURE(value);
            CHECK(faultOf(row.schema, value) == "");
        }
        for (const char* value : row.refused) {
            CAPTURE(value);
            CHECK(faultOf(row.schema, value) != "");
        }
    }
}

std::string nested(int levels, const std::string& begin, const std::string& inside, const std::string& end) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += begin;
    text += inside;
    for (int i = 0; i < levels; ++i) text += end;
    return text;
}

}  // namespace

TEST_CASE("a number is an integer by its value, and limits are exact") {
    check({{R"({"type": "integer"})", {"3", "3.0", "-0.0", "1e300", "18446744073709551615"}, {"3.5", R"("3")", "1e-9"}},
           {R"({"type": ["null", "number"]})", {"null", "1", "1.5"}, {"true", "[]"}},
           {R"({"minimum": 9007199254740993})", {"9007199254740993"}, {"9007199254740992", "9007199254740992.0"}},
           {R"({"exclusiveMaximum": 18446744073709551615})", {"18446744073709551614"}, {"18446744073709551615"}},
           {R"({"minimum": 3, "exclusiveMinimum": true})", {"3.1"}, {"3"}},
           {R"({"enum": [1, "a", null, [1.0]]})", {"1.0", R"("a")", "null", "[1]"}, {"true", R"("1")", "[]"}},
           {R"({"const": {"a": [1], "b": {}}})",
            {R"({"b": {}, "a": [1.0]})"},
            {R"({"a": [1]})", R"({"a": [1], "b": []})"}},
           {R"({"minLength": 2.0})", {R"("ab")", "1"}, {R"("a")"}}});
}

TEST_CASE("lists are checked item by item, in the form of each draft") {
    check({{R"({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}})",
            {"[]", R"(["a", 1, 2])"},
            {"[1]", R"(["a", "b"])"}},
           {R"({"items": [{"type": "string"}], "additionalItems": false})", {R"(["a"])"}, {R"(["a", 1])", "[1]"}},
           {R"({"contains": {"const": 1}})", {"[2, 1]", "{}"}, {"[]", "[2]"}},
           {R"({"contains": {"const": 1}, "minContains": 0, "maxContains": 1})", {"[]", "[1]"}, {"[1, 1]"}},
           {R"({"contains": {"const": 1}, "minContains": 2})", {"[1, 1]"}, {"[1]"}},
           {R"({"minItems": 1, "maxItems": 2, "uniqueItems": true})",
            {"[1]", "[1, 2]"},
            {"[]", "[1, 1.0]", "[1, 2, 3]"}}});
}

TEST_CASE("objects are checked member by member") {
    check(
        {{R"({"dependentRequired": {"a": ["b"]}})", {"{}", R"({"b": 1})", R"({"a": 1, "b": 1})"}, {R"({"a": 1})"}},
         {R"({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}})",
          {R"({"c": 1, "d": 1})", "5"},
          {R"({"c": 1})", R"({"a": 1})"}},
         {R"({"dependentSchemas": {"a": {"maxProperties": 1}}})", {R"({"a": 1})"}, {R"({"a": 1, "b": 1})"}},
         {R"({"properties": {"a": {}}, "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "string"}})",
          {R"({"a": [], "xy": 1, "b": "t"})"},
          {R"({"xy": "t"})", R"({"b": 1})"}},
         {R"({"propertyNames": {"maxLength": 1}})", {R"({"a": 1})"}, {R"({"ab": 1})"}},
         {R"({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false})",
          {R"({"a": 1})"},
          {R"({"b": 1})"}},
         {R"({"prefixItems": [{}], "unevaluatedItems": false})", {"[1]"}, {"[1, 2]"}}});
    CHECK(faultOf(R"({"propertyNames": {"pattern": "^[a-z]+$"}})", R"({"a b": 1})") ==
          R"($: the name of its member "a b" is refused: it must match the pattern "^[a-z]+$")");
}

TEST_CASE("schemas are combined") {
    check({{R"({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 5}})",
            {R"("ab")", "5"},
            {R"("a")", "4"}},
           {R"({"then": {"minLength": 2}})", {R"("a")"}, {}},
           {R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})", {"1", "2.5"}, {"3", "1.5"}},
           {R"({"anyOf": [{"type": "integer"}, {"type": "null"}]})", {"1", "null"}, {"1.5"}},
           {R"({"not": {"type": "integer"}})", {"1.5"}, {"1"}},
           {R"({"$ref": "#/$defs/a", "maxLength": 2, "$defs": {"a": {"minLength": 2}}})",
            {R"("ab")"},
            {R"("a")", R"("abc")"}},
           {"true", {"1"}, {}},
           {"false", {}, {"1"}}});
    CHECK(faultOf(R"({"anyOf": [{"type": "integer"}, {"type": "null"}]})", R"("a")") ==
          "$: it fits none of the 2 schemas of 'anyOf' ($: it must be of type integer, and is of type string | $: it "
          "must be of type null, and is of type string)");
}

TEST_CASE("references lead to parts of the same document, by pointer, anchor and id") {
    check(
        {{R"({"items": {"$ref": "#/$defs/a%5Bb%5D~1%25"}, "$defs": {"a[b]/%": {"type": "integer"}}})",
          {"[1]"},
          {"[true]"}},
         {R"({"items": {"$ref": "#whole"}, "$defs": {"x": {"$anchor": "whole", "type": "integer"}}})",
          {"[1]"},
          {"[true]"}},
         {R"({"$id": "http://a/b/c.json", "items": {"$ref": "d.json#/x"}, "$defs": {"d": {"$id": "d.json", "x": {"type": "integer"}}}})",
          {"[1]"},
          {"[true]"}},
         {R"({"$id": "http://a/c", "items": {"$ref": "http://a/c#/$defs/x"}, "$defs": {"x": {"type": "integer"}}})",
          {"[1]"},
          {"[true]"}},
         {R"({"properties": {"$ref": {"type": "integer"}}})", {R"({"$ref": 1})"}, {R"({"$ref": "#/nothing"})"}},
         {R"({"const": {"$ref": "#/nothing", "unevaluatedItems": false}})",
          {R"({"$ref": "#/nothing", "unevaluatedItems": false})"},
          {"1"}}});
    for (const char* schema :
         {R"({"$ref": "#/a%5"})", R"({"$ref": "#/a%zz"})", R"({"$ref": "#name"})", R"({"$ref": "other.json"})",
          R"({"$ref": 5})", R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}})"}) {
        CAPTURE(schema);
        CHECK(refusalOf(schema) != "");
    }
}

TEST_CASE("a keyword that is not checked is refused by its name, and so is one that says nonsense") {
    for (const char* word : {"$dynamicRef", "$recursiveRef", "divisibleBy", "disallow", "extends"}) {
        CAPTURE(word);
        CHECK(refusalOf(R"({"items": {")" + std::string(word) + R"(": "#"}})").find("'" + std::string(word) + "'") !=
              std::string::npos);
    }
    for (const char* word : {"unevaluatedProperties", "unevaluatedItems"}) {
        CAPTURE(word);
        const std::string name = "\"" + std::string(word) + "\"";
        CHECK(refusalOf("{\"allOf\": [{}], " + name + ": false}").find(word) != std::string::npos);
        CHECK(refusalOf("{\"allOf\": [{}], " + name + ": true}") == "");
    }
    for (const char* wrong : {R"("type": "text")",
                              R"("enum": 5)",
                              R"("minimum": "1")",
                              R"("multipleOf": 0)",
                              R"("minLength": -1)",
                              R"("maxItems": 1.5)",
                              R"("pattern": 1)",
                              R"("uniqueItems": 1)",
                              R"("required": true)",
                              R"("dependentRequired": {"a": "b"})",
                              R"("allOf": [])",
                              R"("anyOf": {})",
                              R"("not": 5)",
                              R"("properties": [])",
                              R"("items": 5)",
                              R"("minContains": "1")",
                              R"("$defs": {"a": 5})",
                              R"("then": 5)",
                              R"("$schema": "http://example.com/own")",
                              R"("a": 1, "a": 2)"}) {
        CAPTURE(wrong);
        CHECK(refusalOf("{" + std::string(wrong) + "}") != "");
    }
    for (
        const char* note :
        {R"("title": "t", "description": "d", "examples": [1], "deprecated": true, "x-own": {}, "format": "uri")",
         R"("$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "c", "$vocabulary": {}, "readOnly": true)",
         R"("$schema": "http://json-schema.org/draft-07/schema#", "contentEncoding": "base64", "default": 5)"}) {
        CAPTURE(note);
        CHECK(refusalOf("{" + std::string(note) + "}") == "");
    }
}

TEST_CASE("schemas are read 512 levels deep, which describes 250 objects inside each other, and not deeper") {
    const std::string schema = nested(120, R"({"properties": {"a": )", R"({"type": "integer"})", "}}");
    CHECK(faultOf(schema, nested(120, R"({"a": )", "1", "}")) == "");
    CHECK(faultOf(schema, nested(120, R"({"a": )", "true", "}")).find("must be of type integer") != std::string::npos);
    CHECK(refusalOf(nested(250, R"({"properties": {"a": )", "{}", "}}")) == "");
    CHECK(refusalOf(nested(300, R"({"properties": {"a": )", "{}", "}}")) ==
          "the schema has more than 512 objects and lists inside each other");
}

TEST_CASE("defaults are filled in where references and lists lead, and cannot make a value many times as large") {
    const auto check =
        sg::schemaCheck(R"({"properties": {"a": {"$ref": "#/$defs/a"}, "list": {"items": {"$ref": "#/$defs/b"}}},
        "$defs": {"a": {"default": 1}, "b": {"properties": {"c": {"default": "d"}}}}})");
    CHECK(check(sg::parseJson(R"({"list": [{}, {"c": 2}]})")) ==
          sg::parseJson(R"({"list": [{"c": "d"}, {"c": 2}], "a": 1})"));
    const auto large =
        sg::schemaCheck(R"({"items": {"properties": {"a": {"default": ")" + std::string(100'000, 'x') + R"("}}}})");
    const auto listOf = [](int items) { return sg::parseJson("[{}" + nested(items - 1, ", {}", "", "") + "]"); };
    CHECK(large(listOf(5)).bytes().size() > 500'000);
    CHECK_THROWS_WITH_AS(large(listOf(10'000)), doctest::Contains("defaults"), sg::InvalidArgumentError);
    CHECK_NOTHROW(
        sg::schemaCheck(R"({"items": {"properties": {"a": {"default": "a hundred bytes"}}}})")(listOf(100'000)));
}
