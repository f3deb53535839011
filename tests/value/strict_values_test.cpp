// NOT WITH: sanitize=thread
#include <stategraph/value.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include <doctest/doctest.h>

#include <stategraph/channel.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "tests/support/seed.hpp"

// Values from outside are read strictly; stored values are read as before.
namespace sg = stategraph;

namespace strict_values {

enum class Colour { red, green, blue };
constexpr auto enumNames(Colour) {
    return sg::enumNames<Colour>({{"red", Colour::red}, {"green", Colour::green}, {"grass", Colour::green}});
}
enum class Plain { a, b };

struct Place {
    std::string city = {};
    std::optional<std::string> country = {};
    int zip = 0;
    std::string units = "metric";
    friend bool operator==(const Place&, const Place&) = default;
    static constexpr auto fields() {
        return sg::fields(sg::field("city", &Place::city), sg::field("country", &Place::country),
                          sg::field("zip", &Place::zip, sg::formerly("code")),
                          sg::field("units", &Place::units, sg::defaulted));
    }
};
struct Trip {
    Place where = {};
    std::vector<Place> stops = {};
    std::map<std::string, Place> homes = {};
    std::optional<Place> end = {};
    friend bool operator==(const Trip&, const Trip&) = default;
    static constexpr auto fields() {
        return sg::fields(sg::field("where", &Trip::where), sg::field("stops", &Trip::stops, sg::defaulted),
                          sg::field("homes", &Trip::homes, sg::defaulted, sg::describe("by name")),
                          sg::field("end", &Trip::end));
    }
};
struct Open {
    int known = 0;
    static constexpr bool allows_unknown_members = true;
    static constexpr auto fields() { return sg::fields(sg::field("known", &Open::known)); }
};
struct Circle {
    double radius = 0;
    static constexpr std::string_view tag = "circle";
    friend bool operator==(const Circle&, const Circle&) = default;
    static constexpr auto fields() { return sg::fields(sg::field("radius", &Circle::radius)); }
};
struct Box {
    int a = 0;
    int length = 0;
    static constexpr std::string_view tag = "box";
    friend bool operator==(const Box&, const Box&) = default;
    static constexpr auto fields() { return sg::fields(sg::field("length", &Box::length), sg::field("a", &Box::a)); }
};
using Shape = std::variant<Circle, Box>;
struct Kinds {
    std::variant<Box, Circle> shape = {};
    static constexpr auto fields() { return sg::fields(sg::field("shape", &Kinds::shape)); }
};
struct State {
    std::vector<int> list = {};
    std::string name = {};
    std::optional<int> age = {};
    int n = 5;
    static constexpr auto channels() {
        return sg::channels(sg::channel("list", &State::list, sg::append), sg::channel("name", &State::name),
                            sg::channel("age", &State::age),
                            sg::channel("n", &State::n, sg::sum, sg::describe("how many")));
    }
};

template <class T>
std::string refused(std::string_view json) {
    try {
        (void)sg::fromJson<T>(json);
    } catch (const sg::WrongTypeError& error) {
        return error.message();
    }
    return "";
}

}  // namespace strict_values

using namespace strict_values;

template <>
inline constexpr std::string_view stategraph::tag_member<std::variant<Box, Circle>> = "kind";

TEST_CASE("a member is required unless it is optional or defaulted") {
    CHECK(sg::fromJson<Place>(R"({"city":"Rome","zip":1})") == Place{"Rome", {}, 1, "metric"});
    CHECK(sg::fromJson<Place>(R"({"city":"Rome","country":null,"zip":1,"units":"miles"})") ==
          Place{"Rome", {}, 1, "miles"});
    CHECK(refused<Place>(R"({"city":"Rome"})") == "member 'zip' is missing");
    CHECK(refused<Place>(R"({"city":null,"zip":1})") == "member 'city': expected text, found null");
}

TEST_CASE("an unknown member is refused unless the type allows it") {
    CHECK(refused<Place>(R"({"city":"Rome","zip":1,"nonsense":2})") ==
          "member 'nonsense' is unknown: known are 'city', 'country', 'zip', 'units'");
    CHECK(sg::fromJson<Open>(R"({"known":1,"nonsense":2})").known == 1);
    CHECK(refused<Open>(R"({"nonsense":2})") == "member 'known' is missing");
}

TEST_CASE("all faults of an object are reported at once, with their paths") {
    CHECK(
        refused<Trip>(
            R"({"where":{"city":1,"town":"x"},"stops":[{"city":"a","zip":1},{"zip":"b"}],"homes":{"me":{"city":"c"}},"end":[]})") ==
        "member 'end': expected a map, found an array; "
        "member 'homes': entry 'me': member 'zip' is missing; "
        "member 'stops': item 1: member 'zip': expected an integer, found text; "
        "member 'stops': item 1: member 'city' is missing; "
        "member 'where': member 'city': expected text, found an integer; "
        "member 'where': member 'town' is unknown: known are 'city', 'country', 'zip', 'units'; "
        "member 'where': member 'zip' is missing");
    const std::string lists = refused<std::vector<std::vector<int>>>("[[],[1],[1,2,true]]");
    CHECK(lists == "item 2: item 2: expected an integer, found a boolean");
}

TEST_CASE("an error does not grow with what was sent") {
    std::string json = "{";
    for (int i = 0; i < 10'000; ++i) json += "\"" + std::string(200, 'x') + std::to_string(i) + "\":1,";
    json += R"("city":"a"})";
    const std::string why = refused<Place>(json);
    CHECK(why.find("and 9985 more") != std::string::npos);
    CHECK(why.size() < 4000);
}

TEST_CASE("a former name counts as the member's, and both are a fault") {
    CHECK(sg::fromJson<Place>(R"({"city":"Rome","code":1})").zip == 1);
    CHECK(refused<Place>(R"({"city":"Rome","code":1,"zip":2})").find("occurs twice") != std::string::npos);
}

TEST_CASE("a member that occurs twice is a fault, wherever it is and however its name is written") {
    for (const char* text : {R"({"city":"Rome","city":"Oslo","zip":1})",
                             R"({"city":"Rome","zip":1,"\u0063ity":"Oslo"})", R"({"city":"Rome","zip":1,"city":5})"}) {
        CAPTURE(text);
        CHECK(refused<Place>(text).find("member 'city' occurs twice") != std::string::npos);
    }
    CHECK(refused<std::map<std::string, int>>(R"({"a":1,"b":2,"a":1})").find("entry 'a': it occurs twice") !=
          std::string::npos);
    CHECK(refused<std::vector<std::map<std::string, int>>>(R"([{},{"a":1,"a":1}])").find("item 1: entry 'a'") !=
          std::string::npos);
    CHECK(refused<sg::Value>(R"([{"a":[{"b":1,"c":2,"b":1}]}])").find("occurs twice") != std::string::npos);
    CHECK(refused<boost::json::value>(R"([{"a":[{"b":1,"c":2,"b":1}]}])").find("occurs twice") != std::string::npos);
    CHECK(sg::parseJson(R"({"city":"Rome","city":"Oslo","zip":1})").as<Place>().city == "Rome");
}

TEST_CASE("stored values are read as leniently as ever") {
    const sg::Value odd = sg::parseJson(R"({"nonsense":1})");
    CHECK(odd.as<Place>() == Place{});
    CHECK_THROWS_AS(odd.asStrict<Place>(), sg::WrongTypeError);
    CHECK_THROWS_AS(sg::Value(3.0).as<int>(), sg::WrongTypeError);
}

TEST_CASE("what a program made of its own types is read strictly too") {
    const Trip trip{{"a", "b", 1, "c"}, {{"d", {}, 2, "e"}}, {{"f", {}}}, Place{}};
    CHECK(sg::Value(trip).asStrict<Trip>() == trip);
    CHECK(sg::Value("text").asStrict<std::string>() == "text");
    CHECK_THROWS_AS(sg::Value(std::string("\xff")).asStrict<int>(), sg::WrongTypeError);
}

TEST_CASE("an integral real number is an integer, and no other") {
    CHECK(sg::fromJson<int>("3.0") == 3);
    CHECK(sg::fromJson<int>("-3e0") == -3);
    CHECK(sg::fromJson<unsigned char>("255.0") == 255);
    CHECK(sg::fromJson<std::int64_t>("-9223372036854775808.0") == std::numeric_limits<std::int64_t>::min());
    CHECK(sg::fromJson<std::uint64_t>("1e19") == 10'000'000'000'000'000'000U);
    CHECK(sg::fromJson<int>("-0.0") == 0);
    CHECK(refused<int>("3.5") == "expected an integer, found 3.5");
    CHECK(refused<std::int64_t>("1e300") == "expected an integer, found 1e+300");
    CHECK(refused<unsigned char>("256.0") == "expected an integer from 0 to 255, found 256");
    CHECK(refused<unsigned>("-1.0") == "expected an integer that is not negative, found a negative one");
    CHECK(refused<std::int64_t>("9223372036854775808.0") != "");
    CHECK_THROWS_AS(sg::Value(std::numeric_limits<double>::infinity()).asStrict<int>(), sg::WrongTypeError);
    CHECK_THROWS_AS(sg::Value(std::numeric_limits<double>::quiet_NaN()).asStrict<int>(), sg::WrongTypeError);
}

TEST_CASE("an enum with names is stored as text, and numbers of older programs are still read") {
    CHECK(sg::Value(Colour::green).toJson() == R"("green")");
    CHECK(sg::Value("grass").as<Colour>() == Colour::green);
    CHECK(sg::Value("grass").asStrict<Colour>() == Colour::green);
    CHECK(sg::Value(1).as<Colour>() == Colour::green);
    CHECK(sg::Value(Colour::blue).toJson() == "2");  // this value has no name
    CHECK(sg::Value(Colour::blue).as<Colour>() == Colour::blue);
    CHECK(refused<Colour>("\"pink\"") == "expected one of 'red', 'green', 'grass', found 'pink'");
    CHECK(refused<Colour>("1") == "expected one of 'red', 'green', 'grass', found an integer");
    CHECK(sg::Value(Plain::b).toJson() == "1");
    CHECK(sg::fromJson<Plain>("1") == Plain::b);
    const std::map<Colour, int> counts{{Colour::red, 1}, {Colour::green, 2}};
    CHECK(sg::toJson(counts) == R"({"red":1,"green":2})");
    CHECK(sg::fromJson<std::map<Colour, int>>(sg::toJson(counts)) == counts);
}

TEST_CASE("tagged alternatives are objects with their tag") {
    CHECK(sg::Value(Shape(Box{1, 2})).toJson() == R"({"a":1,"type":"box","length":2})");
    CHECK(sg::toJson(Shape(Box{1, 2})) == R"({"type":"box","length":2,"a":1})");
    CHECK(sg::Value(Shape(Circle{1})).as<Shape>() == Shape(Circle{1}));
    CHECK(sg::fromJson<Shape>(R"({"type":"circle","radius":2})") == Shape(Circle{2}));
    CHECK(refused<Shape>(R"({"type":"circle","radius":2,"a":1})") == "member 'a' is unknown: known are 'radius'");
    CHECK(refused<Shape>(R"({"radius":2})") == "member 'type' is missing, which is one of 'circle', 'box'");
    CHECK(refused<Shape>(R"({"type":"round"})") == "member 'type': expected one of 'circle', 'box', found 'round'");
    CHECK(refused<Shape>(R"({"type":1})") == "member 'type': expected one of 'circle', 'box'");
    CHECK(refused<Shape>("[0,{\"radius\":2}]") != "");
}

TEST_CASE("what was stored of a variant before its alternatives had tags is still read") {
    CHECK(sg::parseJson(R"([1,{"a":1,"length":2}])").as<Shape>() == Shape(Box{1, 2}));
    CHECK(sg::parseJson(R"({"type":"box","a":1,"other":3})").as<Shape>() == Shape(Box{1, 0}));
}

TEST_CASE("the member with the tag may have another name") {
    CHECK(sg::toJson(Kinds{Circle{1}}) == R"({"shape":{"kind":"circle","radius":1.0}})");
    CHECK(std::get<Box>(sg::fromJson<Kinds>(R"({"shape":{"kind":"box","a":1,"length":2}})").shape) == Box{1, 2});
}

TEST_CASE("a state is read strictly by its table: channels with a reducer have a value from the start") {
    const State state = sg::fromJson<State>(R"({"name":"n"})");
    CHECK(state.name == "n");
    CHECK(state.n == 5);
    CHECK(refused<State>(R"({"list":[1,"2"],"nonsense":1})") ==
          "member 'list': item 1: expected an integer, found text; "
          "member 'nonsense' is unknown: known are 'list', 'name', 'age', 'n'; member 'name' is missing");
}

TEST_CASE("JSON for people lists members as the table does") {
    CHECK(sg::Value(Place{"a", "b", 1, "c"}).toJson() == R"({"zip":1,"city":"a","units":"c","country":"b"})");
    CHECK(sg::toJson(Place{"a", "b", 1, "c"}) == R"({"city":"a","country":"b","zip":1,"units":"c"})");
    CHECK(sg::toJson(State{{1}, "n", 2, 3}) == R"({"list":[1],"name":"n","age":2,"n":3})");
    const std::unordered_map<std::string, std::vector<Place>> nested{{"k", {Place{}}}};
    CHECK(sg::toJson(nested) == R"({"k":[{"city":"","country":null,"zip":0,"units":"metric"}]})");
    CHECK(sg::Value(State{{1}, "n", 2, 3}).toJson() == R"({"n":3,"age":2,"list":[1],"name":"n"})");
}

TEST_CASE("bytes and keys that are numbers come back from their JSON") {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 300; ++i) {
        CHECK(sg::fromJson<std::vector<std::byte>>(sg::toJson(bytes)) == bytes);
        bytes.push_back(static_cast<std::byte>(i * 7));
    }
    CHECK(refused<std::vector<std::byte>>("\"A\"") != "");
    CHECK(refused<std::vector<std::byte>>("\"A?==\"") != "");
    const std::map<int, std::string> map{{-5, "a"}, {0, "b"}, {std::numeric_limits<int>::min(), "c"}};
    CHECK(sg::fromJson<std::map<int, std::string>>(sg::toJson(map)) == map);
    CHECK(refused<std::map<int, int>>(R"({"x":1})") == "entry 'x': expected an integer, found text");
    CHECK(refused<std::map<int, int>>(R"({"1":"1"})") == "entry '1': expected an integer, found text");
    CHECK(refused<std::map<unsigned char, int>>(R"({"256":1})") != "");
}

TEST_CASE("JSON that comes from Boost is read strictly too") {
    const boost::json::value json = boost::json::parse(R"({"city":"Rome","zip":1.0})");
    CHECK(sg::fromJson<Place>(json) == Place{"Rome", {}, 1, "metric"});
    CHECK_THROWS_AS(sg::fromJson<Place>(boost::json::value(1)), sg::WrongTypeError);
    CHECK_THROWS_AS(sg::fromJson<Place>("{"), sg::InvalidArgumentError);
}

TEST_CASE("random values come back from their JSON, and with any one member gone or one too many they are refused") {
    const auto seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto number = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    const auto text = [&] {
        std::string made;
        for (int i = number(6); i > 0; --i) made += "ab\"\\\n{}:,"[number(9)];
        return made;
    };
    const auto place = [&] {
        Place made{text(), {}, number(1000) - 500, text()};
        if (number(2) == 0) made.country = text();
        return made;
    };
    for (int round = 0; round < 200; ++round) {
        Trip trip{place(), {}, {}, {}};
        for (int i = number(4); i > 0; --i) trip.stops.push_back(place());
        for (int i = number(4); i > 0; --i) trip.homes[text()] = place();
        if (number(2) == 0) trip.end = place();
        const std::string json = sg::toJson(trip);
        CAPTURE(json);
        REQUIRE(sg::fromJson<Trip>(json) == trip);
        REQUIRE(sg::Value(trip).asStrict<Trip>() == trip);
        boost::json::value broken = boost::json::parse(json);
        // At one place in the tree, a required member is removed or an unknown one is added.
        boost::json::object* at = &broken.at("where").as_object();
        if (!trip.stops.empty() && number(2) == 0) at = &broken.at("stops").as_array().at(0).as_object();
        if (number(2) == 0) {
            at->erase(number(2) == 0 ? "city" : "zip");
        } else {
            at->emplace("extra" + text(), 1);
        }
        REQUIRE_THROWS_AS(sg::fromJson<Trip>(broken), sg::WrongTypeError);
    }
}
