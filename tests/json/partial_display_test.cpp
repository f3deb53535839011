#include <stategraph/json.hpp>
#include <stategraph/partial_display.hpp>

#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

namespace sg = stategraph;
namespace json = boost::json;

namespace {

std::string shown(const sg::PartialDisplay& display) {
    std::string out;
    for (std::size_t i = 0; i < display.size(); ++i) {
        out += std::string(i > 0 ? " " : "") + std::string(display[i].name) + json::serialize(display[i].value);
    }
    return out;
}

}  // namespace

TEST_CASE("a text replaces its value in the last item") {
    sg::PartialDisplay display;
    CHECK((display.replace("plan", " ") == sg::PartialState::failed_parse));
    CHECK(display.size() == 0);
    display.replace("plan", "{\"a\":\"x");
    CHECK(shown(display) == R"(plan{"a":"x"})");
    display.replace("plan", "y\"");
    CHECK(shown(display) == R"(plan{"a":"xy"})");
}

TEST_CASE("after an event or another text a text continues in a new item") {
    sg::PartialDisplay display;
    display.replace("plan", "[1");
    display.append("plan", {{"tool", "search"}});
    display.append("plan", {{"tool", "search"}});
    display.replace("plan", ",2");
    display.replace("write", "[\"");
    display.replace("plan", ",3");
    CHECK(shown(display) == R"(plan[1] plan{"tool":"search"} plan{"tool":"search"} plan[1,2] write[""] plan[1,2,3])");
}

TEST_CASE("a text that turns out not to be JSON stays shown as it was") {
    sg::PartialDisplay display;
    display.replace("plan", "[1,2");
    CHECK((display.replace("plan", " 3") == sg::PartialState::failed_parse));
    CHECK(shown(display) == "plan[1,2]");
    display.append("tool", 1);
    CHECK((display.replace("plan", "]") == sg::PartialState::failed_parse));
    CHECK(shown(display) == "plan[1,2] tool1");
}

TEST_CASE("an ended text keeps its item, and its name begins anew") {
    sg::PartialDisplay display;
    display.replace("plan", "[1");
    CHECK((display.end("plan") == sg::PartialState::repaired_parse));
    CHECK((display.end("plan") == sg::PartialState::undefined_input));
    CHECK(shown(display) == "plan[1]");
    display.replace("plan", "[2]");
    CHECK(shown(display) == "plan[1] plan[2]");
    CHECK((display.end("plan") == sg::PartialState::successful_parse));
}

TEST_CASE("a display keeps its newest items and refuses more names than it may have") {
    sg::PartialDisplay display({.items_max = 2, .names_max = 2, .json = {.bytes_max = 8}});
    display.replace("a", "[1");
    display.append("b", 2);
    display.replace("a", ",2");
    CHECK(shown(display) == "b2 a[1,2]");
    CHECK(display.dropped() == 1);
    display.replace("b", "3");
    CHECK(shown(display) == "a[1,2] b3");
    CHECK_THROWS_WITH_AS(display.replace("c", "1"), doctest::Contains("'c' is one more"), sg::InvalidArgumentError);
    display.end("b");
    display.replace("c", "1");
    CHECK(shown(display) == "b3 c1");
    CHECK_THROWS_AS(display.replace("a", ",3,4,5,6"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::PartialDisplay({.items_max = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::PartialDisplay({.names_max = 0}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(sg::PartialDisplay({.json = {.depth_max = 0}}), sg::InvalidArgumentError);
}
