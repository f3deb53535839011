#include "json/schema/defaults.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::schema {
namespace {

namespace json = boost::json;

constexpr std::size_t added_always_max = 1 << 20;
constexpr std::size_t added_times_max = 8;
constexpr std::size_t bytes_of_value = 32;  // besides the bytes of texts

std::size_t bytesOf(const json::value& value) {
    std::size_t bytes = bytes_of_value;
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) bytes += bytesOf(each);
    } else if (const json::object* const object = value.if_object()) {
        for (const auto& member : *object) bytes += member.key().size() + bytesOf(member.value());
    } else if (const json::string* const text = value.if_string()) {
        bytes += text->size();
    }
    return bytes;
}

class Filling {
public:
    Filling(const Schema& schema, const json::value& value, Work& work)
        : schema_(schema), work_(work), left_(added_always_max + added_times_max * bytesOf(value)) {}

    void fill(std::size_t number, json::value& value) {
        const Node& node = schema_.nodes[number];
        for (const Rule& rule : node.rules) {
            if (json::object* const object = value.if_object(); object != nullptr && rule.word == Word::properties) {
                fillMembers(rule, *object);
            } else if (json::array* const list = value.if_array(); list != nullptr) {
                fillItems(rule, *list);
            }
        }
    }

private:
    using Defaults = std::vector<std::pair<json::string_view, const json::value*>>;

    void fillMembers(const Rule& properties, json::object& object) {
        work_.take(object.size());
        for (auto& member : object) {
            const std::string_view name(member.key().data(), member.key().size());
            const auto child = std::ranges::lower_bound(properties.children, name, {}, &Child::name);
            if (child != properties.children.end() && child->name == name) fill(child->schema, member.value());
        }
        const auto& defaults = defaultsOf(properties);
        work_.take(defaults.size());
        for (const auto& [name, initial] : defaults) {
            if (object.contains(name)) continue;
            const std::size_t bytes = name.size() + bytesOf(*initial);
            if (bytes > left_) {
                throw InvalidArgumentError(
                    "the schema's defaults would make this value many times as large; write out the members that it "
                    "lacks, or shorten the defaults");
            }
            left_ -= bytes;
            object[name] = *initial;
        }
    }
    /// Returns the members that have a default, in the order in which the schema names them.
    const Defaults& defaultsOf(const Rule& properties) {
        const auto [at, is_new] = defaults_.try_emplace(&properties);
        if (!is_new) return at->second;
        for (const auto& [name, written] : properties.given->get_object()) {
            const std::string_view text(name.data(), name.size());
            const auto child = std::ranges::lower_bound(properties.children, text, {}, &Child::name);
            const json::value* initial = defaultOf(written);
            if (initial == nullptr) initial = defaultOf(*schema_.nodes[child->schema].written);
            if (initial != nullptr) at->second.emplace_back(name, initial);
        }
        return at->second;
    }
    void fillItems(const Rule& rule, json::array& list) {
        const bool is_prefix = rule.word == Word::prefix_items;
        if (!is_prefix && rule.word != Word::items) return;
        for (std::size_t i = is_prefix ? 0 : rule.number; i < list.size(); ++i) {
            if (is_prefix && i == rule.children.size()) break;
            fill(rule.children[is_prefix ? i : 0].schema, list[i]);
        }
    }
    static const json::value* defaultOf(const json::value& written) {
        const json::object* const schema = written.if_object();
        return schema != nullptr ? schema->if_contains("default") : nullptr;
    }

    const Schema& schema_;
    Work& work_;
    std::size_t left_;  // bytes that may be added
    std::unordered_map<const Rule*, Defaults> defaults_;
};

}  // namespace

void fillDefaults(const Schema& schema, json::value& value, Work& work) {
    Filling(schema, value, work).fill(schema.root, value);
}

}  // namespace stategraph::schema
