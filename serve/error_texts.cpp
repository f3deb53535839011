#include "serve/error_texts.hpp"

#include <algorithm>
#include <stdexcept>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

#include "serve/http.hpp"
#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

json::value parsedState(std::string_view state) {
    boost::system::error_code broken;
    json::value parsed = parsedText(state, broken);
    if (broken || !parsed.is_object())
        throw std::runtime_error("the state is not shown, because it cannot be searched for texts of errors: " +
                                 (broken ? broken.message() : "it is no object"));
    return parsed;
}

void hideError(json::object& object, std::string_view member, std::string_view what, const ErrorText& told) {
    json::value* const text = object.if_contains(member);
    if (text != nullptr && text->is_string() && !text->get_string().empty()) *text = told(what, text->get_string());
}

namespace {

/// Replaces results of tools that failed, wherever messages are: "Error: " and the text of the exception, as agents
/// write them. What a person has declined is no error, and the failure of a client's tool is in the client's words.
void hideResults(json::value& in, const ErrorText& told) {
    if (json::array* const list = in.if_array()) {
        for (json::value& each : *list) hideResults(each, told);
        return;
    }
    json::object* const object = in.if_object();
    if (object == nullptr) return;
    const json::value* const is_error = object->if_contains("is_error");
    if (is_error != nullptr && *is_error == json::value(true) && object->contains("call_id")) {
        const ToldResult result(*object);
        const std::string text = errorTextOf(result.output);
        if (!result.is_declined && text.starts_with("Error: "))
            (*object)["output"] = "Error: " + told(failed_call, std::string_view(text).substr(7));
        return;
    }
    for (auto& [name, value] : *object) hideResults(value, told);
}

/// Replaces the errors of the tasks of a checkpoint, and of the graphs inside them.
void hideTasks(json::object& snapshot, const ErrorText& told) {
    json::value* const tasks = snapshot.if_contains("tasks");
    if (tasks == nullptr || !tasks->is_array()) return;
    for (json::value& each : tasks->get_array()) {
        json::object* const task = each.if_object();
        if (task == nullptr) continue;
        hideError(*task, "error", failed_task, told);
        if (json::value* const inner = task->if_contains("state"); inner != nullptr && inner->is_object())
            hideTasks(inner->get_object(), told);
        json::value* const calls = task->if_contains("calls");
        if (calls == nullptr || !calls->is_object()) continue;
        for (auto& [key, call] : calls->get_object()) {
            if (call.is_object()) hideTasks(call.get_object(), told);
        }
    }
}

}  // namespace

std::string detail::withoutErrors(std::string snapshot, const ErrorText& error_text) {
    const auto has = [&](std::string_view part) { return snapshot.find(part) != std::string::npos; };
    if (!error_text || !(has(R"("error":")") || has(R"("is_error":true)"))) return snapshot;
    json::value shown = parsedState(snapshot);
    hideTasks(shown.get_object(), error_text);
    hideResults(shown, error_text);
    return stategraph::detail::jsonText(shown);
}

std::optional<Value> Endpoint::dataFor(const StreamEvent& event, const ErrorText& given) const {
    // What a node reports itself is its own.
    if (!given || event.mode == StreamMode::custom || event.data.bytes().find("error") == std::string::npos) return {};
    json::value shown = toJsonValue(event.data);
    json::object* const object = shown.if_object();
    if (object == nullptr) return {};
    bool has_changed = false;
    const ErrorText error_text = [&](std::string_view what, std::string_view text) {
        has_changed = true;
        return given(what, text);
    };
    switch (event.mode) {
        case StreamMode::runs:
            hideError(*object, "error", failed_run, error_text);
            break;
        case StreamMode::tasks:
        case StreamMode::calls:
            hideError(*object, "error", failed_task, error_text);
            break;
        case StreamMode::checkpoints:
            hideTasks(*object, error_text);
            break;
        case StreamMode::debug:
            if (json::value* const payload = object->if_contains("payload");
                payload != nullptr && payload->is_object()) {
                hideError(payload->get_object(), "error", failed_task, error_text);
                hideTasks(payload->get_object(), error_text);
            }
            break;
        default:
            break;
    }
    hideResults(shown, error_text);
    if (!has_changed) return {};
    return Value(shown);
}

std::optional<HubEvent> toldEvent(const HubEvent& event, const Endpoint& endpoint, const ErrorText& told) {
    std::optional<Value> data = endpoint.dataFor(event, told);
    if (!data) return {};
    HubEvent changed = event;
    changed.data = *std::move(data);
    return changed;
}

std::string toldFailure(const std::exception_ptr& error, const ErrorText& told) {
    const Failure failure = failureOf(error);
    return failure.is_for_client || !told ? failure.text : told(failed_run, failure.text);
}

std::string detail::ownerIn(const Metadata& metadata) {
    const auto found = std::ranges::find(metadata, owner_key, &MetadataEntry::key);
    if (found == metadata.end()) return {};
    try {
        return found->value.as<std::string>();
    } catch (const WrongTypeError&) {  // the program has another use for the key
        return {};
    }
}

}  // namespace stategraph::serve
