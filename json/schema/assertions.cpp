#include "json/schema/assertions.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "json/schema/keywords.hpp"
#include "json/schema/values.hpp"

namespace stategraph::schema {

namespace json = boost::json;

namespace {

bool isOneOf(const Rule& rule, const json::value& value, Work& work) {
    if (rule.number == 1) return areEqual(value, *rule.given, work);
    return std::ranges::any_of(rule.given->get_array(),
                               [&](const json::value& each) { return areEqual(value, each, work); });
}

std::size_t sizeFor(Word word, const json::value& value, Work& work) {
    if (word == Word::min_length || word == Word::max_length) {
        work.take(value.get_string().size() / bytes_of_work);
        return charactersIn(textOf(value));
    }
    return value.is_array() ? value.get_array().size() : value.get_object().size();
}

const json::value* missingMember(const Rule& rule, const json::object& object, Work& work) {
    work.take(rule.given->get_array().size());
    for (const json::value& name : rule.given->get_array()) {
        if (!object.contains(name.get_string())) return &name;
    }
    return nullptr;
}

bool isIn(const Pattern& pattern, std::string_view text, Work& work) {
    work.take(1 + text.size() * pattern.work());
    return pattern.isIn(text);
}

/// Which types a rule is about.
std::uint64_t typesFor(Word word) {
    switch (word) {
        case Word::minimum:
        case Word::maximum:
        case Word::exclusive_minimum:
        case Word::exclusive_maximum:
        case Word::multiple_of:
            return number_type;
        case Word::min_length:
        case Word::max_length:
        case Word::pattern:
            return string_type;
        case Word::min_items:
        case Word::max_items:
        case Word::unique_items:
            return array_type;
        case Word::min_properties:
        case Word::max_properties:
        case Word::required:
            return object_type;
        default:
            return ~std::uint64_t{0};
    }
}

std::string typesText(std::uint64_t types) {
    std::string text;
    for (std::size_t i = 0; i < std::size(type_names); ++i) {
        if ((types & std::uint64_t{1} << i) != 0) text += (text.empty() ? "" : " or ") + std::string(type_names[i]);
    }
    return text;
}

std::string counted(std::uint64_t number, const char* things) { return std::to_string(number) + " " + things; }

}  // namespace

bool isKept(const Rule& rule, const json::value& value, Work& work) {
    if ((typesFor(rule.word) & typesOf(value)) == 0) return true;
    const auto compared = [&] { return compareNumbers(value, *rule.given); };
    switch (rule.word) {
        case Word::never:
            return false;
        case Word::type:
            return (typesOf(value) & rule.number) != 0;
        case Word::one_value:
            return isOneOf(rule, value, work);
        case Word::minimum:
            return compared().value_or(-1) >= 0;
        case Word::maximum:
            return compared().value_or(1) <= 0;
        case Word::exclusive_minimum:
            return compared().value_or(-1) > 0;
        case Word::exclusive_maximum:
            return compared().value_or(1) < 0;
        case Word::multiple_of:
            return isMultiple(value, *rule.given);
        case Word::min_length:
        case Word::min_items:
        case Word::min_properties:
            return sizeFor(rule.word, value, work) >= rule.number;
        case Word::max_length:
        case Word::max_items:
        case Word::max_properties:
            return sizeFor(rule.word, value, work) <= rule.number;
        case Word::pattern:
            return isIn(*rule.pattern, textOf(value), work);
        case Word::unique_items:
            return !equalPair(value.get_array(), work);
        case Word::required:
            return missingMember(rule, value.get_object(), work) == nullptr;
        default:
            return true;
    }
}

std::string complaintOf(const Rule& rule, const json::value& value, Work& work) {
    const std::string given = rule.given != nullptr ? shown(*rule.given) : std::string();
    switch (rule.word) {
        case Word::never:
            return "there may be no value here";
        case Word::type:
            return "it must be of type " + typesText(rule.number) + ", and is of type " + typesText(typesOf(value));
        case Word::one_value:
            return (rule.number == 1 ? "it must be " : "it must be one of ") + given + ", and is " + shown(value);
        case Word::minimum:
            return "it must be at least " + given + ", and is " + shown(value);
        case Word::maximum:
            return "it must be at most " + given + ", and is " + shown(value);
        case Word::exclusive_minimum:
            return "it must be more than " + given + ", and is " + shown(value);
        case Word::exclusive_maximum:
            return "it must be less than " + given + ", and is " + shown(value);
        case Word::multiple_of:
            return "it must be a multiple of " + given + ", and is " + shown(value);
        case Word::min_length:
            return "it must have at least " + counted(rule.number, "characters");
        case Word::max_length:
            return "it must have at most " + counted(rule.number, "characters");
        case Word::min_items:
            return "it must have at least " + counted(rule.number, "items");
        case Word::max_items:
            return "it must have at most " + counted(rule.number, "items");
        case Word::min_properties:
            return "it must have at least " + counted(rule.number, "members");
        case Word::max_properties:
            return "it must have at most " + counted(rule.number, "members");
        case Word::pattern:
            return "it must match the pattern " + given;
        case Word::unique_items: {
            const auto pair = equalPair(value.get_array(), work).value_or(std::pair<std::size_t, std::size_t>());
            return "its items " + std::to_string(pair.first) + " and " + std::to_string(pair.second) +
                   " are equal, and must not be";
        }
        case Word::required: {
            const json::value* const name = missingMember(rule, value.get_object(), work);
            return "member " + (name != nullptr ? shown(*name) : given) + " is missing" +
                   (rule.only_with ? ", which is needed beside '" + shownText(*rule.only_with) + "'" : "");
        }
        default:
            return "it does not fit";
    }
}

}  // namespace stategraph::schema
