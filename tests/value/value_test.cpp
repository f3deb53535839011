// NOT WITH: sanitize=thread
#include <stategraph/value.hpp>

#include <limits>
#include <map>
#include <sstream>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/error.hpp>

#include "tests/checkpoint/bytes.hpp"

namespace sg = stategraph;
using bytes::fromHex;
using bytes::toHex;

namespace {

struct Point {
    int x = 0;
    int y = 0;
    static constexpr auto fields() { return sg::fields(sg::field("x", &Point::x), sg::field("y", &Point::y)); }
    bool operator==(const Point&) const = default;
};

struct Holder {
    std::string name;
    sg::Value payload;
    std::vector<sg::Value> more;
    std::map<std::string, sg::Value> named;
    static constexpr auto fields() {
        return sg::fields(sg::field("name", &Holder::name), sg::field("payload", &Holder::payload),
                          sg::field("more", &Holder::more), sg::field("named", &Holder::named));
    }
    bool operator==(const Holder&) const = default;
};

std::string jsonOf(const char* hex) { return sg::cborToJson(fromHex(hex)); }

}  // namespace

static_assert(sg::Storable<sg::Value>);
static_assert(!std::is_constructible_v<sg::Value, int*> && !std::is_constructible_v<sg::Value, std::ostream&>);

TEST_CASE("a default-made value is null") {
    const sg::Value value;
    CHECK(value.isNull());
    CHECK(toHex(value.bytes()) == "f6");
    CHECK(value == sg::Value(std::optional<int>()));
    CHECK_FALSE(value.as<std::optional<int>>().has_value());
}

TEST_CASE("a value is made from anything storable and gives it back") {
    const sg::Value number = 7;
    const sg::Value text = "yes";
    const sg::Value point = Point{1, 2};
    CHECK(number.as<int>() == 7);
    CHECK(number.as<double>() == 7.0);
    CHECK(text.as<std::string>() == "yes");
    CHECK(text == sg::Value(std::string("yes")));
    CHECK(text == sg::Value(std::string_view("yes")));
    const bool is_same = point.as<Point>() == Point{1, 2};
    CHECK(is_same);
    CHECK(sg::Value(std::vector<int>{1, 2}).as<std::vector<int>>().size() == 2);
    CHECK(sg::Value(true).as<bool>());
    std::string name = "n";
    CHECK(sg::Value(name).as<std::string>() == "n");
    CHECK_FALSE(number == text);
}

TEST_CASE("copies are equal, a moved-from value is a usable one") {
    sg::Value value = Point{1, 2};
    sg::Value copy = value;
    CHECK(copy == value);
    CHECK(copy.bytes() == value.bytes());
    const sg::Value moved = std::move(copy);
    CHECK(moved == value);
    copy = 3;
    CHECK(copy.as<int>() == 3);
    CHECK(value.as<sg::Value>() == value);
}

TEST_CASE("a value of another type is refused") {
    CHECK_THROWS_WITH_AS((void)sg::Value("yes").as<int>(), "expected an integer, found text", sg::WrongTypeError);
    CHECK_THROWS_WITH_AS((void)sg::Value().as<Point>(), "expected a map, found null", sg::WrongTypeError);
    CHECK_THROWS_AS((void)sg::Value(300).as<std::uint8_t>(), sg::WrongTypeError);
}

TEST_CASE("bytes become a value only if they are exactly one item") {
    CHECK(sg::Value::fromCbor(fromHex("820102")).as<std::vector<int>>() == std::vector<int>{1, 2});
    CHECK_THROWS_AS((void)sg::Value::fromCbor(""), sg::WrongTypeError);
    CHECK_THROWS_AS((void)sg::Value::fromCbor(fromHex("8201")), sg::WrongTypeError);
    CHECK_THROWS_AS((void)sg::Value::fromCbor(fromHex("9f01ff")), sg::WrongTypeError);
    CHECK_THROWS_WITH_AS((void)sg::Value::fromCbor(fromHex("0102")),
                         "expected the end of the bytes after one value, found an integer", sg::WrongTypeError);
}

TEST_CASE("a value inside a struct is stored without a wrapper") {
    const Holder holder{"h", Point{1, 2}, {1, "two", {}}, {{"k", 2.5}}};
    const sg::Value stored = holder;
    CHECK(stored.toJson() == R"({"more":[1,"two",null],"name":"h","named":{"k":2.5},"payload":{"x":1,"y":2}})");
    const bool is_same = stored.as<Holder>() == holder;
    CHECK(is_same);
}

TEST_CASE("a value prints as its JSON text") {
    std::ostringstream out;
    out << sg::Value(Point{1, -2}) << ' ' << sg::Value() << ' ' << sg::Value::fromCbor(fromHex("62c328"));
    CHECK(out.str() == R"({"x":1,"y":-2} null <not JSON: expected text, found a text string that is not UTF-8>)");
}

TEST_CASE("numbers keep their value in JSON") {
    CHECK(jsonOf("1bffffffffffffffff") == "18446744073709551615");
    CHECK(jsonOf("3b7fffffffffffffff") == "-9223372036854775808");
    CHECK(jsonOf("3bffffffffffffffff") == "-18446744073709551616");
    CHECK(jsonOf("3bfffffffffffffffe") == "-18446744073709551615");
    CHECK(jsonOf("20") == "-1");
    CHECK(jsonOf("3903e7") == "-1000");
    CHECK(jsonOf("f93c00") == "1.0");
    CHECK(jsonOf("f98000") == "-0.0");
    CHECK(jsonOf("fb3ff199999999999a") == "1.1");
    CHECK(jsonOf("fb7e37e43c8800759c") == "1e+300");
    CHECK(jsonOf("83f97e00f97c00f9fc00") == "[null,null,null]");
}

TEST_CASE("bytes are base64url text in JSON") {
    CHECK(jsonOf("40") == R"("")");
    CHECK(jsonOf("4166") == R"("Zg")");
    CHECK(jsonOf("42666f") == R"("Zm8")");
    CHECK(jsonOf("43666f6f") == R"("Zm9v")");
    CHECK(jsonOf("43fbefff") == R"("--__")");
}

TEST_CASE("map keys that are not text are their JSON text") {
    CHECK(jsonOf("a301f420f6f5f4") == R"({"1":false,"-1":null,"true":false})");
    CHECK(jsonOf("a18201616100") == R"({"[1,\"a\"]":0})");
    CHECK(jsonOf("a1416600") == R"({"Zg":0})");
    CHECK(jsonOf("a1a1616100f6") == R"({"{\"a\":0}":null})");
    // Quotes inside quotes would double in size at each level.
    CHECK_THROWS_AS(jsonOf("a1a10102f6"), sg::WrongTypeError);
}

TEST_CASE("text is escaped in JSON and has to be UTF-8") {
    CHECK(jsonOf("64220a5c01") == R"("\"\n\\\u0001")");
    CHECK(jsonOf("63e6b0b4") == "\"\u6c34\"");
    CHECK_THROWS_AS(jsonOf("61ff"), sg::WrongTypeError);
    CHECK_THROWS_AS(jsonOf("a161ff00"), sg::WrongTypeError);
    const std::string longer(5000, 'x');
    CHECK(sg::Value(longer).toJson() == '"' + longer + '"');
    CHECK_THROWS_AS(jsonOf("0102"), sg::WrongTypeError);
}

TEST_CASE("text in JSON is quoted byte for byte as Boost.JSON quotes it") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("seed ", seed);
    bytes::Random random(seed);
    const auto jsonOfText = [](const std::string& text) {
        std::string cbor;
        sg::Encoder(cbor).text(text);
        return sg::cborToJson(cbor);
    };
    const auto quotedByBoost = [](const std::string& text) {
        return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
    };
    for (char c = 0; c >= 0 && c < 0x7f; ++c) {
        const std::string text{'a', c, 'b'};
        CHECK(jsonOfText(text) == quotedByBoost(text));
    }
    const std::vector<std::string> pieces{
        "\"",     "\\",     "/",          "\n",    "\r\n", "\t", std::string(1, '\0'), "\x1f", "\x7f",
        "\u00fc", "\u2028", "\U00010151", "plain", "<b>",  "'"};
    int wrong = 0;
    for (int i = 0; i < 5000; ++i) {
        std::string text;
        // Longer than any piece in which Boost.JSON emits its text.
        for (std::size_t n = random.below(random.chance(50) ? 400 : 12); n > 0; --n) {
            if (random.chance(2)) {
                text += pieces[random.below(pieces.size())];
            } else {
                text += static_cast<char>(random.below(0x80));
            }
        }
        if (jsonOfText(text) != quotedByBoost(text)) ++wrong;
    }
    CHECK(wrong == 0);
}
