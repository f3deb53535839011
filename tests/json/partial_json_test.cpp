#include <stategraph/detail/json_reading.hpp>
#include <stategraph/json.hpp>
#include <stategraph/partial_json.hpp>

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/json/json_texts.hpp"
#include "tests/support/json_compare.hpp"

namespace sg = stategraph;
namespace json = boost::json;
using sg::PartialState;

namespace {

sg::PartialJson fed(std::string_view text, const sg::PartialJsonOptions& options = {}) {
    sg::PartialJson partial(options);
    partial.feed(text);
    return partial;
}

std::string shown(const sg::PartialJson& partial) {
    return partial.hasValue() ? json::serialize(partial.value()) : std::string(sg::toString(partial.state()));
}
std::string shown(std::string_view text, const sg::PartialJsonOptions& options = {}) {
    return shown(fed(text, options));
}

struct Row {
    std::string text;
    std::string state;
    json::value value;
};

std::vector<Row> rowsOf(const std::string& name) {
    std::ifstream file(std::string(STATEGRAPH_TESTS_DIR) + "/json/" + name);
    std::vector<Row> rows;
    for (std::string line; std::getline(file, line);) {
        const json::object row = json::parse(line).as_object();
        const json::value* const value = row.if_contains("value");
        rows.push_back({json::value_to<std::string>(row.at("text")), json::value_to<std::string>(row.at("state")),
                        value != nullptr ? *value : json::value()});
    }
    return rows;
}

void checkRows(const std::string& name, std::size_t count) {
    const auto rows = rowsOf(name);
    CHECK(rows.size() == count);
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const sg::PartialJson whole = fed(row.text);
        CHECK(sg::toString(whole.state()) == row.state);
        CHECK(json_compare::same(whole.value(), row.value));
        sg::PartialJson bytewise;
        bytewise.feed({});
        for (const char c : row.text) bytewise.feed({&c, 1});
        CHECK((bytewise.state() == whole.state()));
        CHECK(bytewise.value() == whole.value());
        CHECK(bytewise.lastValue() == whole.lastValue());
    }
}

}  // namespace

TEST_CASE("unfinished JSON is read as the reference reads it") { checkRows("partial_json_recorded.ndjson", 400); }
TEST_CASE("unfinished JSON is read better than the reference reads it where that was wrong") {
    checkRows("partial_json_wanted.ndjson", 38);
}

TEST_CASE("without a text there is no state but undefined_input, and an empty text has failed") {
    sg::PartialJson partial;
    CHECK((partial.state() == PartialState::undefined_input));
    CHECK_FALSE(partial.hasValue());
    CHECK(partial.value().is_null());
    CHECK((partial.feed("") == PartialState::failed_parse));
    CHECK((partial.feed("1") == PartialState::successful_parse));
    CHECK(partial.value() == 1);
    partial.clear();
    CHECK((partial.state() == PartialState::undefined_input));
    CHECK(partial.bytes() == 0);
}

TEST_CASE("wherever a text is split its value is that of the whole") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    json_texts::Writer writer(random);
    for (std::size_t round = 0; round < fault::rounds(60); ++round) {
        const std::string text = writer.document();
        CAPTURE(text);
        const json::value expected = sg::detail::readJson(text).value;
        const sg::PartialJson whole = fed(text);
        REQUIRE((whole.state() == PartialState::successful_parse));
        REQUIRE(json_compare::same(whole.value(), expected));
        for (std::size_t at = 0; at <= text.size(); ++at) {
            CAPTURE(at);
            sg::PartialJson split = fed(std::string_view(text).substr(0, at));
            split.feed(std::string_view(text).substr(at));
            REQUIRE((split.state() == whole.state()));
            REQUIRE(split.value() == whole.value());
        }
    }
}

TEST_CASE("every beginning of a document has a value, which only grows") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    json_texts::Writer writer(random);
    for (std::size_t round = 0; round < fault::rounds(200); ++round) {
        const std::string text = writer.document();
        CAPTURE(text);
        sg::PartialJson partial;
        json::value before;
        bool had_value = false;
        for (std::size_t size = 1; size <= text.size(); ++size) {
            CAPTURE(size);
            partial.feed({&text[size - 1], 1});
            const std::size_t begin = text.find_first_not_of(" \n\t\r");
            const bool is_blank = begin >= size || (begin + 1 == size && text[begin] == '-');
            REQUIRE(partial.hasValue() == !is_blank);
            if (had_value) REQUIRE(json_compare::refines(before, partial.value()));
            REQUIRE(partial.value() == fed(std::string_view(text).substr(0, size)).value());
            had_value = partial.hasValue();
            before = partial.value();
        }
        REQUIRE((partial.state() == PartialState::successful_parse));
    }
}

TEST_CASE("any bytes have a state, which does not depend on how they are split") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const std::string_view likely = "{}[],:\"\\-+.eE019tfnu \n\xc3\xa9\xff";
    for (std::size_t round = 0; round < fault::rounds(4000); ++round) {
        std::string text(random.below(24), ' ');
        for (char& c : text)
            c = random.chance(12) ? static_cast<char>(random.bits()) : likely[random.below(likely.size())];
        CAPTURE(bytes::toHex(text));
        for (const bool clean : {false, true}) {
            const sg::PartialJson whole = fed(text, {.clean = clean});
            sg::PartialJson bytewise({.clean = clean});
            bytewise.feed({});
            for (const char c : text) bytewise.feed({&c, 1});
            REQUIRE((bytewise.state() == whole.state()));
            REQUIRE(bytewise.value() == whole.value());
            REQUIRE(bytewise.lastValue() == whole.lastValue());
        }
    }
}

TEST_CASE("what is no whole character yet is held back") {
    CHECK(shown("\"x\xf0\x9f\x98") == "\"x\"");
    CHECK(shown("\"x\xf0\x9f\x98\x80") == "\"x\xf0\x9f\x98\x80\"");
    CHECK(shown(R"("x\ud83d)") == R"("x")");
    CHECK(shown(R"("x\ud83d\ude0)") == R"("x")");
    CHECK(shown(R"("x\ud83d\ude00)") == "\"x\xf0\x9f\x98\x80\"");
}

TEST_CASE("half a surrogate pair that stays alone is U+FFFD") {
    const std::string mark = "\xef\xbf\xbd";
    CHECK(shown(R"("x\ud83d")") == "\"x" + mark + "\"");
    CHECK(shown(R"("x\ud83dy)") == "\"x" + mark + "y\"");
    CHECK(shown(R"("\ud83d\n)") == "\"" + mark + "\\n\"");
    CHECK(shown(R"("\ud83d\u0041)") == "\"" + mark + "A\"");
    CHECK(shown(R"("\ude00)") == "\"" + mark + "\"");
    CHECK(shown(R"("\ud83d\ud83d\ude00)") == "\"" + mark + "\xf0\x9f\x98\x80\"");
    CHECK(shown(R"({"\ud83d":1)") == "{\"" + mark + "\":1}");
}

TEST_CASE("strings that are not UTF-8 fail") {
    for (const char* text : {"\"\xff", "\"\xc3(", "\"\\u00\x94\x65\x39\"", "\"\xc0\x80", "\"\xed\xa0\x80",
                             "\"\xf4\x90\x80\x80", "\"\xc3\"", "{\"\xff\":1", "\"\\ud83d\xff"}) {
        CAPTURE(std::string(text));
        CHECK((fed(text).state() == PartialState::failed_parse));
    }
    CHECK(shown("{\"a\":1,\"\xff") == R"({"a":1})");
}

TEST_CASE("a failed text can become right again, as long as nothing after the fault is kept") {
    sg::PartialJson partial;
    CHECK((partial.feed(" ") == PartialState::failed_parse));
    CHECK((partial.feed("-") == PartialState::failed_parse));
    CHECK((partial.feed("3") == PartialState::successful_parse));
    CHECK((partial.feed("e+") == PartialState::repaired_parse));
    CHECK(partial.value() == -3);
    CHECK((partial.feed("1") == PartialState::successful_parse));
    CHECK(partial.value() == -30.0);
    CHECK((partial.feed(" x") == PartialState::repaired_parse));
    CHECK(partial.value() == -30.0);
}

TEST_CASE("keys that lead to prototypes have failed until their object is replaced") {
    sg::PartialJson partial = fed(R"({"a":[{"constructor":{"prototype":1)");
    CHECK((partial.state() == PartialState::failed_parse));
    CHECK(partial.value().is_null());
    CHECK(partial.lastValue().is_null());
    CHECK((partial.feed(R"(},"constructor":2}])") == PartialState::repaired_parse));
    CHECK((partial.feed(R"(,"a":[{"__proto__":1,"__proto__":2}])") == PartialState::failed_parse));
    CHECK((partial.feed(R"(,"a":3})") == PartialState::successful_parse));
    CHECK(json::serialize(partial.value()) == R"({"a":3})");
    CHECK((fed(R"({"prototype":1,"constructor":[{"prototype":1}]})").state() == PartialState::successful_parse));
}

TEST_CASE("of equal keys the last one holds, from its first character on") {
    CHECK(shown(R"({"a":[1,2],"b":1,"a":)") == R"({"a":[1,2],"b":1})");
    CHECK(shown(R"({"a":[1,2],"b":1,"a":[)") == R"({"a":[],"b":1})");
    CHECK(shown(R"({"a":1,"a":2})") == R"({"a":2})");
    CHECK((fed(R"({"a":1,"a":2})").state() == PartialState::successful_parse));
}

TEST_CASE("integers of 64 bits are exact, other numbers are rounded correctly") {
    CHECK(fed("[9223372036854775807").value().at(0) == INT64_MAX);
    CHECK(fed("[-9223372036854775808").value().at(0) == INT64_MIN);
    CHECK(fed("[18446744073709551615").value().at(0) == UINT64_MAX);
    CHECK(fed("[18446744073709551616").value().at(0) == 18446744073709551616.0);
    CHECK(fed("2.2250738585072014e-308").value() == 2.2250738585072014e-308);
    CHECK(fed("1e400").value() == std::numeric_limits<double>::infinity());
    CHECK(fed("-1e99999999999999999999").value() == -std::numeric_limits<double>::infinity());
    CHECK(fed("1e-99999999999999999999").value() == 0.0);
    CHECK(fed("0." + std::string(500, '0') + "1").value() == 0.0);
    CHECK(fed("1" + std::string(900, '0') + "e-400").value() == std::numeric_limits<double>::infinity());
}

TEST_CASE("what is open can be distinguished from what is closed") {
    const sg::PartialJson partial = fed(R"({"a":"x","b":[1,{"c":tru)");
    const json::value& root = partial.value();
    CHECK(partial.isOpen(root));
    CHECK_FALSE(partial.isOpen(root.at("a")));
    CHECK(partial.isOpen(root.at("b")));
    CHECK_FALSE(partial.isOpen(root.at("b").at(0)));
    CHECK(partial.isOpen(root.at("b").at(1)));
    CHECK(partial.isOpen(root.at("b").at(1).at("c")));
    CHECK_FALSE(partial.isOpen(json::value(1)));
    const sg::PartialJson whole = fed(R"([true)");
    CHECK_FALSE(whole.isOpen(whole.value().at(0)));
    const sg::PartialJson number = fed("12");
    CHECK(number.isOpen(number.value()));
    const sg::PartialJson closed = fed("[12] x");
    CHECK_FALSE(closed.isOpen(closed.value()));
}

TEST_CASE("of a text that failed the last value stays") {
    const sg::PartialJson partial = fed(R"({"a":"text","b":12 "c)");
    CHECK(partial.hasValue());
    sg::PartialJson failed = fed(R"({"a":"tex)");
    failed.feed("t\n");
    CHECK((failed.state() == PartialState::failed_parse));
    CHECK(failed.value().is_null());
    CHECK(json::serialize(failed.lastValue()) == R"({"a":"text"})");
    failed.feed("more\"}");
    CHECK(json::serialize(failed.lastValue()) == R"({"a":"text"})");
}

TEST_CASE("texts that are too long, too deep or have a number that is too long are refused, and stay so") {
    sg::PartialJson small({.bytes_max = 4});
    small.feed("[1");
    small.feed(",2");
    CHECK_THROWS_WITH_AS(small.feed("]"),
                         doctest::Contains("is longer than 4 bytes; raise PartialJsonOptions::bytes_max"),
                         sg::InvalidArgumentError);
    CHECK((small.state() == PartialState::failed_parse));
    CHECK_THROWS_AS(small.feed(""), sg::InvalidArgumentError);
    small.clear();
    CHECK((small.feed("[]") == PartialState::successful_parse));

    sg::PartialJson flat({.depth_max = 2});
    CHECK((flat.feed("[[1],[2") == PartialState::repaired_parse));
    CHECK_THROWS_WITH_AS(flat.feed(",{"), doctest::Contains("nested deeper than 2 levels"), sg::InvalidArgumentError);
    CHECK((flat.state() == PartialState::failed_parse));
    CHECK(json::serialize(flat.lastValue()) == "[[1],[2]]");

    CHECK(fed(std::string(256, '[')).hasValue());
    CHECK_THROWS_AS(fed(std::string(257, '[')), sg::InvalidArgumentError);
    CHECK(fed("[" + std::string(1024, '1')).hasValue());
    CHECK_THROWS_AS(fed("[" + std::string(1025, '1')), sg::InvalidArgumentError);

    CHECK_THROWS_AS(sg::PartialJson({.bytes_max = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::PartialJson({.depth_max = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::PartialJson({.depth_max = 257}), sg::InvalidArgumentError);
}

TEST_CASE("a value survives moves, and references to it too") {
    sg::PartialJson first = fed("[\"a");
    const json::value& value = first.value();
    sg::PartialJson second = std::move(first);
    second.feed("b\",2");
    CHECK(&second.value() == &value);
    CHECK(json::serialize(value) == R"(["ab",2])");
}

TEST_CASE("cleaning takes JSON out of code fences and sentences") {
    const sg::PartialJsonOptions clean{.clean = true};
    const std::string fence = "```json\n{\"a\":[1,2]}\n```\nThat is all: {\"b\":1}";
    CHECK((fed(fence, clean).state() == PartialState::successful_parse));
    CHECK(shown(fence, clean) == R"({"a":[1,2]})");
    CHECK(shown("```\n[1,2", clean) == "[1,2]");
    CHECK(shown("```{\"a\":1}```", clean) == R"({"a":1})");
    CHECK(shown(" [1,2]", clean) == "[1,2]");
    CHECK(shown("Of the items [1] and [2]: {\"a\":1} ok", clean) == R"({"a":1})");
    CHECK(shown("Here:\n```json\n[1]\n```", clean) == "[1]");
    CHECK(shown("`x` ``y`` <|im_start|> {", clean) == "{}");
    CHECK(shown("```js", clean) == "failed-parse");
    CHECK(shown("nothing", clean) == "failed-parse");
    CHECK(shown("{\"a\":\"x\ny\tz", clean) == R"({"a":"x\ny\tz"})");
    CHECK((fed("{\"a\":\"x\ny\"}", clean).state() == PartialState::successful_parse));
    CHECK((fed("{\"a\":\"\x01", clean).state() == PartialState::failed_parse));
    CHECK((fed("{\"a\":1 \"b\":2}", clean).state() == PartialState::failed_parse));
}
