#include <stategraph/json.hpp>

#include <cstdint>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

namespace sg = stategraph;
namespace json = boost::json;

namespace {

json::value parsed(const char* text) { return json::parse(text); }
json::value roundTrip(const json::value& value) { return sg::toJsonValue(sg::fromJson(value)); }
std::string nested(int depth) { return std::string(static_cast<std::size_t>(depth), '\x81') + '\xf6'; }

}  // namespace

static_assert(sg::Storable<json::value> && sg::Storable<json::object> && sg::Storable<json::array> &&
              sg::Storable<json::string>);

TEST_CASE("json values come back as they were") {
    for (const char* text : {"null", "true", "-1", "0", "1.5", "\"\"", "\"text\"", "[]", "[1,[2,null],{}]",
                             R"({"a":{"b":[true,false]},"":1})"}) {
        CAPTURE(std::string(text));
        CHECK(roundTrip(parsed(text)) == parsed(text));
        CHECK(json::parse(sg::fromJson(parsed(text)).toJson()) == parsed(text));
    }
}

TEST_CASE("integers of 64 bits are exact, and whole doubles stay doubles") {
    for (const json::value& number : {json::value(INT64_MAX), json::value(INT64_MIN), json::value(UINT64_MAX),
                                      json::value(static_cast<std::uint64_t>(INT64_MAX) + 1)}) {
        CHECK(roundTrip(number) == number);
        CHECK(roundTrip(number).kind() == number.kind());
    }
    CHECK(roundTrip(2.0).is_double());
    CHECK(roundTrip(2).is_int64());
}

TEST_CASE("keys are written in encoded order, so equal objects are equal bytes") {
    CHECK(sg::fromJson(parsed(R"({"bb":1,"c":2,"a":3})")) == sg::fromJson(parsed(R"({"a":3,"bb":1,"c":2})")));
    CHECK(json::serialize(roundTrip(parsed(R"({"bb":1,"c":2,"a":3})"))) == R"({"a":3,"c":2,"bb":1})");
    CHECK(sg::fromJson(parsed(R"({"x":1})")) == sg::Value(std::map<std::string, int>{{"x", 1}}));
}

TEST_CASE("strings that are not UTF-8 come back, as values and as keys") {
    json::object object;
    object["\xff"] = "\xfe\x00 bytes";
    object["text"] = 1;
    CHECK(roundTrip(object) == json::value(object));
}

TEST_CASE("a key that is not text is read as its JSON text") {
    CHECK(sg::toJsonValue(std::map<int, int>{{1, 2}}) == parsed(R"({"1":2})"));
}

TEST_CASE("a json array of the wrong shape, a number below 64 bits and endless nesting are refused") {
    CHECK_THROWS_AS(sg::Value(3).as<json::array>(), sg::WrongTypeError);
    CHECK_THROWS_AS(sg::Value("x").as<json::object>(), sg::WrongTypeError);
    CHECK_THROWS_AS(sg::toJsonValue(sg::Value::fromCbor(std::string("\x3b\xff\xff\xff\xff\xff\xff\xff\xff", 9))),
                    sg::WrongTypeError);
    std::string deep = nested(100000);
    sg::Decoder decoder(deep);
    json::value value;
    CHECK_THROWS_AS(sg::Codec<json::value>::decode(decoder, value), sg::WrongTypeError);
}

TEST_CASE("json text is parsed into a value, and what is none is refused with the place") {
    CHECK(sg::parseJson(R"( {"a": [1, 2]} )").toJson() == R"({"a":[1,2]})");
    for (const char* text : {"", "{", "[1,]", "1 2", "nul"}) {
        CAPTURE(std::string(text));
        CHECK_THROWS_AS(sg::parseJson(text), sg::InvalidArgumentError);
    }
    CHECK_THROWS_WITH_AS(sg::parseJson("[1,]"), doctest::Contains("not JSON at byte 3 of 4"), sg::InvalidArgumentError);
}
