#include <stategraph/json_schema.hpp>

#include <chrono>
#include <map>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>

namespace sg = stategraph;
namespace json = boost::json;

namespace json_schema {

enum class Colour { red, green };
constexpr auto enumNames(Colour) { return sg::enumNames<Colour>({{"red", Colour::red}, {"green", Colour::green}}); }

struct Weather {
    std::string city = {};
    std::optional<int> days = {};
    std::string units = "metric";
    static constexpr auto fields() {
        return sg::fields(sg::field("city", &Weather::city, sg::describe("Where, in \"English\"")),
                          sg::field("days", &Weather::days), sg::field("units", &Weather::units, sg::defaulted));
    }
};
struct Circle {
    double radius = 0;
    static constexpr std::string_view tag = "circle";
    static constexpr auto fields() { return sg::fields(sg::field("radius", &Circle::radius)); }
};
struct Box {
    unsigned char side = 0;
    static constexpr std::string_view tag = "box";
    static constexpr auto fields() { return sg::fields(sg::field("side", &Box::side)); }
};
struct Tree {
    std::string name = {};
    std::vector<Tree> children = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("name", &Tree::name), sg::field("children", &Tree::children, sg::defaulted));
    }
};
struct All {
    std::variant<Circle, Box> shape = {};
    Colour colour = {};
    std::optional<Colour> other = {};
    std::chrono::milliseconds wait = {};
    std::map<std::string, std::array<int, 2>> pairs = {};
    std::map<int, bool> flags = {};
    std::pair<bool, std::string> both = {};
    std::variant<int, std::string> either = {};
    Tree tree = {};
    std::optional<Tree> second = {};
    std::vector<std::byte> bytes = {};
    sg::Value any = {};
    std::uint64_t big = 0;
    static constexpr bool allows_unknown_members = true;
    static constexpr auto fields() {
        return sg::fields(
            sg::field("shape", &All::shape), sg::field("colour", &All::colour), sg::field("other", &All::other),
            sg::field("wait", &All::wait, sg::describe("How long")), sg::field("pairs", &All::pairs),
            sg::field("flags", &All::flags), sg::field("both", &All::both), sg::field("either", &All::either),
            sg::field("tree", &All::tree), sg::field("second", &All::second), sg::field("bytes", &All::bytes),
            sg::field("any", &All::any, sg::describe("Anything")), sg::field("big", &All::big));
    }
};
struct State {
    Weather weather = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("weather", &State::weather),
                            sg::channel("log", &State::log, sg::append, sg::describe("What happened")));
    }
};

// Does as much of a validator's work as these schemas need.
class Validator {
public:
    explicit Validator(const json::value& root) : root_(root) {}

    bool takes(const json::value& schema, const json::value& value) const {
        const json::object& rules = schema.as_object();
        for (const auto& rule : rules) {
            if (!follows(rule.key(), rule.value(), rules, value)) return false;
        }
        return true;
    }

private:
    bool follows(std::string_view name, const json::value& rule, const json::object& rules,
                 const json::value& value) const {
        if (name == "$ref") return takes(target(rule.as_string()), value);
        if (name == "const") return rule == value;
        if (name == "enum") return count(rule, [&](const json::value& each) { return each == value; }) > 0;
        if (name == "anyOf") return count(rule, [&](const json::value& each) { return takes(each, value); }) > 0;
        if (name == "oneOf") return count(rule, [&](const json::value& each) { return takes(each, value); }) == 1;
        if (name == "type" && rule.is_array())
            return count(rule, [&](const json::value& each) { return isA(each.as_string(), value); }) > 0;
        if (name == "type") return isA(rule.as_string(), value);
        if (name == "minimum") return !value.is_number() || value.to_number<double>() >= rule.to_number<double>();
        if (name == "maximum") return !value.is_number() || value.to_number<double>() <= rule.to_number<double>();
        if (value.is_array()) return followsAsList(name, rule, rules, value.get_array());
        if (value.is_object()) return followsAsObject(name, rule, rules, value.get_object());
        return true;
    }

    bool followsAsList(std::string_view name, const json::value& rule, const json::object& rules,
                       const json::array& list) const {
        if (name == "minItems") return list.size() >= rule.to_number<std::size_t>();
        if (name == "maxItems") return list.size() <= rule.to_number<std::size_t>();
        const json::value* const prefix = rules.if_contains("prefixItems");
        const std::size_t first = prefix != nullptr ? prefix->as_array().size() : 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (name == "prefixItems" && i < first && !takes(rule.at(i), list[i])) return false;
            if (name == "items" && i >= first && (rule.is_bool() ? !rule.get_bool() : !takes(rule, list[i])))
                return false;
        }
        return true;
    }

    bool followsAsObject(std::string_view name, const json::value& rule, const json::object& rules,
                         const json::object& object) const {
        if (name == "required")
            return count(rule, [&](const json::value& each) { return object.contains(each.as_string()); }) ==
                   rule.as_array().size();
        const json::value* const properties = rules.if_contains("properties");
        for (const auto& entry : object) {
            const json::value* known =
                properties != nullptr ? properties->as_object().if_contains(entry.key()) : nullptr;
            if (name == "properties" && known != nullptr && !takes(*known, entry.value())) return false;
            if (name == "additionalProperties" && known == nullptr &&
                (rule.is_bool() ? !rule.get_bool() : !takes(rule, entry.value())))
                return false;
            if (name == "propertyNames" && entry.key().find_first_not_of("-0123456789") != json::string_view::npos)
                return false;
        }
        return true;
    }

    template <class F>
    static std::size_t count(const json::value& list, F fits) {
        std::size_t number = 0;
        for (const json::value& each : list.as_array()) number += fits(each) ? 1 : 0;
        return number;
    }

    static bool isA(std::string_view type, const json::value& value) {
        if (type == "integer")
            return value.is_int64() || value.is_uint64() ||
                   (value.is_double() &&
                    value.get_double() == static_cast<double>(static_cast<std::int64_t>(value.get_double())));
        return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
               (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
               (type == "boolean" && value.is_bool()) || (type == "null" && value.is_null());
    }

    const json::value& target(std::string_view ref) const {
        if (ref == "#") return root_;
        REQUIRE(ref.starts_with("#/$defs/"));
        return root_.at("$defs").at(json::string_view(ref.data() + 8, ref.size() - 8));
    }

    const json::value& root_;
};

template <class T>
bool isRead(const json::value& value) {
    try {
        (void)sg::fromJson<T>(value);
        return true;
    } catch (const sg::WrongTypeError&) {
        return false;
    }
}

constexpr std::string_view draft = R"("$schema":"https://json-schema.org/draft/2020-12/schema")";

}  // namespace json_schema

using namespace json_schema;

TEST_CASE("a struct's schema lists its members in the order of its table") {
    CHECK(
        sg::jsonSchema<Weather>() ==
        "{" + std::string(draft) +
            R"(,"type":"object","properties":{"city":{"description":"Where, in \"English\"","type":"string"},)"
            R"("days":{"type":["integer","null"],"minimum":-2147483648,"maximum":2147483647},"units":{"type":"string"}},)"
            R"("required":["city"],"additionalProperties":false})");
}

TEST_CASE("a state's schema is that of its channels") {
    const json::value schema = json::parse(sg::jsonSchema<State>());
    CHECK(schema.at("required") == json::value{"weather"});
    CHECK(schema.at("properties").at("log").at("description") == "What happened");
    CHECK(schema.at("properties").at("weather").at("additionalProperties") == false);
}

TEST_CASE("types that are no structs have a schema too") {
    CHECK(sg::jsonSchema<sg::Value>() == "{" + std::string(draft) + "}");
    CHECK(sg::jsonSchema<bool>() == "{" + std::string(draft) + R"(,"type":"boolean"})");
    CHECK(sg::jsonSchema<json::object>() == "{" + std::string(draft) + R"(,"type":"object"})");
    CHECK(sg::jsonSchema<std::chrono::hours>() ==
          "{" + std::string(draft) + R"(,"description":"hours","type":"integer"})");
}

TEST_CASE("each kind of member has its schema") {
    const json::value schema = json::parse(sg::jsonSchema<All>());
    CHECK_FALSE(schema.as_object().contains("additionalProperties"));
    const json::value& members = schema.at("properties");
    CHECK(
        json::serialize(members.at("shape").at("oneOf").at(0)) ==
        R"({"type":"object","properties":{"type":{"const":"circle"},"radius":{"type":"number"}},"required":["type","radius"],"additionalProperties":false})");
    CHECK(json::serialize(members.at("colour")) == R"({"type":"string","enum":["red","green"]})");
    CHECK(json::serialize(members.at("other")) ==
          R"({"anyOf":[{"type":"string","enum":["red","green"]},{"type":"null"}]})");
    CHECK(members.at("wait").at("description") == "How long, in milliseconds");
    CHECK(json::serialize(members.at("any")) == R"({"description":"Anything"})");
    CHECK(json::serialize(members.at("big")) == R"({"type":"integer","minimum":0})");
    CHECK(json::serialize(members.at("tree")) == R"({"$ref":"#/$defs/Tree"})");
    CHECK(json::serialize(schema.at("$defs").at("Tree").at("properties").at("children").at("items")) ==
          R"({"$ref":"#/$defs/Tree"})");
}

TEST_CASE("a type that contains itself refers to the whole schema") {
    const json::value schema = json::parse(sg::jsonSchema<Tree>());
    CHECK(json::serialize(schema.at("properties").at("children").at("items")) == R"({"$ref":"#"})");
    CHECK(Validator(schema).takes(schema, json::parse(R"({"name":"a","children":[{"name":"b","children":[]}]})")));
    CHECK_FALSE(Validator(schema).takes(schema, json::parse(R"({"name":"a","children":[{"nam":"b"}]})")));
}

TEST_CASE("a schema takes what strict reading takes, and nothing else") {
    const json::value good = json::parse(sg::toJson(All{}));
    const json::value schema = json::parse(sg::jsonSchema<All>());
    const Validator validator(schema);
    REQUIRE(isRead<All>(good));
    REQUIRE(validator.takes(schema, good));
    // Each member in turn is removed, and replaced by each of these.
    const json::value others[] = {nullptr,
                                  1,
                                  -1,
                                  1.5,
                                  2.0,
                                  "red",
                                  "text",
                                  json::array{},
                                  true,
                                  {1},
                                  {1, 2},
                                  {1, "text"},
                                  {true, "x"},
                                  {0, 7},
                                  json::parse(R"({"type":"box","side":3})"),
                                  json::parse(R"({"type":"box","side":300})"),
                                  json::parse(R"({"type":"box"})"),
                                  json::parse(R"({"radius":1})"),
                                  json::parse(R"({"name":"x"})"),
                                  json::parse(R"({"name":"x","children":[{"name":1}]})"),
                                  json::parse(R"({"1":true})"),
                                  json::parse(R"({"x":[1,2]})"),
                                  json::parse(R"({"x":[1]})")};
    for (const auto& member : good.as_object()) {
        CAPTURE(std::string(member.key()));
        json::value changed = good;
        changed.as_object().erase(member.key());
        CHECK(isRead<All>(changed) == validator.takes(schema, changed));
        if (member.key() == "bytes") continue;  // schemas do not check the encoding of text
        for (const json::value& other : others) {
            changed.as_object()[member.key()] = other;
            CAPTURE(json::serialize(other));
            CHECK(isRead<All>(changed) == validator.takes(schema, changed));
        }
    }
    json::value more = good;
    more.as_object()["more"] = 1;
    CHECK(isRead<All>(more));
    CHECK(validator.takes(schema, more));
}
