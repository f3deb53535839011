#include <stategraph/detail/json_reading.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/json.hpp>
#include <stategraph/partial_json.hpp>

#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace sg = stategraph;
namespace json = boost::json;
using sg::detail::readJson;

namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();
constexpr double infinity = std::numeric_limits<double>::infinity();

double readDouble(const std::string& text) {
    const auto read = readJson(text);
    REQUIRE_MESSAGE(!read.error, text);
    return read.value.to_number<double>();
}

/// Whether the text that is written for a number is read as that number, bit by bit.
bool isReadBack(double number) {
    const std::string text = sg::Value(number).toJson();
    return std::bit_cast<std::uint64_t>(sg::parseJson(text).as<double>()) == std::bit_cast<std::uint64_t>(number);
}

}  // namespace

TEST_CASE("every double is read as it was written") {
    for (const double each : {0.1, 0.3, 5e-324, smallest, largest, -largest, 2.2250738585072014e-308, 1e22, 1e23, -0.5,
                              9007199254740993.0, 123456789012345680000.0}) {
        CAPTURE(each);
        CHECK(isReadBack(each));
    }
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> score(0, 1);
    const int count = STATEGRAPH_TEST_NIGHTLY ? 10'000'000 : static_cast<int>(sanitized::some(200'000));
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
        const auto any = std::bit_cast<double>(random());
        if (std::isfinite(any)) wrong += !isReadBack(any);
        wrong += !isReadBack(score(random));
    }
    CHECK(wrong == 0);
}

TEST_CASE("a number is the double nearest to all of its digits, however many there are") {
    CHECK(readDouble("1.7976931348623158e308") == largest);
    CHECK(readDouble("1.7976931348623157e+308") == largest);
    CHECK(readDouble("1e309") == infinity);
    CHECK(readDouble("-1e309") == -infinity);
    CHECK(readDouble("1e-400") == 0);
    CHECK(std::signbit(readDouble("-1e-400")));
    CHECK(readDouble("2.4703282292062327e-324") == 0);
    CHECK(readDouble("2.4703282292062328e-324") == smallest);
    CHECK(readDouble("9007199254740993.0000000000000000000000001") == 9007199254740994.0);
    for (const double each :
         {0.37, -0.37, 0.000001234, 123456789012345.0, 0.1234567890123456789, 1e15, 999999999999999.9}) {
        char text[64];
        for (int digits = 0; digits < 25; ++digits) {
            std::snprintf(text, sizeof text, "%.*f", digits, each);
            CAPTURE(text);
            double expected = 0;
            (void)std::from_chars(text, text + std::strlen(text), expected);
            CHECK(readDouble(text) == expected);
        }
    }
    CHECK(std::signbit(readDouble("-0.0")));
    CHECK(readDouble("18446744073709551616") == 18446744073709551616.0);
    CHECK(readDouble("0." + std::string(400, '0') + "1e401") == 1);
}

TEST_CASE("integers of 64 bits stay integers") {
    CHECK(readJson("9223372036854775807").value == json::value(INT64_MAX));
    CHECK(readJson("-9223372036854775808").value == json::value(INT64_MIN));
    CHECK(readJson("18446744073709551615").value == json::value(UINT64_MAX));
    CHECK(readJson("[1,-1,0]").value == json::value{1, -1, 0});
}

TEST_CASE("two readers of one text agree, also where the text arrives in pieces") {
    const std::string text =
        R"({"a":[0.1,2.5e-7,123456789.12345678,0.8444218515250481],"b":-3.1415926535897931,"c":1E400,"s":"\u00e9"})";
    const json::value whole = readJson(text).value;
    CHECK(sg::parseJson(text).as<json::value>() == whole);
    sg::PartialJson partial;
    for (const char c : text) partial.feed(std::string_view(&c, 1));
    CHECK(partial.value() == whole);
}

TEST_CASE("a text that is no JSON is an error with its place, and so is one that is nested too deeply") {
    for (const std::string_view text : {"", "[1,]", "{\"a\":}", "1 2", "nul", "\"a", "[1", "01", "+1", "1.", "NaN"}) {
        CAPTURE(text);
        const auto read = readJson(text);
        CHECK(read.error);
        CHECK(read.at <= text.size());
        CHECK(read.value.is_null());
    }
    CHECK_FALSE(readJson(std::string(10, '[') + std::string(10, ']'), 10).error);
    CHECK(readJson(std::string(11, '[') + std::string(11, ']'), 10).error);
    CHECK_FALSE(readJson(" [1] \n").error);
}

TEST_CASE("an escaped half of a surrogate pair is read as U+FFFD") {
    const std::string mark = "\xef\xbf\xbd";
    const auto textOf = [](const std::string& json) { return sg::parseJson("\"" + json + "\"").as<std::string>(); };
    CHECK(textOf(R"(cut \ud83d)") == "cut " + mark);
    CHECK(textOf(R"(\ude00 cut)") == mark + " cut");
    CHECK(textOf(R"(\ud83dx\ud83d\n\ud83d\u0041)") == mark + "x" + mark + "\n" + mark + "A");
    CHECK(textOf(R"(\uD83D\ud83d\uDE00\ude00)") == mark + "\xf0\x9f\x98\x80" + mark);
    CHECK(textOf(R"(\\ud83d)") == R"(\ud83d)");
    CHECK(textOf(R"(\\\ud83d)") == "\\" + mark);
    CHECK(readJson(R"({"a":[{"\udfff":"\udbff"}]})").value ==
          json::parse("{\"a\":[{\"" + mark + "\":\"" + mark + "\"}]}"));
    for (const char* text : {R"("\ud83d)", R"("\ud8)", R"("\ud83d\u00)", R"("\ud83d" x)", R"(["\ud83d" "\x"])"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(sg::parseJson(text), sg::InvalidArgumentError);
    }
}

TEST_CASE("members that occur twice are kept, the first before the second, and read leniently as the first") {
    // Once without the parser, and once with it.
    for (const std::string more : {"", R"(,"z":"\n")"}) {
        const sg::Value twice = sg::parseJson(R"({"a":{"b":1,"c":[{"d":2,"d":{}}]},"x":0,"a":"second")" + more + "}");
        CAPTURE(twice);
        const auto read = twice.as<json::value>();
        CHECK(json::serialize(read.at("a")) == R"({"b":1,"c":[{"d":2}]})");
        CHECK(twice.toJson().find("second") != std::string::npos);
        CHECK_THROWS_WITH_AS(twice.asStrict<json::value>(), doctest::Contains("occurs twice"), sg::WrongTypeError);
    }
    CHECK(sg::parseJson(R"({"\u0061":1,"a":2})").as<json::value>() == json::parse(R"({"a":1})"));
    CHECK(sg::parseJson(R"({"a":"\n","b":{"a":1},"c":[{"a":1},{"a":2}]})").asStrict<json::value>().is_object());
    CHECK(readJson(R"({"a":1,"a":2})").hasRepeatedMember());
    CHECK(readJson(R"([{"b":{"a":1,"a":2}}])").hasRepeatedMember());
    CHECK(!readJson(R"([{"a":1},{"a":2},{"b":{"a":1}}])").hasRepeatedMember());
}

TEST_CASE("an object with many members gets a table whose size its writer cannot choose, in which their order stays") {
    std::string text = "{";
    for (int i = 0; i < 256; ++i) text += "\"n" + std::to_string(i) + "\":{\"x\":[" + std::to_string(i) + "]},";
    text += R"("n7":"last","h\ud800":true,"u":18446744073709551615,"d":0.1})";
    const auto read = readJson("[" + text + ",1]");
    REQUIRE(!read.error);
    CHECK(read.hasRepeatedMember());
    const json::object& object = read.value.as_array().at(0).as_object();
    CHECK(object.size() == 259);
    CHECK(object.capacity() >= 259);
    CHECK(object.capacity() % 2 == 1);
    CHECK((object.begin() + 7)->key() == "n7");
    CHECK((object.begin() + 7)->value() == "last");
    CHECK(json::serialize(object.at("n255")) == R"({"x":[255]})");
    CHECK(object.at("h\xEF\xBF\xBD").as_bool());
    CHECK(object.at("u").as_uint64() == UINT64_MAX);
    CHECK(object.at("d").as_double() == 0.1);
    CHECK(read.value.as_array().at(1) == 1);
    // The same from the bytes of a value, which may be somebody else's too.
    const auto again = sg::parseJson(text).as<json::value>();
    CHECK(again.as_object().capacity() % 2 == 1);
    CHECK(again.as_object().size() == 259);
    // The sizes differ from time to time: nobody can find out one of them and use it.
    bool differs = false;
    for (int i = 0; i < 64 && !differs; ++i) differs = readJson(text).value.as_object().capacity() != object.capacity();
    CHECK(differs);
    CHECK(readJson(text.substr(0, text.size() - 1) + ",}").at == text.size());
}

TEST_CASE("an object with many names of one hash is refused, and costs no more than others") {
    // Names that have one hash of 64 bits in tables of Boost.JSON whose address ends with 0x10.
    std::ifstream file(STATEGRAPH_TESTS_DIR "/json/one_hash.txt");
    std::vector<std::string> names;
    for (std::string name; std::getline(file, name);) names.push_back(name);
    REQUIRE(names.size() == 120);
    const auto objectOf = [](const std::vector<std::string>& all) {
        std::string text;
        for (const std::string& name : all) text += (text.empty() ? "{\"" : ",\"") + name + "\":0";
        return text + "}";
    };
    // A few are an object like any other.
    CHECK(!readJson(objectOf(names)).error);
    for (int i = 0; i < 1000; ++i) names.push_back("other" + std::to_string(i));
    const std::string hostile = objectOf(names);
    std::reverse(names.begin(), names.end());
    const std::string at_the_end = objectOf(names);
    std::reverse(names.begin(), names.end());
    for (const std::string& text : {hostile, at_the_end, R"([{"a":)" + hostile + "}]"}) {
        CHECK(readJson(text).error == json::error::object_too_large);
        CHECK_THROWS_AS(sg::parseJson(text), sg::InvalidArgumentError);
        sg::PartialJson partial;
        CHECK_THROWS_AS(partial.feed(text), sg::InvalidArgumentError);
    }
    names.erase(names.begin(), names.begin() + 80);
    CHECK(!readJson(objectOf(names)).error);
    sg::PartialJson partial;
    partial.feed(objectOf(names));
    CHECK(partial.value().get_object().size() == names.size());
}
