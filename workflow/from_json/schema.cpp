#include "workflow/from_json/schema.hpp"

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

// Without it the library ends the process where it meets a schema that it cannot read.
#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace stategraph::workflow::from_json {
namespace {

namespace json = boost::json;
using Adapter = valijson::adapters::BoostJsonAdapter;

// std::regex uses the stack for each byte that it looks at.
constexpr std::size_t pattern_text_max = 4096;
constexpr std::size_t faults_shown_max = 20;

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

// Properties that a value lacks and whose schema has a default; in lists too.
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

// What a validator would follow for ever, and what it would find out with each value.
class Refusals {
public:
    explicit Refusals(const json::value& schema) : schema_(schema) { visitAll(schema); }

private:
    void visitAll(const json::value& value) {
        if (const json::array* const list = value.if_array())
            std::ranges::for_each(*list, [&](const auto& each) { visitAll(each); });
        const json::object* const object = value.if_object();
        if (object == nullptr) return;
        follow(value);
        for (const auto& [name, member] : *object) {
            if (name == "pattern" && member.is_string()) checkPattern(member.get_string());
            visitAll(member);
        }
    }
    static void checkPattern(std::string_view pattern) {
        try {
            (void)std::regex(pattern.begin(), pattern.end());
        } catch (const std::regex_error& error) {
            throw InvalidArgumentError("the pattern '" + std::string(pattern) +
                                       "' is no regular expression: " + error.what());
        }
    }
    // To schemas of the same value: a way from one of them back to itself has no end.
    void follow(const json::value& schema) {
        const json::object* const object = schema.if_object();
        if (object == nullptr || done_.contains(&schema)) return;
        if (!under_way_.insert(&schema).second)
            throw InvalidArgumentError("a reference leads back to itself without end");
        if (const json::value* const reference = object->if_contains("$ref");
            reference != nullptr && reference->is_string())
            follow(at(reference->get_string()));
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
    const json::value& at(std::string_view reference) const {
        boost::system::error_code error;
        const bool is_local = reference == "#" || reference.starts_with("#/");
        const json::value* const found = is_local ? schema_.find_pointer(reference.substr(1), error) : nullptr;
        if (found == nullptr)
            throw InvalidArgumentError("the reference '" + std::string(reference) +
                                       "' leads to nothing in the schema; it must be a JSON pointer, \"#/…\"");
        return *found;
    }

    const json::value& schema_;
    std::set<const json::value*> under_way_;
    std::set<const json::value*> done_;
};

[[noreturn]] void refuse(valijson::ValidationResults& results) {
    std::vector<std::string> faults;
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
        // Said of what is around a fault as well.
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
    valijson::Schema rules = {};
    bool has_patterns = false;
};

}  // namespace

Check schemaCheckOf(const json::value& json) {
    if (!json.is_object() && !json.is_bool()) {
        throw InvalidArgumentError("a JSON Schema is an object or a boolean, not " + json::serialize(json));
    }
    (void)Refusals(json);
    const auto schema = std::make_shared<Schema>();
    schema->json = json;
    schema->has_patterns = hasPatterns(json);
    try {
        valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(schema->json), schema->rules);
    } catch (const std::exception& error) {
        throw InvalidArgumentError(std::string("no JSON Schema that can be used: ") + error.what());
    }
    return [schema = std::shared_ptr<const Schema>(schema)](const Value& given) -> Value {
        json::value value = toJsonValue(given);
        if (schema->has_patterns && hasLongText(value)) {
            throw InvalidArgumentError("a text of more than " + std::to_string(pattern_text_max) +
                                       " bytes, which a schema with patterns does not take");
        }
        fillDefaults(schema->json, value);
        valijson::ValidationResults results;
        valijson::Validator validator(valijson::Validator::kStrongTypes);
        if (!validator.validate(schema->rules, Adapter(value), &results)) refuse(results);
        return Value(value);
    };
}

}  // namespace stategraph::workflow::from_json
