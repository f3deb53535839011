#include "json/short_json.hpp"

#include <cstdint>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/json/json_texts.hpp"
#include "tests/support/seed.hpp"

// Short JSON texts, which are encoded without the parser.
namespace sg = stategraph;
namespace json = boost::json;

namespace {

bool isShort(std::string_view text) {
    std::string cbor;
    return sg::detail::encodeShortJson(text, cbor);
}

sg::Value byParser(const std::string& text) { return sg::fromJson(json::parse(text)); }

}  // namespace

TEST_CASE("arguments of tools are encoded as by the parser, whatever the order of their members") {
    for (const char* text : {R"({"n":1})", R"({})", "[]", "[ ]", "{ }",
                             R"( { "city" : "Rome" , "a" : [1, -2, {"b":null}] , "bb":true,"c":false } )", "0", "-1",
                             "999999999999999999", R"("text")", R"("")", "null", "true", "false",
                             "\t\r\n[[[[[[[1]]]]]]]", R"({"zz":{"y":1,"x":2},"a":{"y":{"d":[],"c":{}}}})"}) {
        CAPTURE(std::string(text));
        std::string cbor;
        REQUIRE(sg::detail::encodeShortJson(text, cbor));
        CHECK(sg::Value::fromCbor(cbor) == byParser(text));
        CHECK(sg::parseJson(text) == byParser(text));
    }
}

TEST_CASE("what needs the parser is left to it") {
    const std::string many = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24]";
    const std::string deep = "[[[[[[[[[1]]]]]]]]]";
    const std::string large = "\"" + std::string(2000, 'x') + "\"";
    for (const std::string& text :
         {many, deep, large, std::string(R"("a\n")"), std::string("\"\xc3\xa9\""), std::string("1.5"),
          std::string("1e3"), std::string("1E3"), std::string("-0"), std::string("1000000000000000000")}) {
        CAPTURE(text);
        CHECK(!isShort(text));
        CHECK(sg::parseJson(text) == byParser(text));
    }
    CHECK(!isShort(R"({"a":1,"a":2})"));
}

TEST_CASE("texts that are no JSON are refused as before") {
    for (const std::string text :
         {"",          " ",          "{",        "[",     "\"",    "{\"a\"", "{\"a\":",   "{\"a\":1",
          "{\"a\":1,", "{\"a\":1,}", "[1,",      "[1,]",  "[1 2]", "01",     "-",         "+1",
          "tru",       "truex",      "nul",      "falsy", "1 2",   "{a:1}",  "{\"a\" 1}", "'a'",
          "[1]]",      "{}}",        "\"\x01\"", "1.",    ".5",    "0x1",    "- 1"}) {
        CAPTURE(text);
        CHECK(!isShort(text));
        CHECK_THROWS_AS(sg::parseJson(text), sg::InvalidArgumentError);
    }
    CHECK(!isShort(std::string_view("\"\0\"", 3)));
    CHECK(!isShort(std::string_view("1\0", 2)));
}

TEST_CASE("random texts, whole and damaged, give what the parser gives") {
    const std::uint64_t seed = tests::seed();
    INFO("seed " << seed);
    bytes::Random random(seed);
    json_texts::Writer writer(random);
    std::size_t encoded = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string text = writer.document();
        if (random.chance(2) && !text.empty()) {
            const char damage = "{}[]\",:01-x \\"[random.below(13)];
            text[random.below(text.size())] = damage;
        }
        std::string cbor;
        if (!sg::detail::encodeShortJson(text, cbor)) continue;
        CAPTURE(text);
        ++encoded;
        json::error_code error;
        const json::value parsed = json::parse(text, error);
        REQUIRE(!error);
        CHECK(sg::Value::fromCbor(cbor) == sg::fromJson(parsed));
    }
    CHECK(encoded > 0);
}
