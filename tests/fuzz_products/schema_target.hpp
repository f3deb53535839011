#pragma once
#include <optional>
#include <string_view>

#include <stategraph/schema.hpp>

#include "tests/fuzz/found.hpp"
#include "tests/fuzz_products/targets.hpp"

namespace fuzz {

inline int runSchema(std::string_view bytes) {
    constexpr std::string_view between = "\n---\n";
    const auto cut = bytes.find(between);
    if (cut == std::string_view::npos) return 0;
    stategraph::ValueCheck check;
    if (!accepts("schemaCheck", [&] { check = stategraph::schemaCheck(bytes.substr(0, cut)); })) return 0;
    std::optional<stategraph::Value> value;
    const std::string_view text = bytes.substr(cut + between.size());
    if (!accepts("parseJson", [&] { value = stategraph::parseJson(text); })) return 0;
    std::optional<stategraph::Value> first;
    std::optional<stategraph::Value> second;
    const bool passes = accepts("a check", [&] { first = check(*value); });
    if (accepts("a check", [&] { second = check(*value); }) != passes) found("a check says yes and no");
    if (passes && *first != *second) found("a check fills in other defaults the second time");
    return 0;
}

}  // namespace fuzz
