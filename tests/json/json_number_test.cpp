#include <stategraph/json_number.hpp>

#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/support/seed.hpp"

namespace sg = stategraph;
namespace json = boost::json;
using sg::JsonNumber;

namespace {

__extension__ typedef __int128 Wide;

json::value ofWide(Wide exact) {
    if (exact >= std::numeric_limits<std::int64_t>::min() && exact <= std::numeric_limits<std::int64_t>::max())
        return static_cast<std::int64_t>(exact);
    if (exact >= 0 && exact <= static_cast<Wide>(std::numeric_limits<std::uint64_t>::max()))
        return static_cast<std::uint64_t>(exact);
    return static_cast<double>(exact);
}

Wide wideOf(const json::value& number) {
    return number.is_int64() ? static_cast<Wide>(number.get_int64()) : static_cast<Wide>(number.get_uint64());
}

// Returns small integers, and those around the ends of both kinds.
json::value anyInteger(std::mt19937_64& random) {
    static constexpr std::uint64_t ends[] = {0, 1, 1ULL << 31, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL};
    const std::uint64_t near = ends[random() % std::size(ends)] + random() % 5 - 2;
    if (random() % 2 == 0) return near;
    return static_cast<std::int64_t>(near);
}

}  // namespace

TEST_CASE("numbers of JSON are exact while 64 bits hold them, and compare exactly") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20'000; ++i) {
        const json::value a = anyInteger(random);
        const json::value b = anyInteger(random);
        CAPTURE(json::serialize(a));
        CAPTURE(json::serialize(b));
        const Wide x = wideOf(a);
        const Wide y = wideOf(b);
        const JsonNumber m(a);
        const JsonNumber n(b);
        REQUIRE((m < n) == (x < y));
        REQUIRE((m > n) == (x > y));
        const auto is = [](JsonNumber found, Wide wanted) {
            const json::value json = found.toJson();
            if (!json.is_double()) return json == ofWide(wanted) && json.kind() == ofWide(wanted).kind();
            const double exact = static_cast<double>(wanted);  // the operands were rounded before
            return ofWide(wanted).is_double() && std::abs(json.get_double() - exact) <= std::abs(exact) * 1e-15;
        };
        REQUIRE(is(m + n, x + y));
        REQUIRE(is(m - n, x - y));
        // Wide holds every product but those of two numbers that are nearly 2^64.
        if (x < (Wide{1} << 63) || y < (Wide{1} << 63)) REQUIRE(is(m * n, x * y));
    }
}

TEST_CASE("with a double in it a number of JSON is a double, and what is none is refused") {
    CHECK((JsonNumber(1) + JsonNumber(0.5)).toJson() == 1.5);
    CHECK((JsonNumber(3) * JsonNumber(0.5)).toJson() == 1.5);
    CHECK((JsonNumber(1.0) - JsonNumber(1)).toJson().is_double());
    CHECK(JsonNumber(-1) < JsonNumber(0.5));
    CHECK_THROWS_WITH_AS(JsonNumber(json::value("1")), doctest::Contains("expected a number, found a string"),
                         sg::WrongTypeError);
    CHECK_THROWS_AS(JsonNumber(json::value(nullptr)), sg::WrongTypeError);
}

TEST_CASE("a reducer of numbers that structs have is one of JSON's channels") {
    constexpr auto product = sg::reduce("product", [](const auto& a, const auto& b) { return a * b; });
    sg::JsonSchema schema;
    schema.channel("all", sg::sum).channel("most", sg::max).channel("times", sg::JsonReducer(product, 1));
    sg::StateGraph<sg::JsonState> graph(schema);
    const auto writes = [](int n) -> sg::Update<sg::JsonState> {
        return {sg::write("all", n), sg::write("most", n), sg::write("times", n)};
    };
    graph.addNode("a", [writes](const sg::JsonState&) { return writes(3); })
        .addNode("b", [writes](const sg::JsonState&) { return writes(4); })
        .addEdge(sg::START, "a")
        .addEdge("a", "b");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const json::value wanted = {{"all", 9}, {"most", 4}, {"times", 24}};
    CHECK(json::value(app.invoke(writes(2), {.thread_id = "t"}).values) == wanted);
    CHECK(json::value(app.getState({.thread_id = "t"}).values) == wanted);
    CHECK_THROWS_WITH_AS(app.invoke({sg::write("times", "much")}, {.thread_id = "t"}),
                         doctest::Contains("expected a number, found a string"), sg::InvalidUpdateError);
    CHECK(json::value(app.getState({.thread_id = "t"}).values) == wanted);
}
