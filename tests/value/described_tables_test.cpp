// Structs that are stored without a table, as Boost.Describe describes them.
// NOT WITH: sanitize=thread
#include <doctest/doctest.h>

#include <string>

#include <boost/describe.hpp>

#include <stategraph/describe.hpp>
#include <stategraph/json_schema.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace described_test {

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

}  // namespace described_test
using namespace described_test;

TEST_CASE("a struct that is described is stored as it is described") {
    CHECK(sg::Value(Described{3, "EUR"}).toJson() == R"({"amount":3,"currency_code":"EUR"})");
    CHECK(sg::Value(Described{3, "EUR"}).as<Described>().currency_code == "EUR");
    sg::StateGraph<DescribedState> graph;
    graph.addNode("node",
                  [](const DescribedState& state) { return sg::set<&DescribedState::count>(state.price.amount); });
    graph.setEntryPoint("node");
    CHECK(graph.compile().invoke({sg::set<&DescribedState::price>({7, "EUR"})}).values.count == 7);
    CHECK(sg::jsonSchema<Described>().find(R"("currency_code")") != std::string::npos);
    CHECK_THROWS_WITH_AS(sg::parseJson(R"({"amount":1,"currency_code":"EUR","nonsense":1})").asStrict<Described>(),
                         doctest::Contains("nonsense"), sg::WrongTypeError);
}
