#include "tests/langgraph/altered_responses.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace player {
namespace {

using Say = std::function<void(const std::string& path, json::value altered, bool is_exact)>;

json::value another(const json::value& leaf) {
    if (leaf == "<ms>") return "no number";
    if (leaf == "<time>") return "2026-11-29";
    if (const json::string* text = leaf.if_string())
        return json::string(placeholdersOf(std::string_view(*text)).empty() ? std::string(*text) + "x" : newId());
    if (leaf.is_bool()) return !leaf.get_bool();
    if (leaf.is_null()) return false;
    return leaf.to_number<double>() + 1;
}

void alter(const json::value& value, const std::string& path, const Say& say);

void alterList(const json::array& items, const std::string& path, const Say& say) {
    json::array more = items;
    more.push_back(nullptr);
    say(path, more, true);
    for (std::size_t i = 0; i < items.size(); ++i) {
        json::array fewer = items;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        say(path, fewer, false);
        alter(items[i], path + "[" + std::to_string(i) + "]",
              [&](const std::string& at, const json::value& altered, bool is_exact) {
                  json::array changed = items;
                  changed[i] = altered;
                  say(at, changed, is_exact);
              });
    }
}

void alterObject(const json::object& members, const std::string& path, const Say& say) {
    for (const auto& member : members) {
        const std::string at = path + "." + std::string(member.key());
        // A member whose name is an id is found by its value.
        const bool is_named_by_id = !placeholdersOf(std::string_view(member.key())).empty();
        json::object fewer = members;
        fewer.erase(member.key());
        say(at, fewer, true);
        alter(member.value(), at, [&](const std::string& inside, const json::value& altered, bool is_exact) {
            json::object changed = members;
            changed[member.key()] = altered;
            say(is_named_by_id ? at : inside, changed, is_exact);
        });
    }
}

void alter(const json::value& value, const std::string& path, const Say& say) {
    if (const json::array* items = value.if_array()) {
        alterList(*items, path, say);
    } else if (const json::object* members = value.if_object()) {
        alterObject(*members, path, say);
    } else {
        say(path, another(value), true);
    }
    // Another kind of value. A number would be what <ms> stands for.
    say(path, value.is_string() ? json::value(false) : json::value("7"), true);
}

void alterEvent(const json::array& events, std::size_t i, const std::string& how, const Bindings& bindings,
                const Say& say) {
    const json::object& event = events[i].as_object();
    const auto say_event = [&](const std::string& path, json::object altered, bool is_exact) {
        json::array changed = events;
        changed[i] = std::move(altered);
        // Without an order it is not known which event is meant.
        say(how.empty() ? path : how == "names" ? "names of events" : "event ", changed, is_exact && how.empty());
    };
    json::object renamed = event;
    renamed["event"] = "odd";
    const std::string number = "event " + std::to_string(i);
    say_event(number + ": its name", renamed, true);
    if (how == "names") return;
    const std::string named = number + " (" + bindings.fillText(std::string_view(event.at("event").as_string())) + ")";
    if (event.contains("id")) {
        json::object without_id = event;
        without_id.erase("id");
        say_event(named + ": its id", without_id, true);
    }
    alter(event.at("data"), named + ".data", [&](const std::string& path, const json::value& altered, bool is_exact) {
        json::object changed = event;
        changed["data"] = altered;
        say_event(path, changed, is_exact);
    });
}

void alterEvents(const json::array& events, const std::string& how, const Bindings& bindings, const Say& say) {
    for (std::size_t i = 0; i < events.size(); ++i) {
        alterEvent(events, i, how, bindings, say);
        if (how == "names") continue;
        json::array fewer = events;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        say("", fewer, false);
        json::array twice = events;
        twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), events[i]);
        say("", twice, false);
        if (how.empty() && i + 1 < events.size() && events[i] != events[i + 1]) {
            json::array swapped = events;
            std::swap(swapped[i], swapped[i + 1]);
            say("event " + std::to_string(i), swapped, false);
        }
    }
}

}  // namespace

std::vector<Altered> alterations(const json::value& response, const std::string& how, const Bindings& bindings) {
    std::vector<Altered> all;
    const json::object& recorded = response.as_object();
    const auto changing = [&](const char* member) -> Say {
        return [&all, &recorded, member](const std::string& path, json::value altered, bool is_exact) {
            json::object changed = recorded;
            changed[member] = std::move(altered);
            all.push_back({path, std::move(changed), is_exact});
        };
    };
    const auto status = recorded.at("status").to_number<std::int64_t>();
    changing("status")("status", status == 200 ? 201 : 200, true);
    if (status >= 400) return all;
    const json::object& headers = recorded.at("headers").as_object();
    for (const auto& header : headers) {
        if (header.key() == "content-type" && !recorded.contains("sse")) continue;
        json::object changed = headers;
        changed[header.key()] = another(header.value());
        changing("headers")("header " + std::string(header.key()), changed, true);
        changed.erase(header.key());
        changing("headers")("header " + std::string(header.key()), changed, true);
    }
    if (recorded.contains("json")) alter(recorded.at("json"), "body", changing("json"));
    if (recorded.contains("sse")) alterEvents(recorded.at("sse").as_array(), how, bindings, changing("sse"));
    return all;
}

}  // namespace player
