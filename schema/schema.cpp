#include <stategraph/schema.hpp>

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

// Without this, the library ends the process if it meets a schema that it cannot read.
#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validation_visitor.hpp>

namespace stategraph {
namespace {

namespace json = boost::json;
using Adapter = valijson::adapters::BoostJsonAdapter;

// Limits the text, because std::regex uses stack for each byte that it looks at.
constexpr std::size_t pattern_text_max = 4096;
constexpr std::size_t pattern_max = 1024;
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

using Patterns = std::unordered_map<std::string, std::regex>;

// The standard library's own matcher tries every way to match, of which there may be exponentially many.
#ifdef __GLIBCXX__
constexpr auto pattern_flags = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto pattern_flags = std::regex_constants::ECMAScript;
#endif

bool repeats(char c) noexcept { return c == '*' || c == '+' || c == '{'; }

// Returns whether a group that is repeated contains a repetition or alternatives.
bool hasRepeatedChoice(std::string_view pattern) {
    std::vector<bool> has_choice{false};
    bool is_in_class = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\') {
            ++i;
        } else if (is_in_class) {
            is_in_class = c != ']';
        } else if (c == '[') {
            is_in_class = true;
        } else if (c == '(') {
            has_choice.push_back(false);
        } else if (c == ')' && has_choice.size() > 1) {
            const bool inside = has_choice.back();
            has_choice.pop_back();
            if (inside && i + 1 < pattern.size() && repeats(pattern[i + 1])) return true;
            has_choice.back() = has_choice.back() || inside;
        } else if (repeats(c) || c == '|' || (c == '?' && i > 0 && pattern[i - 1] != '(')) {
            has_choice.back() = true;
        }
    }
    return false;
}

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
            if (name == "patternProperties" && member.is_object()) {
                for (const auto& [pattern, rule] : member.get_object()) checkNames(pattern);
            }
            visitAll(member);
        }
    }
    void addPattern(std::string_view pattern) {
        if (pattern.size() > pattern_max) {
            throw InvalidArgumentError("a pattern has " + std::to_string(pattern.size()) + " bytes, and may have " +
                                       std::to_string(pattern_max));
        }
        try {
            patterns_.try_emplace(std::string(pattern), pattern.begin(), pattern.end(), pattern_flags);
        } catch (const std::regex_error& error) {
            throw InvalidArgumentError("the pattern '" + std::string(pattern) +
                                       "' is not a regular expression that can be used: " + error.what());
        }
    }
    // The validator matches these patterns itself, without a limit of time.
    void checkNames(std::string_view pattern) {
        addPattern(pattern);
        if (hasRepeatedChoice(pattern)) {
            throw InvalidArgumentError("the pattern '" + std::string(pattern) +
                                       "' of names repeats a group that has repetitions or alternatives inside, which "
                                       "may never end; write it without");
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
    boost::system::error_code error;
    schema->json = json::parse(text, error);
    if (error) throw InvalidArgumentError("the schema is not JSON: " + error.message());
    if (!schema->json.is_object() && !schema->json.is_bool())
        throw InvalidArgumentError("a JSON Schema is an object or a boolean, not " + json::serialize(schema->json));
    schema->patterns = Refusals(schema->json).takePatterns();
    schema->has_patterns = hasPatterns(schema->json);
    try {
        valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(schema->json), schema->rules);
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
        valijson::ValidationResults results;
        Patterns patterns = schema->patterns;  // the copies share the compiled patterns
        valijson::ValidationVisitor<Adapter> visitor(Adapter(value), {"<root>"}, true, &results, patterns);
        if (!visitor.validateSchema(schema->rules)) refuse(results);
        return Value(value);
    };
}

}  // namespace stategraph
