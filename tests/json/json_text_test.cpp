#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

namespace sg = stategraph;
namespace json = boost::json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string printed(const auto& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

}  // namespace

TEST_CASE("a JSON text has null for NaN and the infinities, at any depth, as cborToJson has") {
    const json::value value{{"a", {1, infinity, {{"b", -infinity}}}}, {"n", std::nan("")}, {"x", 0.5}};
    CHECK(sg::detail::jsonText(value) == R"({"a":[1,null,{"b":null}],"n":null,"x":5E-1})");
    CHECK(sg::detail::jsonText(infinity) == "null");
    CHECK(sg::detail::jsonText({{"a", {1, "NaN", nullptr}}}) == R"({"a":[1,"NaN",null]})");
    CHECK(sg::fromJson(value).toJson() == R"({"a":[1,null,{"b":null}],"n":null,"x":0.5})");
}

TEST_CASE("a JsonState and its shared values are printed as JSON, whatever numbers they have") {
    sg::JsonSchema schema;
    schema.channel("x", sg::JsonReducer::lastValue());
    const sg::JsonState state(schema, {{"x", {infinity, 1}}});
    CHECK(printed(state) == R"({"x":[null,1]})");
    CHECK(printed(sg::SharedJson(json::value{std::nan("")})) == "[null]");
}

TEST_CASE("a JSON text has U+FFFD for bytes that are no characters, in texts and in names, and is JSON") {
    const json::value value{{"caf\xe9", {"\xff", "\xc3\xa9\xe9!", "fine \xc3\xa9", "\xe2\x82"}}, {"n", infinity}};
    const std::string text = sg::detail::jsonText(value);
    CHECK(text ==
          "{\"caf\xef\xbf\xbd\":[\"\xef\xbf\xbd\",\"\xc3\xa9\xef\xbf\xbd!\",\"fine \xc3\xa9\","
          "\"\xef\xbf\xbd\xef\xbf\xbd\"],\"n\":null}");
    CHECK(json::parse(text).is_object());
}
