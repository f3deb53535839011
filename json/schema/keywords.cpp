#include "json/schema/keywords.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include <boost/json/serializer.hpp>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

namespace stategraph::schema {

namespace json = boost::json;

namespace {

constexpr std::size_t shown_max = 100;

/// What a keyword's function reads.
struct Given {
    std::string_view name;
    const json::value& value;
    const json::object& schema;  // that has the keyword
    const json::value& base;
    Schemas& schemas;
    std::vector<Rule>& rules;

    [[noreturn]] void mustBe(const char* what) const {
        throw InvalidArgumentError("the keyword '" + std::string(name) + "' must be " + what + ", and is " +
                                   shown(value));
    }
    const json::value* sibling(std::string_view other) const {
        return schema.if_contains({other.data(), other.size()});
    }
    std::size_t add(const json::value& written) const { return schemas.add(written, base); }
    Rule& rule(Word word) const {
        rules.push_back({.word = word, .given = &value});
        return rules.back();
    }
    const json::array& list() const {
        const json::array* const list = value.if_array();
        if (list == nullptr) mustBe("a list");
        return *list;
    }
    const json::object& object() const {
        const json::object* const object = value.if_object();
        if (object == nullptr) mustBe("an object");
        return *object;
    }
};

std::optional<std::uint64_t> countIn(const json::value& value) {
    if (const std::int64_t* const whole = value.if_int64(); whole != nullptr && *whole >= 0)
        return static_cast<std::uint64_t>(*whole);
    if (const std::uint64_t* const whole = value.if_uint64()) return *whole;
    const double* const real = value.if_double();
    constexpr double exact_max = 9007199254740992.0;
    if (real != nullptr && *real >= 0 && *real <= exact_max && *real == std::trunc(*real))
        return static_cast<std::uint64_t>(*real);
    return {};
}

std::uint64_t countOf(const Given& given) {
    const auto count = countIn(given.value);
    if (!count) given.mustBe("an integer that is not negative");
    return *count;
}

bool isListOfTexts(const json::value& value) {
    const json::array* const list = value.if_array();
    return list != nullptr && std::ranges::all_of(*list, [](const json::value& each) { return each.is_string(); });
}

std::uint64_t typeIn(const Given& given, const json::value& name) {
    if (name.is_string()) {
        const auto* const found = std::ranges::find(type_names, textOf(name));
        if (found != std::end(type_names)) return std::uint64_t{1} << (found - std::begin(type_names));
    }
    given.mustBe("the name of a type, or a list of them");
}

void readType(const Given& given) {
    Rule& rule = given.rule(Word::type);
    if (const json::array* const several = given.value.if_array()) {
        for (const json::value& each : *several) rule.number |= typeIn(given, each);
    } else {
        rule.number = typeIn(given, given.value);
    }
}

void readEnum(const Given& given) {
    (void)given.list();
    given.rule(Word::one_value);
}

void readConst(const Given& given) { given.rule(Word::one_value).number = 1; }

template <Word word>
void readNumber(const Given& given) {
    if (!given.value.is_number()) given.mustBe("a number");
    given.rule(word);
}

/// Draft 4 has a boolean beside the limit.
template <Word word, Word exclusive>
void readLimit(const Given& given) {
    const json::value* const flag = given.sibling(word == Word::minimum ? "exclusiveMinimum" : "exclusiveMaximum");
    if (flag != nullptr && flag->is_bool() && flag->get_bool()) return readNumber<exclusive>(given);
    readNumber<word>(given);
}
template <Word word>
void readExclusive(const Given& given) {
    if (!given.value.is_bool()) readNumber<word>(given);
}

void readMultiple(const Given& given) {
    if (!given.value.is_number() || !(given.value.to_number<double>() > 0)) given.mustBe("a number above 0");
    given.rule(Word::multiple_of);
}

template <Word word>
void readCount(const Given& given) {
    const std::uint64_t count = countOf(given);
    given.rule(word).number = count;
}

void readPattern(const Given& given) {
    if (!given.value.is_string()) given.mustBe("a text");
    given.schemas.addPattern(textOf(given.value));
    given.rule(Word::pattern);
}

void readUnique(const Given& given) {
    if (!given.value.is_bool()) given.mustBe("true or false");
    if (given.value.get_bool()) given.rule(Word::unique_items);
}

void readRequired(const Given& given) {
    if (!isListOfTexts(given.value)) given.mustBe("a list of names");
    given.rule(Word::required);
}

/// Names of members, or a schema, that objects with a member need.
void readDependency(const Given& given) {
    for (const auto& [name, needed] : given.object()) {
        const bool is_list = needed.is_array();
        if (is_list ? given.name == "dependentSchemas" || !isListOfTexts(needed) : given.name == "dependentRequired")
            given.mustBe("an object of lists of names (dependentRequired) or of schemas (dependentSchemas)");
        Rule rule{.word = is_list ? Word::required : Word::all_of, .given = &needed, .only_with = std::string(name)};
        if (!is_list) rule.children = {{given.add(needed)}};
        given.rules.push_back(std::move(rule));
    }
}

template <Word word>
void readSchemas(const Given& given) {
    if (given.list().empty()) given.mustBe("a list of at least one schema");
    std::vector<Child> children;
    for (const json::value& each : given.list()) children.push_back({given.add(each)});
    given.rule(word).children = std::move(children);
}
template <Word word>
void readSchema(const Given& given) {
    const std::size_t schema = given.add(given.value);
    given.rule(word).children = {{schema}};
}

void readConditional(const Given& given) {
    std::vector<Child> children{{given.add(given.value)}};
    for (const char* const name : {"then", "else"}) {
        const json::value* const branch = given.sibling(name);
        children.push_back({branch != nullptr ? given.add(*branch) : no_schema});
    }
    given.rule(Word::conditional).children = std::move(children);
}

/// Definitions, and branches without a condition, are not applied, and must be schemas all the same.
void readUnused(const Given& given) { (void)given.add(given.value); }
void readDefinitions(const Given& given) {
    for (const auto& [name, each] : given.object()) (void)given.add(each);
}

template <Word word>
void readMembers(const Given& given) {
    std::vector<Child> children;
    for (const auto& [name, each] : given.object()) {
        children.push_back({given.add(each), {name.data(), name.size()}});
        if (word == Word::pattern_properties) given.schemas.addPattern(children.back().name);
    }
    if (word == Word::properties) std::ranges::sort(children, {}, &Child::name);
    given.rule(word).children = std::move(children);
}

/// A list of schemas for the first items is `prefixItems` now, and was `items`.
void readItems(const Given& given) {
    if (given.value.is_array())
        return given.value.get_array().empty() ? void() : readSchemas<Word::prefix_items>(given);
    const json::value* const before = given.sibling("prefixItems");
    readSchema<Word::items>(given);
    if (before != nullptr && before->is_array()) given.rules.back().number = before->get_array().size();
}
void readAdditionalItems(const Given& given) {
    const json::value* const before = given.sibling("items");
    if (before == nullptr || !before->is_array()) return readUnused(given);
    readSchema<Word::items>(given);
    given.rules.back().number = before->get_array().size();
}

void readContains(const Given& given) {
    readSchema<Word::contains>(given);
    Rule& rule = given.rules.back();
    const json::value* const least = given.sibling("minContains");
    const json::value* const most = given.sibling("maxContains");
    rule.number = least != nullptr ? countIn(*least).value_or(1) : 1;
    if (most != nullptr) rule.most = countIn(*most).value_or(rule.most);
}

[[noreturn]] void refuse(std::string_view name, const std::string& more) {
    throw InvalidArgumentError("the schema has the keyword '" + std::string(name) + "', which is not checked here" +
                               more + ", so that values would pass that must not");
}
void readRefused(const Given& given) { refuse(given.name, ""); }

/// Without schemas beside it that apply to the same value, `unevaluatedProperties` is `additionalProperties`, and
/// `unevaluatedItems` likewise.
void readUnevaluated(const Given& given) {
    const json::object* const object = given.value.if_object();
    if (given.value == json::value(true) || (object != nullptr && object->empty())) return;
    for (const char* const name :
         {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies", "contains"}) {
        if (given.sibling(name) != nullptr) refuse(given.name, " beside '" + std::string(name) + "'");
    }
    if (given.name == "unevaluatedProperties") {
        if (given.sibling("additionalProperties") == nullptr) readSchema<Word::additional_properties>(given);
    } else if (given.sibling("items") == nullptr) {
        const json::value* const before = given.sibling("prefixItems");
        readSchema<Word::items>(given);
        if (before != nullptr && before->is_array()) given.rules.back().number = before->get_array().size();
    }
}

void readDialect(const Given& given) {
    if (!given.value.is_string()) given.mustBe("a text");
    const std::string_view name = textOf(given.value);
    for (const char* const known :
         {"json-schema.org/draft-04/", "json-schema.org/draft-06/", "json-schema.org/draft-07/",
          "json-schema.org/draft/2019-09/", "json-schema.org/draft/2020-12/", "json-schema.org/schema"}) {
        if (name.find(known) != std::string_view::npos) return;
    }
    given.mustBe("one of JSON Schema's drafts from 4 to 2020-12");
}

const std::unordered_map<std::string_view, void (*)(const Given&)> keywords{
    {"type", readType},
    {"enum", readEnum},
    {"const", readConst},
    {"minimum", readLimit<Word::minimum, Word::exclusive_minimum>},
    {"maximum", readLimit<Word::maximum, Word::exclusive_maximum>},
    {"exclusiveMinimum", readExclusive<Word::exclusive_minimum>},
    {"exclusiveMaximum", readExclusive<Word::exclusive_maximum>},
    {"multipleOf", readMultiple},
    {"minLength", readCount<Word::min_length>},
    {"maxLength", readCount<Word::max_length>},
    {"pattern", readPattern},
    {"minItems", readCount<Word::min_items>},
    {"maxItems", readCount<Word::max_items>},
    {"uniqueItems", readUnique},
    {"minProperties", readCount<Word::min_properties>},
    {"maxProperties", readCount<Word::max_properties>},
    {"required", readRequired},
    {"dependentRequired", readDependency},
    {"dependentSchemas", readDependency},
    {"dependencies", readDependency},
    {"allOf", readSchemas<Word::all_of>},
    {"anyOf", readSchemas<Word::any_of>},
    {"oneOf", readSchemas<Word::one_of>},
    {"not", readSchema<Word::none_of>},
    {"if", readConditional},
    {"then", readUnused},
    {"else", readUnused},
    {"properties", readMembers<Word::properties>},
    {"patternProperties", readMembers<Word::pattern_properties>},
    {"additionalProperties", readSchema<Word::additional_properties>},
    {"propertyNames", readSchema<Word::property_names>},
    {"prefixItems", readSchemas<Word::prefix_items>},
    {"items", readItems},
    {"additionalItems", readAdditionalItems},
    {"contains", readContains},
    {"minContains", [](const Given& given) { (void)countOf(given); }},
    {"maxContains", [](const Given& given) { (void)countOf(given); }},
    {"unevaluatedProperties", readUnevaluated},
    {"unevaluatedItems", readUnevaluated},
    {"$defs", readDefinitions},
    {"definitions", readDefinitions},
    {"$schema", readDialect},
    {"$dynamicRef", readRefused},
    {"$recursiveRef", readRefused},
    {"divisibleBy", readRefused},
    {"disallow", readRefused},
    {"extends", readRefused},
};

}  // namespace

std::string shownText(std::string_view text) {
    if (text.size() <= shown_max) return std::string(text);
    return std::string(stategraph::detail::beginningOf(text, shown_max)) + "…";
}
std::string shown(const json::value& value) {
    json::serializer serializer;
    serializer.reset(&value);
    std::array<char, shown_max + 8> beginning;
    const json::string_view text = serializer.read(beginning.data(), beginning.size());
    return shownText({text.data(), text.size()});
}

std::vector<Rule> rulesOf(const json::object& schema, const json::value& base, Schemas& schemas) {
    std::vector<Rule> rules;
    for (const auto& [name, value] : schema) {
        const auto keyword = keywords.find({name.data(), name.size()});
        if (keyword != keywords.end()) keyword->second({keyword->first, value, schema, base, schemas, rules});
    }
    return rules;
}

}  // namespace stategraph::schema
