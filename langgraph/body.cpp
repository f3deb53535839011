#include "langgraph/body.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <stategraph/detail/json_reading.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

Body Body::parse(std::string_view text) {
    stategraph::detail::JsonRead read = stategraph::detail::readJson(text, 64);
    if (read.error) throw InvalidRequest("Invalid JSON in request body: " + read.error.message());
    if (!read.value.is_object()) throw InvalidRequest("The request body must be a JSON object");
    return Body(std::move(read.value.get_object()), {});
}

void Body::refuse(std::string_view name, const std::string& why) const {
    throw InvalidRequest(path_ + std::string(name) + ": " + why);
}

const json::value* Body::find(std::string_view name) const noexcept {
    const json::value* const found = members_.if_contains(name);
    return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<std::string> Body::text(std::string_view name) const {
    const json::value* const found = find(name);
    if (found == nullptr) return {};
    if (!found->is_string()) refuse(name, "must be a string");
    return std::string(found->get_string());
}

std::string Body::text(std::string_view name, std::string_view otherwise) const {
    return text(name).value_or(std::string(otherwise));
}

bool Body::flag(std::string_view name, bool otherwise) const {
    const json::value* const found = find(name);
    if (found == nullptr) return otherwise;
    if (!found->is_bool()) refuse(name, "must be true or false");
    return found->get_bool();
}

std::optional<std::size_t> Body::number(std::string_view name, std::size_t least, std::size_t most) const {
    const json::value* const found = find(name);
    if (found == nullptr) return {};
    boost::system::error_code wrong;
    const auto number = found->to_number<std::size_t>(wrong);
    if (!found->is_number() || wrong || number < least || number > most) {
        refuse(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return number;
}

json::object Body::object(std::string_view name) const {
    const json::value* const found = find(name);
    if (found == nullptr) return {};
    if (!found->is_object()) refuse(name, "must be an object");
    return found->get_object();
}

std::optional<Body> Body::body(std::string_view name) const {
    if (!has(name)) return {};
    return Body(object(name), path_ + std::string(name) + ".");
}

std::vector<std::string> Body::texts(std::string_view name) const {
    const json::value* const found = find(name);
    if (found == nullptr) return {};
    if (found->is_string()) return {std::string(found->get_string())};
    std::vector<std::string> all;
    if (!found->is_array()) refuse(name, "must be a list of strings");
    for (const json::value& each : found->get_array()) {
        if (!each.is_string()) refuse(name, "must be a list of strings");
        all.emplace_back(each.get_string());
    }
    return all;
}

std::string Body::choice(std::string_view name, std::initializer_list<std::string_view> words) const {
    const std::string word = text(name, *words.begin());
    checkWord(path_ + std::string(name), word, words);
    return word;
}

std::optional<std::string> Body::uuid(std::string_view name) const {
    std::optional<std::string> id = text(name);
    if (id && !isUuid(*id)) refuse(name, "must be a UUID");
    return id;
}

void checkWord(std::string_view name, std::string_view word, std::initializer_list<std::string_view> words) {
    if (std::ranges::find(words, word) != words.end()) return;
    std::string known;
    for (const std::string_view each : words) known += (known.empty() ? "" : ", ") + std::string(each);
    throw InvalidRequest(std::string(name) + ": must be one of " + known);
}

std::size_t numberOf(std::string_view name, std::string_view text, std::size_t least, std::size_t most) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
        throw InvalidRequest(std::string(name) + ": must be a whole number from " + std::to_string(least) + " to " +
                             std::to_string(most));
    }
    return number;
}

bool flagOf(std::string_view name, std::string_view text) {
    checkWord(name, text, {"true", "1", "false", "0"});
    return text == "true" || text == "1";
}

}  // namespace stategraph::langgraph
