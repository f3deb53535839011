#include "tests/workflow_conformance/compare.hpp"

#include <algorithm>
#include <set>

#include "tests/workflow_conformance/events.hpp"

namespace workflow_conformance {
namespace {

constexpr const char* invalid = "validation failed";  // matches any message

json::object withoutNulls(const json::object& object, std::string_view but = {}) {
    json::object shown;
    for (const auto& entry : object) {
        if (!entry.value().is_null() || entry.key() == but) shown.emplace(entry.key(), entry.value());
    }
    return shown;
}

json::array ordered(const json::array& list) {
    std::vector<json::value> items(list.begin(), list.end());
    order(items);
    return json::array(items.begin(), items.end());
}

json::value comparable(std::string_view key, const json::value& given, const json::object& workflow) {
    json::value value = canonical(given);
    json::array* list = value.if_array();
    if (list == nullptr) return value;
    if (key == "events") return settled(*list, workflow);
    if (key == "suspended") return ordered(*list);
    if (key == "executed") {
        for (json::value& call : *list) call = withoutNulls(call.as_object(), "input");
        return ordered(*list);
    }
    if (key == "outcomes") {
        for (json::value& outcome : *list) {
            if (outcome == "already_claimed") outcome = "not_suspended";
        }
        return ordered(*list);
    }
    return value;
}

// The record of a step in comparable form: null counts as absent, and trailing items that have not begun are omitted.
json::object recordOf(const json::object& steps, const std::string& path) {
    const json::value& found = get(steps, path);
    if (!found.is_object()) return {};
    json::object record = withoutNulls(canonical(found).as_object());
    json::value* items = record.if_contains("items");
    if (items == nullptr) return record;
    json::array& list = items->as_array();
    for (json::value& item : list) {
        if (item.is_object()) item = withoutNulls(item.get_object());
    }
    while (!list.empty() && list.back().is_null()) list.pop_back();
    return record;
}

class Comparison {
public:
    Comparison(std::string label, const json::object& workflow, std::vector<std::string>& found)
        : label_(std::move(label)), workflow_(workflow), found_(found) {}

    void compare(const json::object& wanted, const json::object& given) {
        for (const std::string_view key : {"refused", "crashed"}) {
            if (!given.contains(key) || wanted.contains(key)) continue;
            tell(": " + std::string(key) + " " + json::serialize(get(given, key)) + ", which was not expected");
        }
        for (const auto& entry : wanted) {
            const std::string key(entry.key());
            if (!given.contains(key)) {
                tell(": no " + key);
            } else if (key == "steps") {
                compareSteps(entry.value().as_object(), get(given, key).as_object());
            } else if (key != "error" || entry.value() != json::value(invalid)) {
                const json::value want = comparable(key, entry.value(), workflow_);
                const json::value have = comparable(key, get(given, key), workflow_);
                if (want != have) differs(key, want, have);
            }
        }
        if (given.contains("executed") && !wanted.contains("executed")) {
            tell(": ran " + json::serialize(get(given, "executed")) + ", expected nothing to run");
        }
    }

private:
    void tell(const std::string& what) { found_.push_back(label_ + what); }
    void differs(const std::string& what, const json::value& want, const json::value& have) {
        tell(": " + what + "\n    expected " + json::serialize(want) + "\n    got      " + json::serialize(have));
    }

    void compareSteps(const json::object& wanted, const json::object& given) {
        std::set<std::string> paths;
        for (const auto& entry : wanted) paths.emplace(entry.key());
        for (const auto& entry : given) paths.emplace(entry.key());
        for (const auto& path : paths) {
            const json::object want = recordOf(wanted, path);
            json::object have = recordOf(given, path);
            if (!want.contains("payload")) have.erase("payload");
            if (get(want, "error") == invalid && have.contains("error")) have["error"] = invalid;
            if (want != have) differs("step " + path, want, have);
        }
    }

    std::string label_;
    const json::object& workflow_;
    std::vector<std::string>& found_;
};

}  // namespace

std::vector<std::string> differences(const json::object& scenario, const json::object& answer) {
    std::vector<std::string> found;
    const json::array& wanted = get(scenario, "run").as_array();
    const json::array& given = get(answer, "run").as_array();
    for (std::size_t i = 0; i < std::min(wanted.size(), given.size()); ++i) {
        const json::object& operation = wanted[i].as_object();
        const json::value& expect = get(operation, "expect");
        Comparison("operation " + std::to_string(i) + " (" + text(get(operation, "op")) + ")",
                   get(scenario, "workflow").as_object(), found)
            .compare(expect.is_object() ? expect.get_object() : json::object(),
                     get(given[i].as_object(), "expect").as_object());
    }
    if (wanted.size() != given.size()) found.push_back("not every operation was answered");
    return found;
}

}  // namespace workflow_conformance
