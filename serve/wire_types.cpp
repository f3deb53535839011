#include <stategraph/serve/wire_types.hpp>

#include <algorithm>

#include <boost/json.hpp>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/detail/plain_name.hpp>
#include <stategraph/error.hpp>

namespace stategraph::serve {

namespace {

namespace json = boost::json;

constexpr int depth_max = 64;

bool isIdentifier(std::string_view name) noexcept {
    return stategraph::detail::isPlainName(name) && name.find('-') == std::string_view::npos &&
           (name.front() < '0' || name.front() > '9');
}

/// Translates a JSON Schema to TypeScript.
class Declarations {
public:
    explicit Declarations(std::string_view name) : name_(name) {}

    std::string of(const json::value& schema) {
        std::string out = declare(std::string(name_), schema);
        if (const json::object* const all = schema.if_object()) {
            const json::value* const found = all->if_contains("$defs");
            const json::object* const definitions = found != nullptr ? found->if_object() : nullptr;
            if (definitions != nullptr) {
                for (const auto& [key, value] : *definitions) out += declare(definition(key), value);
            }
        }
        return out;
    }

private:
    std::string definition(std::string_view key) const { return std::string(name_) + "_" + identifierOf(key); }
    std::string declare(const std::string& name, const json::value& schema) {
        return "export type " + name + " = " + type(schema, 0) + ";\n";
    }

    std::string type(const json::value& schema, int depth) {
        if (depth > depth_max) throw InvalidArgumentError("the JSON Schema is nested too deeply for TypeScript");
        if (schema.is_bool()) return schema.get_bool() ? "unknown" : "never";
        const json::object* const all = schema.if_object();
        if (all == nullptr) return "unknown";
        if (const json::value* const same = all->if_contains("const")) return json::serialize(*same);
        const json::value* const ref = all->if_contains("$ref");
        if (ref != nullptr && ref->is_string()) return named(*ref);
        if (const json::array* const each = list(*all, "enum")) return literals(*each);
        for (const char* const any : {"oneOf", "anyOf"}) {
            if (const json::array* const each = list(*all, any)) return joined(*each, depth);
        }
        const json::value* const kind = all->if_contains("type");
        if (kind == nullptr) return "unknown";
        if (kind->is_string()) return typed(kind->get_string(), *all, depth);
        std::string out;
        if (const json::array* const kinds = kind->if_array()) {
            for (const json::value& one : *kinds) {
                if (one.is_string()) out += (out.empty() ? "" : " | ") + typed(one.get_string(), *all, depth);
            }
        }
        return out.empty() ? "unknown" : out;
    }
    static const json::array* list(const json::object& schema, std::string_view member) {
        const json::value* const found = schema.if_contains(member);
        return found != nullptr ? found->if_array() : nullptr;
    }
    std::string named(const json::value& ref) const {
        const std::string_view target = ref.get_string();
        constexpr std::string_view definitions = "#/$defs/";
        if (target == "#") return std::string(name_);
        return target.starts_with(definitions) ? definition(target.substr(definitions.size())) : "unknown";
    }
    static std::string literals(const json::array& values) {
        std::string out;
        for (const json::value& value : values) out += (out.empty() ? "" : " | ") + json::serialize(value);
        return out.empty() ? "never" : out;
    }
    std::string joined(const json::array& schemas, int depth) {
        std::string out;
        for (const json::value& schema : schemas) out += (out.empty() ? "" : "\n  | ") + type(schema, depth + 1);
        return out.empty() ? "never" : out;
    }
    std::string typed(std::string_view kind, const json::object& schema, int depth) {
        if (kind == "string" || kind == "boolean" || kind == "null") return std::string(kind);
        if (kind == "integer" || kind == "number") return "number";
        if (kind == "array") return sequence(schema, depth);
        return kind == "object" ? object(schema, depth) : "unknown";
    }
    std::string sequence(const json::object& schema, int depth) {
        if (const json::array* const each = list(schema, "prefixItems")) {
            std::string out;
            for (const json::value& one : *each) out += (out.empty() ? "" : ", ") + type(one, depth + 1);
            return "[" + out + "]";
        }
        const json::value* const items = schema.if_contains("items");
        return "Array<" + (items != nullptr ? type(*items, depth + 1) : "unknown") + ">";
    }
    std::string object(const json::object& schema, int depth) {
        const json::array* const required = list(schema, "required");
        const json::value* const more = schema.if_contains("additionalProperties");
        const json::value* const found = schema.if_contains("properties");
        const json::object* const members = found != nullptr ? found->if_object() : nullptr;
        if (members == nullptr || members->empty()) {
            if (more != nullptr && more->is_bool() && !more->get_bool()) return "{}";
            return "Record<string, " + (more != nullptr ? type(*more, depth + 1) : "unknown") + ">";
        }
        std::string out;
        for (const auto& [key, value] : *members) {
            const bool must = required != nullptr &&
                              std::any_of(required->begin(), required->end(), [&key = key](const json::value& each) {
                                  return each.is_string() && each.get_string() == key;
                              });
            out += (out.empty() ? "" : "; ") + json::serialize(json::string(key)) + (must ? ": " : "?: ") +
                   type(value, depth + 1);
        }
        return "{ " + out + " }";
    }

    std::string_view name_;
};

}  // namespace

std::string identifierOf(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        out += fits ? c : '_';
    }
    return out;
}

std::string lineSchema(const Protocol& protocol) { return protocol.line_schema.empty() ? "{}" : protocol.line_schema; }

std::string typeScript(std::string_view name, std::string_view json_schema) {
    if (!isIdentifier(name))
        throw InvalidArgumentError("'" + std::string(name) +
                                   "' is not a name for a type: give letters, digits and '_'");
    const auto [schema, broken, at, members] = stategraph::detail::readJson(json_schema, depth_max * 2);
    if (broken)
        throw InvalidArgumentError("the schema of '" + std::string(name) + "' is not JSON: " + broken.message());
    return Declarations(name).of(schema);
}

}  // namespace stategraph::serve
