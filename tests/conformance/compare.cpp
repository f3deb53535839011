#include "tests/conformance/compare.hpp"

#include <algorithm>

namespace conformance {
namespace {

void order(json::array::iterator begin, json::array::iterator end) {
    std::sort(begin, end,
              [](const json::value& a, const json::value& b) { return json::serialize(a) < json::serialize(b); });
}
void order(json::value& list) {
    if (json::array* items = list.if_array()) order(items->begin(), items->end());
}

bool shown(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || value->is_null()) return false;
    if (const bool* flag = value->if_bool()) return *flag;
    if (const json::array* items = value->if_array()) return !items->empty();
    return true;
}

// Returns a snapshot in the form that is compared: without a result for a task that failed or paused, and without the
// state of a subgraph that failed.
json::value view(json::value snapshot) {
    json::object& object = snapshot.as_object();
    if (!object.contains("tasks")) object["tasks"] = json::array();
    if (!object.contains("next")) object["next"] = json::array();
    for (json::value& each : object["tasks"].as_array()) {
        json::object& task = each.as_object();
        const bool failed = shown(task, "error");
        if (failed || shown(task, "interrupts")) task.erase("result");
        if (failed) task.erase("state");
        if (json::value* state = task.if_contains("state")) *state = view(std::move(*state));
        task["error"] = failed;
        each = canonical(each);
    }
    order(object["tasks"]);
    order(object["next"]);
    return snapshot;
}

// Returns whether a task tells the chunk when it ends: its update, its end, its questions.
bool isOfOneTask(const json::value& chunk) {
    const json::object& object = chunk.as_object();
    const json::value& mode = get(object, "mode");
    if (mode == "values") return object.contains("interrupts") && get(object, "data").as_object().empty();
    return mode == "updates" || (mode == "tasks" && get(object, "data").as_object().contains("result"));
}

// Sorts neighbouring chunks of tasks that end, which may come in any order.
json::value settled(json::value chunks) {
    json::array& list = chunks.as_array();
    for (auto begin = list.begin(); begin != list.end();) {
        const auto first = std::find_if(begin, list.end(), isOfOneTask);
        const auto last = std::find_if_not(first, list.end(), isOfOneTask);
        order(first, last);
        begin = last;
    }
    return chunks;
}

json::value comparable(std::string_view key, const json::value& given) {
    json::value value = canonical(given);
    if (key == "state") return view(std::move(value));
    if (key == "chunks") return settled(std::move(value));
    if (key == "executed" || key == "interrupts") order(value);
    if (key == "history") {
        for (json::value& snapshot : value.as_array()) snapshot = view(std::move(snapshot));
    }
    if (key == "error") value.as_object().erase("detail");
    return value;
}

void compareOperation(const std::string& label, const json::object& wanted, const json::object& given,
                      std::vector<std::string>& found) {
    if (given.contains("error") && !wanted.contains("error")) {
        found.push_back(label + ": unexpected error " + json::serialize(get(given, "error")));
    }
    for (const auto& entry : wanted) {
        const std::string key(entry.key());
        if (!given.contains(key)) {
            found.push_back(label + ": no " + key);
            continue;
        }
        const json::value a = comparable(key, entry.value());
        const json::value b = comparable(key, get(given, key));
        if (a != b)
            found.push_back(label + ": " + key + "\n    expected " + json::serialize(a) + "\n    got      " +
                            json::serialize(b));
    }
    if (given.contains("executed") && !wanted.contains("executed")) {
        found.push_back(label + ": ran " + json::serialize(get(given, "executed")) + ", expected nothing to run");
    }
}

std::string buildError(const json::object& scenario) {
    const json::object* built = get(scenario, "expect_build").if_object();
    const json::object* error = built != nullptr ? get(*built, "error").if_object() : nullptr;
    return error != nullptr ? text(get(*error, "kind")) : "";
}

}  // namespace

std::vector<std::string> differences(const json::object& expected, const json::object& answer) {
    std::vector<std::string> found;
    const std::string refused = buildError(expected);
    const std::string got = buildError(answer);
    if (refused != got) {
        found.push_back("build: expected " + (refused.empty() ? "no error" : refused) + ", got " +
                        json::serialize(get(answer, "expect_build")));
    }
    if (!refused.empty()) return found;
    const json::array& wanted = get(expected, "run").as_array();
    const json::array& given = get(answer, "run").as_array();
    for (std::size_t i = 0; i < std::min(wanted.size(), given.size()); ++i) {
        const json::object& op = wanted[i].as_object();
        const json::value& expect = get(op, "expect");
        compareOperation("operation " + std::to_string(i) + " (" + text(get(op, "op")) + ")",
                         expect.is_object() ? expect.get_object() : json::object(),
                         get(given[i].as_object(), "expect").as_object(), found);
    }
    if (wanted.size() != given.size()) found.push_back("not every operation was answered");
    return found;
}

}  // namespace conformance
