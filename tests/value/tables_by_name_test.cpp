// Structs that are stored without a table, either by the names of their members or as Boost.Describe describes them.
// NOT WITH: sanitize=thread
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include <boost/describe.hpp>

#include <stategraph/by_name.hpp>
#include <stategraph/describe.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace by_name_test {

struct Inner {
    using stored_by_name = void;
    std::optional<double> ratio = {};
};
struct Decision {
    using stored_by_name = void;
    bool approved = false;
    std::string by = {};
    std::vector<Inner> parts = {};
    sg::Value note = {};
};

struct Described {
    int amount = 0;
    std::string currency_code = {};
};
BOOST_DESCRIBE_STRUCT(Described, (), (amount, currency_code))

struct DescribedState {
    int count = 0;
    Described price = {};
    BOOST_DESCRIBE_CLASS(DescribedState, (), (count, price), (), ())
    static constexpr auto channels() { return sg::describedChannels<DescribedState>(); }
};

}  // namespace by_name_test
using namespace by_name_test;

TEST_CASE("a struct that says so is stored under its members' names") {
    const Decision decision{true, "Ada", {{0.5}, {}}, "x"};
    const sg::Value stored = decision;
    CHECK(stored.toJson() == R"({"by":"Ada","note":"x","parts":[{"ratio":0.5},{"ratio":null}],"approved":true})");
    const auto read = stored.as<Decision>();
    CHECK(read.approved);
    CHECK(read.by == "Ada");
    REQUIRE(read.parts.size() == 2);
    CHECK(read.parts[0].ratio == 0.5);
    CHECK(read.note == sg::Value("x"));
}

TEST_CASE("a struct without a table is read strictly and has a schema as one with a table") {
    CHECK_THROWS_WITH_AS(sg::parseJson(R"({"approved":true,"by":"Ada","parts":[],"nonsense":1})").asStrict<Decision>(),
                         doctest::Contains("nonsense"), sg::WrongTypeError);
    CHECK(sg::parseJson("{}").asStrict<Inner>().ratio == std::nullopt);
    CHECK(sg::jsonSchema<Inner>().find(R"("ratio")") != std::string::npos);
    CHECK(sg::jsonSchema<Described>().find(R"("currency_code")") != std::string::npos);
}

TEST_CASE("a struct that is described is stored as it is described") {
    CHECK(sg::Value(Described{3, "EUR"}).toJson() == R"({"amount":3,"currency_code":"EUR"})");
    CHECK(sg::Value(Described{3, "EUR"}).as<Described>().currency_code == "EUR");
    sg::StateGraph<DescribedState> graph;
    graph.addNode("node",
                  [](const DescribedState& state) { return sg::set<&DescribedState::count>(state.price.amount); });
    graph.setEntryPoint("node");
    CHECK(graph.compile().invoke({sg::set<&DescribedState::price>({7, "EUR"})}).values.count == 7);
}
