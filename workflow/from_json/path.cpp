#include "workflow/from_json/path.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

namespace stategraph::workflow::from_json {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 6> roots{"input", "init", "state", "context", "steps", "iteration"};

const json::value& nothing() {
    static const json::value none;
    return none;
}

const json::value& memberOf(const json::value& value, const std::string& part) {
    if (const json::object* const object = value.if_object()) {
        const json::value* const found = object->if_contains(part);
        return found == nullptr ? nothing() : *found;
    }
    const json::array* const list = value.if_array();
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = error == std::errc() && end == part.data() + part.size();
    return list == nullptr || !is_index || index >= list->size() ? nothing() : (*list)[index];
}

json::value fromValues(const Values& values, const std::string* name) {
    if (name != nullptr) {
        const auto found = values.find(*name);
        return found == values.end() ? json::value() : toJsonValue(found->second);
    }
    json::object all;
    for (const auto& [key, value] : values) all[key] = toJsonValue(value);
    return all;
}

}  // namespace

Path::Path(std::string_view text) {
    for (std::string_view rest = text;;) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        parts_.emplace_back(rest.substr(0, dot));
        if (dot == rest.size()) break;
        rest.remove_prefix(dot + 1);
    }
    const bool is_known = std::ranges::find(roots, std::string_view(parts_.front())) != roots.end();
    if (!is_known || (parts_.front() == "steps" && parts_.size() == 1)) {
        throw InvalidArgumentError("the path '" + std::string(text) +
                                   "' begins with none of input, init, state, context, steps.ID and iteration");
    }
}

json::value Roots::make(const std::string& root, const std::string* name) const {
    if (root == "input") return toJsonValue(scope_.input());
    if (root == "init") return toJsonValue(scope_.init());
    if (root == "state") return fromValues(scope_.state(), name);
    if (root == "context") return fromValues(scope_.requestContext(), name);
    if (root == "iteration") return scope_.iteration();
    const Value* const output = scope_.output(*name);
    return output == nullptr ? json::value() : toJsonValue(*output);
}

const json::value& Roots::find(const std::vector<std::string>& parts, std::size_t& used) {
    const std::string& root = parts.front();
    const bool has_name = parts.size() > 1 && (root == "state" || root == "context" || root == "steps");
    used = has_name ? 2 : 1;
    const auto [at, is_new] = made_.try_emplace(has_name ? root + "." + parts[1] : root);
    if (is_new) at->second = make(root, has_name ? &parts[1] : nullptr);
    return at->second;
}

const json::value& Path::in(Roots& roots) const {
    std::size_t used = 0;
    const json::value* value = &roots.find(parts_, used);
    for (std::size_t i = used; i < parts_.size(); ++i) value = &memberOf(*value, parts_[i]);
    return *value;
}

bool isEqual(const json::value& a, const json::value& b) {
    if (a.is_number() && b.is_number()) {
        const bool is_real = a.is_double() || b.is_double();
        return is_real ? a.to_number<double>() == b.to_number<double>() : a == b;
    }
    if (a.kind() != b.kind()) return false;
    if (const json::array* const list = a.if_array()) return std::ranges::equal(*list, b.get_array(), isEqual);
    const json::object* const object = a.if_object();
    if (object == nullptr) return a == b;
    return object->size() == b.get_object().size() && std::ranges::all_of(*object, [&](const auto& member) {
               const json::value* const other = b.get_object().if_contains(member.key());
               return other != nullptr && isEqual(member.value(), *other);
           });
}

}  // namespace stategraph::workflow::from_json
