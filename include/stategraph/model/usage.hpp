#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/fields.hpp>

// What calls of models use, in tokens, and what that costs.
namespace stategraph::model {

/// What a call of a model has used, in tokens, as the provider counts them. 0: none, or not reported.
struct Usage {
    /// The whole input, with the parts that were read from the provider's cache or written to it.
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    /// The part of the output that was reasoning.
    std::int64_t reasoning_tokens = 0;
    /// The part of the input that the provider had cached.
    std::int64_t cached_tokens = 0;
    /// The part of the input that the provider has written to its cache.
    std::int64_t cache_write_tokens = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("input_tokens", &Usage::input_tokens),
                                  field("output_tokens", &Usage::output_tokens),
                                  field("reasoning_tokens", &Usage::reasoning_tokens, defaulted),
                                  field("cached_tokens", &Usage::cached_tokens, defaulted),
                                  field("cache_write_tokens", &Usage::cache_write_tokens, defaulted));
    }
    /// Input and output together.
    std::int64_t totalTokens() const noexcept;
    /// The sum. A number below 0 counts as 0, and a sum that does not fit is the largest number that does.
    friend Usage operator+(const Usage& a, const Usage& b);
    friend bool operator==(const Usage&, const Usage&) = default;
};

/// What calls have used together, and what of that each model has, by the name of the model that answered
/// (Reply::model). An agent's state has one for its turn and one for the turns before it.
struct UsageByModel : Usage {
    UsageByModel() = default;
    std::map<std::string, Usage> models = {};
    static constexpr auto fields() {
        return stategraph::fields(field("input_tokens", &UsageByModel::input_tokens),
                                  field("output_tokens", &UsageByModel::output_tokens),
                                  field("reasoning_tokens", &UsageByModel::reasoning_tokens, defaulted),
                                  field("cached_tokens", &UsageByModel::cached_tokens, defaulted),
                                  field("cache_write_tokens", &UsageByModel::cache_write_tokens, defaulted),
                                  field("models", &UsageByModel::models, defaulted));
    }

    /// Returns what all models have used.
    const Usage& total() const noexcept { return *this; }
    bool isEmpty() const noexcept { return models.empty(); }
    void add(const std::string& model, const Usage& usage);
    friend UsageByModel operator+(UsageByModel a, const UsageByModel& b);
    friend bool operator==(const UsageByModel&, const UsageByModel&) = default;
};

}  // namespace stategraph::model

namespace stategraph {
// It is stored as any struct with a table is, but encoded at a lower cost.
template <>
struct Codec<model::UsageByModel> {
    static void encode(Encoder& encoder, const model::UsageByModel& usage);
    static void decode(Decoder& decoder, model::UsageByModel& usage);
};
}  // namespace stategraph

namespace stategraph::model {

/// An amount of money, in any currency, as a whole number of billionths. Sums of it are exact. Amounts of more than
/// nine billion are the largest that there is.
class Money {
public:
    constexpr Money() = default;
    /// The nearest amount: 0.3 is exactly three tenths.
    Money(double amount);
    static constexpr Money ofBillionths(std::int64_t billionths) {
        Money money;
        money.billionths_ = billionths;
        return money;
    }
    constexpr std::int64_t billionths() const noexcept { return billionths_; }
    /// As a decimal number without trailing zeros: "0.0125".
    std::string text() const;
    friend constexpr auto operator<=>(const Money&, const Money&) = default;

private:
    std::int64_t billionths_ = 0;
};

/// What a million tokens of a model cost, in any currency.
struct Price {
    Money input = {};
    Money output = {};
    /// Input that the provider had cached, and input that it has written to its cache; none: as other input.
    std::optional<Money> cache_read = {};
    std::optional<Money> cache_write = {};
};
/// Prices by the name of the model. A name is also that of the model's dated versions: "gpt-5" is the price of
/// "gpt-5-2025-08-07". The name "*" is that of all models without a price of their own.
using Prices = std::map<std::string, Price, std::less<>>;

/// What a usage costs.
struct Cost {
    Money money = {};
    /// The models that have no price. `money` does not contain them.
    std::vector<std::string> unpriced = {};
};
/// Returns what a usage costs. The sum of each model's tokens is multiplied exactly and rounded once, to a billionth.
Cost costOf(const UsageByModel& usage, const Prices& prices);
/// Returns the price of a model, or null.
const Price* priceOf(std::string_view model, const Prices& prices);

}  // namespace stategraph::model
