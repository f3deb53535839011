#include <stategraph/model/model.hpp>
#include <stategraph/model/usage.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace stategraph::model {
namespace {

__extension__ using Exact = __int128;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t billion = 1'000'000'000;
constexpr std::int64_t million = 1'000'000;

std::int64_t sumOf(std::int64_t a, std::int64_t b) noexcept {
    a = std::max<std::int64_t>(a, 0);
    b = std::max<std::int64_t>(b, 0);
    return a > largest - b ? largest : a + b;
}

Money moneyOf(Exact billionths) noexcept {
    const Exact most = largest;
    return Money::ofBillionths(static_cast<std::int64_t>(std::clamp<Exact>(billionths, -most, most)));
}

/// Returns the price of so many tokens in billionths, times a million.
Exact priceOf(std::int64_t tokens, Money per_million) noexcept {
    return static_cast<Exact>(std::max<std::int64_t>(tokens, 0)) * per_million.billionths();
}

Money costOf(const Usage& usage, const Price& price) noexcept {
    const std::int64_t input = std::max<std::int64_t>(usage.input_tokens, 0);
    const std::int64_t read = std::clamp<std::int64_t>(usage.cached_tokens, 0, input);
    const std::int64_t written = std::clamp<std::int64_t>(usage.cache_write_tokens, 0, input - read);
    const Exact sum =
        priceOf(input - read - written, price.input) + priceOf(read, price.cache_read.value_or(price.input)) +
        priceOf(written, price.cache_write.value_or(price.input)) + priceOf(usage.output_tokens, price.output);
    return moneyOf((sum + (sum < 0 ? -million : million) / 2) / million);
}

/// Returns whether the text is "-20250929" or "-2025-08-07".
bool isDate(std::string_view text) noexcept {
    const std::string_view form = text.size() == 9 ? "-dddddddd" : "-dddd-dd-dd";
    return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), [](char is, char wanted) {
               return wanted == 'd' ? is >= '0' && is <= '9' : is == wanted;
           });
}

}  // namespace

std::int64_t Usage::totalTokens() const noexcept { return sumOf(input_tokens, output_tokens); }

Usage operator+(const Usage& a, const Usage& b) {
    return {sumOf(a.input_tokens, b.input_tokens), sumOf(a.output_tokens, b.output_tokens),
            sumOf(a.reasoning_tokens, b.reasoning_tokens), sumOf(a.cached_tokens, b.cached_tokens),
            sumOf(a.cache_write_tokens, b.cache_write_tokens)};
}

void UsageByModel::add(const std::string& model, const Usage& usage) {
    Usage& of_model = models[model];
    of_model = of_model + usage;
    static_cast<Usage&>(*this) = total() + usage;
}

UsageByModel operator+(UsageByModel a, const UsageByModel& b) {
    static_cast<Usage&>(a) = a.total() + b.total();
    for (const auto& [model, usage] : b.models) {
        Usage& of_model = a.models[model];
        of_model = of_model + usage;
    }
    return a;
}

Money::Money(double amount) {
    const double billionths = amount * static_cast<double>(billion);
    if (!(std::abs(billionths) < static_cast<double>(largest))) {
        billionths_ = billionths < 0 ? -largest : largest;
    } else {
        billionths_ = std::llround(billionths);
    }
}

std::string Money::text() const {
    const bool is_negative = billionths_ < 0;
    const auto size =
        is_negative ? 0 - static_cast<std::uint64_t>(billionths_) : static_cast<std::uint64_t>(billionths_);
    std::string text = (is_negative ? "-" : "") + std::to_string(size / billion);
    std::string part = std::to_string(size % billion);
    part.insert(0, 9 - part.size(), '0');
    part.erase(part.find_last_not_of('0') + 1);
    return part.empty() ? text : text + "." + part;
}

const Price* priceOf(std::string_view model, const Prices& prices) {
    const auto find = [&](std::string_view name) {
        const auto found = prices.find(name);
        return found != prices.end() ? &found->second : nullptr;
    };
    if (const Price* const exact = find(model)) return exact;
    constexpr std::array<std::size_t, 2> sizes{9, 11};  // of dates
    for (const std::size_t size : sizes) {
        if (model.size() <= size || !isDate(model.substr(model.size() - size))) continue;
        if (const Price* const undated = find(model.substr(0, model.size() - size))) return undated;
    }
    return find("*");
}

UsageByModel usageOf(const Reply& reply, const Model& model) {
    UsageByModel usage;
    if (!reply.message.usage) return usage;
    if (reply.model.empty()) {
        usage.add(model.name().model, *reply.message.usage);
    } else {
        usage.add(reply.model, *reply.message.usage);
    }
    return usage;
}

Cost costOf(const UsageByModel& usage, const Prices& prices) {
    Cost cost;
    Exact sum = 0;
    for (const auto& [model, used] : usage.models) {
        if (const Price* const price = priceOf(model, prices)) {
            sum += costOf(used, *price).billionths();
        } else {
            cost.unpriced.push_back(model);
        }
    }
    cost.money = moneyOf(sum);
    return cost;
}

}  // namespace stategraph::model
