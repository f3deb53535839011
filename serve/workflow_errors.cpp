#include "serve/workflow_errors.hpp"

#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

#include "serve/error_texts.hpp"
#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

constexpr std::string_view failed_step = "The step failed";

/// Calls `f` for each object that is a member or an item of the value at `member`.
template <class F>
void forEachIn(json::object& object, std::string_view member, F f) {
    json::value* const in = object.if_contains(member);
    if (in == nullptr) return;
    if (json::array* const list = in->if_array()) {
        for (json::value& each : *list) {
            if (json::object* const item = each.if_object()) f(*item);
        }
    } else if (json::object* const map = in->if_object()) {
        for (auto& [key, value] : *map) {
            if (json::object* const item = value.if_object()) f(*item);
        }
    }
}

/// A step of a snapshot, {"error": {"message"}, "items": […]}, or the snapshot itself.
void hideMessage(json::object& step, std::string_view what, const ErrorText& told) {
    json::value* const error = step.if_contains("error");
    if (error != nullptr && error->is_object()) hideError(error->get_object(), "message", what, told);
    forEachIn(step, "items", [&](json::object& item) { hideMessage(item, failed_step, told); });
}

/// The state of a workflow, or what was written to it: {"error", "records": {id: record}, "items": {index: record}}. A
/// record of a workflow inside has its state in "child".
void hideState(json::object& state, const ErrorText& told) {
    hideError(state, "error", failed_run, told);
    const auto hideRecord = [&](json::object& record) {
        hideError(record, "error", failed_step, told);
        if (json::value* const child = record.if_contains("child"); child != nullptr && child->is_object())
            hideState(child->get_object(), told);
    };
    forEachIn(state, "records", hideRecord);
    forEachIn(state, "items", hideRecord);
}

}  // namespace

std::string withoutStepErrors(std::string snapshot, const ErrorText& told) {
    if (!told || snapshot.find(R"("error":{)") == std::string::npos) return snapshot;
    json::value shown = parsedState(snapshot);
    hideMessage(shown.get_object(), failed_run, told);
    forEachIn(shown.get_object(), "context", [&](json::object& step) { hideMessage(step, failed_step, told); });
    return stategraph::detail::jsonText(shown);
}

std::optional<Value> stepDataFor(const StreamEvent& event, const ErrorText& told) {
    if (!told || event.data.bytes().find("error") == std::string::npos) return {};
    json::value shown = toJsonValue(event.data);
    json::object* const object = shown.if_object();
    if (object == nullptr) return {};
    switch (event.mode) {
        case StreamMode::values:
            hideState(*object, told);
            break;
        case StreamMode::updates:
            for (auto& [node, written] : *object) {
                if (json::object* const state = written.if_object()) hideState(*state, told);
            }
            break;
        case StreamMode::tasks:
        case StreamMode::checkpoints:
        case StreamMode::debug: {
            json::object* const payload = event.mode == StreamMode::debug && object->contains("payload")
                                              ? object->at("payload").if_object()
                                              : object;
            if (payload == nullptr) return {};
            for (const char* const member : {"input", "result", "values"}) {
                json::value* const state = payload->if_contains(member);
                if (state != nullptr && state->is_object()) hideState(state->get_object(), told);
            }
            break;
        }
        default:
            return {};
    }
    return Value(shown);
}

}  // namespace stategraph::serve
