#include "workflow/snapshot.hpp"

#include <algorithm>
#include <chrono>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/json.hpp>

#include "workflow/questions.hpp"

namespace stategraph::workflow {
namespace {

namespace json = boost::json;

std::int64_t msOf(std::chrono::system_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}
void addTime(json::object& to, std::string_view name,
             const std::optional<std::chrono::system_clock::time_point>& time) {
    if (time) to[name] = msOf(*time);
}
void addValue(json::object& to, std::string_view name, const std::optional<Value>& value) {
    if (value) to[name] = toJsonValue(*value);
}

json::object errorOf(const std::string& message) { return {{"message", message}}; }

json::object stepJson(const StepView& step) {
    json::object out{{"status", toString(step.status)}, {"payload", toJsonValue(step.payload)}};
    addValue(out, "output", step.output);
    if (step.error) out["error"] = errorOf(*step.error);
    if (!step.suspensions.empty()) {
        const SuspensionView& last = step.suspensions.back();
        out["suspendPayload"] = toJsonValue(last.payload);
        out["suspendedAt"] = msOf(last.suspended_at);
        addTime(out, "resumedAt", last.resumed_at);
    } else {
        addValue(out, "suspendPayload", step.suspend_payload);
    }
    addValue(out, "resumePayload", step.resume_payload);
    addTime(out, "startedAt", step.started_at);
    addTime(out, "endedAt", step.ended_at);
    out["attempts"] = step.attempts;
    if (step.iteration > 0) out["metadata"] = json::object{{"iterationCount", step.iteration}};
    if (step.suspensions.size() > 1) {
        json::array& all = out["suspensions"].emplace_array();
        for (const SuspensionView& each : step.suspensions) {
            json::object one{{"suspendPayload", toJsonValue(each.payload)}, {"suspendedAt", msOf(each.suspended_at)}};
            addValue(one, "resumePayload", each.answer);
            addTime(one, "resumedAt", each.resumed_at);
            all.push_back(std::move(one));
        }
    }
    if (!step.items.empty()) {
        json::array& items = out["items"].emplace_array();
        for (const auto& item : step.items) items.push_back(item ? json::value(stepJson(*item)) : json::value());
    }
    return out;
}

json::array graphJson(const Definition& definition);

json::object stepOf(const Step& step) {
    json::object out{{"id", step.id}};
    if (!step.description.empty()) out["description"] = step.description;
    if (!step.metadata.isNull()) out["metadata"] = toJsonValue(step.metadata);
    if (step.workflow) {
        out["component"] = "WORKFLOW";
        out["serializedStepFlow"] = graphJson(*step.workflow);
    }
    return out;
}

json::object entryJson(const Entry& entry) {
    using Kind = Entry::Kind;
    const auto members = [&] {
        json::array steps;
        for (const Step& step : entry.steps) steps.push_back(json::object{{"type", "step"}, {"step", stepOf(step)}});
        return steps;
    };
    switch (entry.kind) {
        case Kind::then:
            return {{"type", "step"}, {"step", stepOf(entry.steps.front())}};
        case Kind::parallel:
            if (entry.allows_failure)
                return {{"type", "parallel"}, {"steps", members()}, {"opts", json::object{{"allowFailure", true}}}};
            return {{"type", "parallel"}, {"steps", members()}};
        case Kind::branch:
            return {{"type", "conditional"}, {"steps", members()}};
        case Kind::dowhile:
            return {{"type", "loop"}, {"loopType", "dowhile"}, {"step", stepOf(entry.steps.front())}};
        case Kind::dountil:
            return {{"type", "loop"}, {"loopType", "dountil"}, {"step", stepOf(entry.steps.front())}};
        case Kind::foreach:
            return {{"type", "foreach"},
                    {"step", stepOf(entry.steps.front())},
                    {"opts", json::object{{"concurrency", entry.concurrency}}}};
        case Kind::map:
            return {{"type", "mapping"}, {"id", entry.id}};
        case Kind::sleep:
            return {{"type", "sleep"}, {"id", entry.id}};
    }
    return {};
}

json::array graphJson(const Definition& definition) {
    json::array out;
    for (const Entry& entry : definition.entries) out.push_back(entryJson(entry));
    return out;
}

// Returns where an outermost step is: its entry, and in a block its place there.
json::array placeOf(const Plan& plan, const std::string& id) {
    const Place* const found = plan.findPlace(id);
    if (found == nullptr) return {};
    json::array place{found->entry};
    const Entry& entry = plan.entryOf(*found);
    if (!isBlock(entry)) return place;
    const auto ids = idsOf(entry);
    place.push_back(std::ranges::find(ids, id) - ids.begin());
    return place;
}

json::object valuesJson(const Values& values) {
    json::object out;
    for (const auto& [key, value] : values) out[key] = toJsonValue(value);
    return out;
}

}  // namespace

std::string snapshotJson(const Plan& plan, const std::string& run_id, const RunView& view) {
    json::object context{{"input", toJsonValue(view.input)}};
    json::object waiting;
    for (const auto& [path, step] : view.steps) {
        context[path] = stepJson(step);
        if (step.status == StepStatus::waiting) waiting[path] = placeOf(plan, path.substr(0, path.find('.')));
    }
    json::object suspended;
    for (const auto& path : view.suspended) suspended[joined(path)] = placeOf(plan, path.front());
    json::object labels;
    for (const auto& [label, of] : view.labels) {
        json::object& one = labels[label].emplace_object();
        one["stepId"] = of.step;
        if (of.index) one["foreachIndex"] = *of.index;
    }
    json::array executed;
    for (const std::string& id : view.path) executed.push_back(json::string(id));
    json::object out{{"runId", run_id},
                     {"status", toString(view.status)},
                     {"value", valuesJson(view.state)},
                     {"context", std::move(context)},
                     {"activePaths", json::array{view.at}},
                     {"suspendedPaths", std::move(suspended)},
                     {"waitingPaths", std::move(waiting)},
                     {"resumeLabels", std::move(labels)},
                     {"serializedStepGraph", graphJson(plan.definition)},
                     {"stepExecutionPath", std::move(executed)}};
    addValue(out, "result", view.result);
    if (view.status == RunStatus::failed) out["error"] = errorOf(view.error);
    out["requestContext"] = valuesJson(view.context);
    addTime(out, "timestamp", view.time);
    return stategraph::detail::jsonText(out);
}

}  // namespace stategraph::workflow
