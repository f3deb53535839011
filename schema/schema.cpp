#include <stategraph/schema.hpp>

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "schema/bounded_validation.hpp"
#include "schema/deep_call.hpp"

namespace stategraph {
namespace {

namespace json = boost::json;
using schema::Adapter;
using schema::Patterns;

// Limits the text, because std::regex uses stack for each byte that it looks at.
constexpr std::size_t pattern_text_max = 4096;
constexpr std::size_t pattern_max = 1024;
constexpr std::size_t faults_shown_max = 20;
constexpr std::size_t levels_max = 5000;

bool hasPatterns(const json::value& schema) {
    if (const json::array* const list = schema.if_array()) return std::ranges::any_of(*list, hasPatterns);
    const json::object* const object = schema.if_object();
    return object != nullptr && std::ranges::any_of(*object, [](const auto& member) {
               return member.key() == "pattern" || member.key() == "patternProperties" || hasPatterns(member.value());
           });
}

bool hasLongText(const json::value& value) {
    if (const json::string* const text = value.if_string()) return text->size() > pattern_text_max;
    if (const json::array* const list = value.if_array()) return std::ranges::any_of(*list, hasLongText);
    const json::object* const object = value.if_object();
    return object != nullptr && std::ranges::any_of(*object, [](const auto& member) {
               return member.key().size() > pattern_text_max || hasLongText(member.value());
           });
}

// The standard library's own matcher tries every way to match, of which there may be exponentially many.
#ifdef __GLIBCXX__
constexpr auto pattern_flags = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto pattern_flags = std::regex_constants::ECMAScript;
#endif

// Adds properties that a value lacks and whose schema has a default, also inside lists.
void fillDefaults(const json::value& schema, json::value& value) {
    const json::object* const rules = schema.if_object();
    if (rules == nullptr) return;
    const json::value* const properties = rules->if_contains("properties");
    if (json::object* const object = value.if_object(); object != nullptr && properties != nullptr) {
        if (!properties->is_object()) return;
        for (const auto& [name, rule] : properties->get_object()) {
            json::value* const member = object->if_contains(name);
            const json::value* const initial = rule.is_object() ? rule.get_object().if_contains("default") : nullptr;
            if (member != nullptr) {
                fillDefaults(rule, *member);
            } else if (initial != nullptr) {
                (*object)[name] = *initial;
            }
        }
    }
    const json::value* const items = rules->if_contains("items");
    if (json::array* const list = value.if_array(); list != nullptr && items != nullptr) {
        for (json::value& each : *list) fillDefaults(*items, each);
    }
}

// How deep the lists and objects of a schema are nested. The parser of JSON limits it.
std::size_t depthOf(const json::value& value) {
    std::size_t deepest = 0;
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) deepest = std::max(deepest, depthOf(each));
    } else if (const json::object* const object = value.if_object()) {
        for (const auto& member : *object) deepest = std::max(deepest, depthOf(member.value()));
    } else {
        return 0;
    }
    return deepest + 1;
}

// Returns the schema to which a reference leads.
const json::value& targetOf(std::string_view reference, const json::value& schema) {
    boost::system::error_code error;
    const bool is_local = reference == "#" || reference.starts_with("#/");
    const json::value* const found = is_local ? schema.find_pointer(reference.substr(1), error) : nullptr;
    if (found == nullptr)
        throw InvalidArgumentError("the reference '" + std::string(reference) +
                                   "' leads to nothing in the schema; it must be a JSON pointer, \"#/…\"");
    return *found;
}

void collectTargets(const json::value& value, const json::value& schema, std::set<const json::value*>& targets) {
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) collectTargets(each, schema, targets);
    }
    const json::object* const object = value.if_object();
    if (object == nullptr) return;
    for (const auto& [name, member] : *object) {
        if (name == "$ref" && member.is_string()) targets.insert(&targetOf(member.get_string(), schema));
        collectTargets(member, schema, targets);
    }
}

// At most how many levels of schemas a reader has under way at once that reads what a reference leads to, if it has not
// read it yet, before it reads on.
std::size_t levelsOf(const json::value& schema) {
    std::set<const json::value*> targets;
    collectTargets(schema, schema, targets);
    std::size_t sum = depthOf(schema);
    for (const json::value* const target : targets) sum += depthOf(*target);
    if (sum > levels_max) {
        throw InvalidArgumentError("the schema has so many references that it may be " + std::to_string(sum) +
                                   " levels deep, and may be " + std::to_string(levels_max));
    }
    return sum;
}

// Refuses schemas that a validator would follow forever, and schemas whose faults it would find only with a value.
class Refusals {
public:
    explicit Refusals(const json::value& schema) : schema_(schema) { visitAll(schema); }
    Patterns takePatterns() { return std::move(patterns_); }

private:
    void visitAll(const json::value& value) {
        if (const json::array* const list = value.if_array())
            std::ranges::for_each(*list, [&](const auto& each) { visitAll(each); });
        const json::object* const object = value.if_object();
        if (object == nullptr) return;
        follow(value);
        for (const auto& [name, member] : *object) {
            if (name == "pattern" && member.is_string()) addPattern(member.get_string());
            if (name == "multipleOf" && member.is_number() && !(member.to_number<double>() > 0))
                throw InvalidArgumentError("'multipleOf' must be above 0, and is " + json::serialize(member));
            if (name == "patternProperties" && member.is_object()) {
                for (const auto& [pattern, rule] : member.get_object()) addPattern(pattern);
            }
            visitAll(member);
        }
    }
    void addPattern(std::string_view pattern) {
        if (pattern.size() > pattern_max) {
            throw InvalidArgumentError("a pattern has " + std::to_string(pattern.size()) + " bytes, and may have " +
                                       std::to_string(pattern_max));
        }
        if (pattern.find('\0') != std::string_view::npos)
            throw InvalidArgumentError("a pattern has a byte of value 0, which no pattern may have");
        try {
            patterns_.try_emplace(std::string(pattern), pattern.begin(), pattern.end(), pattern_flags);
        } catch (const std::regex_error& error) {
            throw InvalidArgumentError("the pattern '" + std::string(pattern) +
                                       "' is not a regular expression that can be used: " + error.what());
        }
    }
    // Follows references to schemas for the same value. A way from one of them back to itself has no end.
    void follow(const json::value& schema) {
        const json::object* const object = schema.if_object();
        if (object == nullptr || done_.contains(&schema)) return;
        if (!under_way_.insert(&schema).second)
            throw InvalidArgumentError("a reference leads back to itself without end");
        if (const json::value* const reference = object->if_contains("$ref");
            reference != nullptr && reference->is_string())
            follow(targetOf(reference->get_string(), schema_));
        for (const char* name : {"allOf", "anyOf", "oneOf"}) {
            const json::value* const list = object->if_contains(name);
            if (list == nullptr || !list->is_array()) continue;
            for (const json::value& each : list->get_array()) follow(each);
        }
        for (const char* name : {"not", "if", "then", "else"}) {
            if (const json::value* const one = object->if_contains(name)) follow(*one);
        }
        if (const json::value* const some = object->if_contains("dependencies"); some != nullptr && some->is_object()) {
            for (const auto& [name, one] : some->get_object()) follow(one);
        }
        under_way_.erase(&schema);
        done_.insert(&schema);
    }
    const json::value& schema_;
    Patterns patterns_;
    std::set<const json::value*> under_way_;
    std::set<const json::value*> done_;
};

[[noreturn]] void refuse(valijson::ValidationResults& results) {
    std::vector<std::string> faults;
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
        // The validator reports this for the surroundings of a fault too.
        if (error.description.starts_with("Failed to validate against schema associated with") && !faults.empty())
            continue;
        std::string where;
        for (const std::string& part : error.context) where += part == "<root>" ? "$" : part;
        if (error.description.ends_with('.')) error.description.pop_back();
        faults.push_back(where + ": " + error.description);
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(faults.size(), faults_shown_max); ++i)
        text += (i == 0 ? "" : "; ") + faults[i];
    if (faults.size() > faults_shown_max) text += "; and " + std::to_string(faults.size() - faults_shown_max) + " more";
    throw InvalidArgumentError(text);
}

struct Schema {
    json::value json;
    Patterns patterns = {};
    valijson::Schema rules = {};
    bool has_patterns = false;
};

std::shared_ptr<const Schema> schemaOf(std::string_view text) {
    const auto schema = std::make_shared<Schema>();
    auto read = detail::readJson(text);
    if (read.error) throw InvalidArgumentError("the schema is not JSON: " + read.error.message());
    schema->json = std::move(read.value);
    if (!schema->json.is_object() && !schema->json.is_bool())
        throw InvalidArgumentError("a JSON Schema is an object or a boolean, not " + json::serialize(schema->json));
    const std::size_t levels = levelsOf(schema->json);
    schema->patterns = Refusals(schema->json).takePatterns();
    schema->has_patterns = hasPatterns(schema->json);
    try {
        schema::withStackFor(levels, [&] {
            valijson::SchemaParser(valijson::SchemaParser::kDraft7)
                .populateSchema(Adapter(schema->json), schema->rules);
        });
    } catch (const std::exception& why) {
        throw InvalidArgumentError(std::string("no JSON Schema that can be used: ") + why.what());
    }
    return schema;
}

}  // namespace

ValueCheck schemaCheck(std::string_view text) {
    return [schema = schemaOf(text)](const Value& given) -> Value {
        json::value value = toJsonValue(given);
        if (schema->has_patterns && hasLongText(value)) {
            throw InvalidArgumentError("a text of more than " + std::to_string(pattern_text_max) +
                                       " bytes, which a schema with patterns does not take");
        }
        fillDefaults(schema->json, value);
        const schema::Work work(value);
        valijson::ValidationResults results;
        Patterns patterns = schema->patterns;  // the copies share the compiled patterns
        valijson::ValidationVisitor<Adapter> visitor(Adapter(value), {"<root>"}, true, &results, patterns);
        if (!visitor.validateSchema(schema->rules)) refuse(results);
        return Value(value);
    };
}

}  // namespace stategraph
