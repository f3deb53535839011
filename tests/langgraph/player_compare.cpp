#include "tests/langgraph/player_compare.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/json_compare.hpp"

namespace player {
namespace {

using Found = std::optional<Difference>;

constexpr std::size_t most_shown = 400;
constexpr int most_tries = 10'000;  // of orders of events

std::string shortened(std::string text) {
    if (text.size() > most_shown) text = text.substr(0, most_shown) + "…";
    return text;
}

const json::value* memberOf(const json::value& value, std::string_view name) {
    const json::object* members = value.if_object();
    return members != nullptr ? members->if_contains(name) : nullptr;
}

Found compareTexts(const json::string& expected, const json::value& got, Bindings& bindings, const std::string& path) {
    if (expected == "<ms>") {
        if (got.is_number()) return {};
        return Difference{path, "a number", shown(got)};
    }
    const json::string* text = got.if_string();
    if (text != nullptr && bindings.match(std::string_view(expected), std::string_view(*text))) return {};
    return Difference{path, shown(expected) + bindings.explain(std::string_view(expected)), shown(got)};
}

Found compareLists(const json::array& expected, const json::value& got, Bindings& bindings, const std::string& path) {
    const json::array* items = got.if_array();
    if (items == nullptr) return Difference{path, "a list: " + shown(expected), shown(got)};
    for (std::size_t i = 0; i < std::min(expected.size(), items->size()); ++i) {
        if (Found found = compare(expected[i], (*items)[i], bindings, path + "[" + std::to_string(i) + "]"))
            return found;
    }
    if (items->size() == expected.size()) return {};
    return Difference{path, std::to_string(expected.size()) + " items: " + shown(expected),
                      std::to_string(items->size()) + " items: " + shown(got)};
}

// The member of `got` that an expected one with a placeholder in its name stands for; null if there is none.
const json::key_value_pair* namedLike(const json::key_value_pair& expected, const json::object& got,
                                      const std::set<std::string_view>& taken, const Bindings& bindings) {
    for (const auto& member : got) {
        Bindings tried = bindings;
        if (!taken.contains(std::string_view(member.key())) && tried.match(expected.key(), member.key()) &&
            !compare(expected.value(), member.value(), tried, ""))
            return &member;
    }
    return nullptr;
}

Found compareObjects(const json::object& expected, const json::value& got, Bindings& bindings,
                     const std::string& path) {
    const json::object* members = got.if_object();
    if (members == nullptr) return Difference{path, "an object: " + shown(expected), shown(got)};
    std::set<std::string_view> taken;
    for (const auto& each : expected) {
        const std::string at = path + "." + std::string(each.key());
        const bool is_named_by_id = !placeholdersOf(each.key()).empty();
        const auto* const member =
            is_named_by_id ? namedLike(each, *members, taken, bindings) : members->find(each.key());
        if (member == nullptr || member == members->end()) {
            return Difference{at, shown(each.value()) + bindings.explain(each.key()), "no such member: " + shown(got)};
        }
        taken.insert(member->key());
        if (is_named_by_id) bindings.match(each.key(), member->key());
        if (Found found = compare(each.value(), member->value(), bindings, at)) return found;
    }
    return {};
}

Found compareEvent(const json::value& expected, const Event& got, Bindings& bindings, std::size_t number) {
    const std::string path = "event " + std::to_string(number);
    if (Found found = compare(*memberOf(expected, "event"), json::string(got.name), bindings, path + ": its name"))
        return found;
    const json::value* const data = memberOf(expected, "data");
    if (Found found =
            compare(data != nullptr ? *data : json::value(), got.data, bindings, path + " (" + got.name + ").data"))
        return found;
    if (memberOf(expected, "id") != nullptr && !got.id)
        return Difference{path + " (" + got.name + "): its id", "an id", "none"};
    return {};
}

std::string namesOf(const std::vector<Event>& events) {
    std::string names;
    for (const Event& event : events) names += (names.empty() ? "" : " ") + event.name;
    return std::to_string(events.size()) + ": " + names;
}
std::string namesOf(const json::array& expected, const Bindings& bindings) {
    std::vector<Event> events;
    for (const json::value& each : expected)
        events.push_back({.name = bindings.fillText(std::string_view(memberOf(each, "event")->as_string()))});
    return namesOf(events);
}

Found compareNames(const json::array& expected, const std::vector<Event>& got) {
    std::set<std::string> wanted;
    std::set<std::string> names;
    for (const json::value& each : expected) wanted.emplace(memberOf(each, "event")->as_string());
    for (const Event& event : got) names.insert(event.name);
    if (wanted == names) return {};
    const auto listed = [](const std::set<std::string>& all) {
        std::string text;
        for (const std::string& name : all) text += (text.empty() ? "" : " ") + name;
        return text;
    };
    return Difference{"names of events", listed(wanted), listed(names)};
}

/// Finds an order of events in which each is the expected one.
class AnyOrder {
public:
    AnyOrder(const json::array& expected, const std::vector<Event>& got)
        : expected_(expected), got_(got), is_used_(got.size(), false) {}

    Found compare(Bindings& bindings) {
        if (findFrom(0, bindings)) return {};
        return Difference{"event " + std::to_string(furthest_) + " in any order", shown(expected_[furthest_]),
                          "none like it among the other " + namesOf(left_)};
    }

private:
    bool findFrom(std::size_t at, Bindings& bindings) {
        if (at == expected_.size()) return true;
        if (at >= furthest_) note(at);
        for (std::size_t i = 0; i < got_.size(); ++i) {
            if (is_used_[i] || ++tries_ > most_tries) continue;
            Bindings tried = bindings;
            if (compareEvent(expected_[at], got_[i], tried, at)) continue;
            is_used_[i] = true;
            if (findFrom(at + 1, tried)) {
                bindings = tried;
                return true;
            }
            is_used_[i] = false;
        }
        return false;
    }
    void note(std::size_t at) {
        furthest_ = at;
        left_.clear();
        for (std::size_t i = 0; i < got_.size(); ++i)
            if (!is_used_[i]) left_.push_back(got_[i]);
    }

    const json::array& expected_;
    const std::vector<Event>& got_;
    std::vector<bool> is_used_;
    std::size_t furthest_ = 0;  // the expected event that no order reached beyond
    std::vector<Event> left_;   // those that were left for it
    int tries_ = 0;
};

Found compareEvents(const json::array& expected, const std::vector<Event>& got, std::string_view how,
                    Bindings& bindings) {
    if (how == "names") return compareNames(expected, got);
    const bool is_unordered = how == "unordered";
    for (std::size_t i = 0; !is_unordered && i < std::min(expected.size(), got.size()); ++i)
        if (Found found = compareEvent(expected[i], got[i], bindings, i)) return found;
    if (expected.size() != got.size()) return Difference{"number of events", namesOf(expected, bindings), namesOf(got)};
    return is_unordered ? AnyOrder(expected, got).compare(bindings) : Found();
}

Found compareHeaders(const json::object& expected, const Reply& got, Bindings& bindings) {
    for (const auto& header : expected) {
        const std::string name(header.key());
        const auto found = got.headers.find(name);
        json::value value;  // null: the header is missing
        // Of other bodies the JSON is compared, whatever its type is.
        if (name == "content-type" && !got.isStream()) continue;
        if (found != got.headers.end())
            value = json::string(name == "content-type" ? got.contentType() : found->second);
        if (Found differs = compare(header.value(), value, bindings, "header " + name)) return differs;
    }
    return {};
}

Found compareBody(const json::value& response, const Reply& got, Bindings& bindings) {
    const bool is_blank = got.body.find_first_not_of(" \t\r\n") == std::string::npos;
    if (memberOf(response, "empty") != nullptr) {
        if (is_blank) return {};
        return Difference{"body", "no body", shown(json::string(got.body))};
    }
    if (const json::value* text = memberOf(response, "text"))
        return compare(*text, json::string(got.body), bindings, "body");
    const json::value* const expected = memberOf(response, "json");
    if (expected == nullptr) return {};
    boost::system::error_code error;
    const json::value body = json::parse(got.body, error);
    if (error) return Difference{"body", "JSON: " + shown(*expected), shown(json::string(got.body))};
    return compare(*expected, body, bindings, "body");
}

}  // namespace

std::string shown(const json::value& value) { return shortened(json::serialize(value)); }

std::optional<Difference> compare(const json::value& expected, const json::value& got, Bindings& bindings,
                                  const std::string& path) {
    if (const json::string* text = expected.if_string()) return compareTexts(*text, got, bindings, path);
    if (const json::array* items = expected.if_array()) return compareLists(*items, got, bindings, path);
    if (const json::object* members = expected.if_object()) return compareObjects(*members, got, bindings, path);
    if (json_compare::same(expected, got)) return {};
    return Difference{path, shown(expected), shown(got)};
}

std::optional<Difference> compareReply(const json::value& response, const Reply& got, std::string_view how,
                                       Bindings& bindings) {
    const auto status = memberOf(response, "status")->to_number<int>();
    if (got.status != status) {
        return Difference{"status", std::to_string(status),
                          std::to_string(got.status) + ": " + shown(json::string(got.body))};
    }
    if (status >= 400) return {};
    const json::value* const events = memberOf(response, "sse");
    if (events != nullptr && !got.isStream())
        return Difference{"header content-type", "text/event-stream", got.contentType()};
    if (const json::value* headers = memberOf(response, "headers")) {
        if (Found found = compareHeaders(headers->as_object(), got, bindings)) return found;
    }
    return events != nullptr ? compareEvents(events->as_array(), got.events, how, bindings)
                             : compareBody(response, got, bindings);
}

}  // namespace player
