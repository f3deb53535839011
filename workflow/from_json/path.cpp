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

json::value memberOf(const json::value& value, const std::string& part) {
    if (const json::object* const object = value.if_object()) {
        const json::value* const found = object->if_contains(part);
        return found == nullptr ? json::value() : *found;
    }
    const json::array* const list = value.if_array();
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = error == std::errc() && end == part.data() + part.size();
    if (list == nullptr || !is_index || index >= list->size()) return {};
    return (*list)[index];
}

json::value fromValues(const Values& values, const std::vector<std::string>& parts, std::size_t& used) {
    if (parts.size() == 1) {
        json::object all;
        for (const auto& [key, value] : values) all[key] = toJsonValue(value);
        return all;
    }
    used = 2;
    const auto found = values.find(parts[1]);
    return found == values.end() ? json::value() : toJsonValue(found->second);
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

json::value Path::readRoot(const Scope& scope, std::size_t& used) const {
    const std::string& root = parts_.front();
    used = 1;
    if (root == "input") return toJsonValue(scope.input());
    if (root == "init") return toJsonValue(scope.init());
    if (root == "state") return fromValues(scope.state(), parts_, used);
    if (root == "context") return fromValues(scope.requestContext(), parts_, used);
    if (root == "iteration") return scope.iteration();
    used = 2;
    const Value* const output = scope.output(parts_[1]);
    return output == nullptr ? json::value() : toJsonValue(*output);
}

json::value Path::read(const Scope& scope) const {
    std::size_t used = 0;
    json::value value = readRoot(scope, used);
    for (std::size_t i = used; i < parts_.size(); ++i) value = memberOf(value, parts_[i]);
    return value;
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
