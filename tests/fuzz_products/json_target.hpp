#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/value.hpp>

#include "tests/fuzz/found.hpp"
#include "tests/fuzz_products/targets.hpp"

namespace fuzz {

inline int runJson(std::string_view bytes) {
    const auto read = stategraph::detail::readJson(bytes, 256);
    if (!read.error) {
        const std::string text = stategraph::detail::jsonText(read.value);
        const auto again = stategraph::detail::readJson(text, 256);
        if (again.error) found("what was written cannot be read: " + text);
        if (stategraph::detail::jsonText(again.value) != text) found("a text is another one when it is read: " + text);
    }
    std::optional<stategraph::Value> value;
    if (!accepts("parseJson", [&] { value = stategraph::parseJson(bytes); })) return 0;
    if (read.error) found("parseJson takes a text that is not JSON");
    const std::string text = value->toJson();
    std::optional<stategraph::Value> again;
    if (!accepts("parseJson", [&] { again = stategraph::parseJson(text); }))
        found("a value's JSON is refused: " + text);
    if (again->toJson() != text) found("a value is another one when its JSON is read: " + text);
    return 0;
}

}  // namespace fuzz
