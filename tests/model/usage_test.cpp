#include <stategraph/model/usage.hpp>

#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace model = stategraph::model;
using model::Money;

constexpr std::int64_t million = 1'000'000;

model::UsageByModel usageOf(std::initializer_list<std::pair<std::string, model::Usage>> calls) {
    model::UsageByModel usage;
    for (const auto& [name, used] : calls) usage.add(name, used);
    return usage;
}

std::string costText(const model::Usage& usage, const model::Price& price) {
    const model::Cost cost = model::costOf(usageOf({{"m", usage}}), {{"m", price}});
    CHECK(cost.unpriced.empty());
    return cost.money.text();
}

}  // namespace

TEST_CASE("money is a decimal number of billionths") {
    CHECK(Money().text() == "0");
    CHECK(Money(3).text() == "3");
    CHECK(Money(0.3).text() == "0.3");
    CHECK(Money(0.3).billionths() == 300'000'000);
    CHECK(Money(-0.000000001).text() == "-0.000000001");
    CHECK(Money(1e300).billionths() == std::numeric_limits<std::int64_t>::max());
    CHECK(Money(0.1) < Money(0.2));
    CHECK(Money::ofBillionths(std::numeric_limits<std::int64_t>::min()).text() == "-9223372036.854775808");
}

TEST_CASE("what is read from the cache and what is written to it have their own prices") {
    const model::Usage usage{
        .input_tokens = million, .output_tokens = million / 2, .cached_tokens = 400'000, .cache_write_tokens = 100'000};
    CHECK(costText(usage, {.input = 10, .output = 20}) == "20");
    CHECK(costText(usage, {.input = 10, .output = 20, .cache_read = 1}) == "16.4");
    CHECK(costText(usage, {.input = 10, .output = 20, .cache_read = 1, .cache_write = 12.5}) == "16.65");
}

TEST_CASE("many small calls cost what one large call costs") {
    const model::Price price{.input = 0.15, .output = 0.6, .cache_read = 0.0375};
    const model::Usage small{.input_tokens = 7, .output_tokens = 1, .cached_tokens = 3};
    model::UsageByModel sum;
    for (int i = 0; i < 1000; ++i) sum.add("m", small);
    CHECK(model::costOf(sum, {{"m", price}}).money.text() == "0.0013125");
}

TEST_CASE("a cost that does not fit is the largest there is, and counts that make no sense cost nothing") {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(model::costOf(usageOf({{"m", {.input_tokens = most}}}), {{"m", {.input = 9e9}}}).money.billionths() == most);
    CHECK(costText({.input_tokens = -5, .cached_tokens = 7}, {.input = 1, .cache_read = 1}) == "0");
    CHECK(costText({.input_tokens = million, .cached_tokens = 3 * million}, {.input = 5, .cache_read = 1}) == "1");
}

TEST_CASE("a name is the price of the model and of its dated versions, and no other model's") {
    const model::Prices prices{{"gpt-5", {.input = 1}}, {"claude-sonnet-4", {.input = 3}}};
    const auto input = [&](const char* name) {
        const model::Price* const price = model::priceOf(name, prices);
        return price != nullptr ? price->input.text() : std::string("none");
    };
    CHECK(input("gpt-5") == "1");
    CHECK(input("gpt-5-2025-08-07") == "1");
    CHECK(input("gpt-5-mini") == "none");
    CHECK(input("gpt-5-2025-08-0x") == "none");
    CHECK(input("claude-sonnet-4-20250514") == "3");
    CHECK(input("claude-sonnet-4-5") == "none");
    CHECK(input("claude-sonnet-4-5-20250929") == "none");
    CHECK(input("") == "none");
    CHECK(model::priceOf("anything", {{"*", {.input = 2}}})->input.text() == "2");
}

TEST_CASE("models without a price are named, and the cost is that of the others") {
    const model::UsageByModel usage =
        usageOf({{"a", {.input_tokens = million}}, {"b", {.input_tokens = 1}}, {"c", {.output_tokens = 1}}});
    CHECK(usage.input_tokens == million + 1);
    CHECK(usage.total() == model::Usage{.input_tokens = million + 1, .output_tokens = 1});
    const model::Cost cost = model::costOf(usage, {{"a", {.input = 2}}});
    CHECK(cost.money.text() == "2");
    CHECK(cost.unpriced == std::vector<std::string>{"b", "c"});
}
