#include "tests/workflow_conformance/observe.hpp"

#include <algorithm>

namespace workflow_conformance {
namespace {

void addQuestion(const flow::StepView& step, json::object& shown) {
    if (step.status != flow::StepStatus::suspended) return;
    shown.emplace("suspendPayload", step.suspend_payload ? sg::toJsonValue(*step.suspend_payload) : json::object());
}

void addOutput(const flow::StepView& step, json::object& shown) {
    if (step.output) shown.emplace("output", sg::toJsonValue(*step.output));
}

json::array describeItems(const std::vector<std::optional<flow::StepView>>& items) {
    json::array list;
    for (const auto& item : items) {
        if (!item) {
            list.push_back(nullptr);
            continue;
        }
        json::object shown{{"status", flow::toString(item->status)}};
        addQuestion(*item, shown);
        addOutput(*item, shown);
        list.push_back(std::move(shown));
    }
    return list;
}

json::object describeStep(const flow::StepView& step) {
    json::object shown{{"status", flow::toString(step.status)}};
    if (!step.payload.isNull()) shown.emplace("payload", sg::toJsonValue(step.payload));
    addOutput(step, shown);
    if (step.error) shown.emplace("error", *step.error);
    if (step.resume_payload) shown.emplace("resumePayload", sg::toJsonValue(*step.resume_payload));
    if (step.iteration != 0) shown.emplace("iteration", step.iteration);
    if (step.items.empty()) {
        addQuestion(step, shown);
    } else if (step.status == flow::StepStatus::suspended) {
        shown.emplace("items", describeItems(step.items));
    }
    return shown;
}

void describeOpen(const flow::RunView& run, json::object& expect) {
    json::array open;
    for (const auto& path : run.suspended) open.push_back(json::array(path.begin(), path.end()));
    expect.emplace("suspended", std::move(open));
    json::object labels;
    for (const auto& [label, target] : run.labels) {
        json::object shown{{"step", target.step}};
        if (target.index) shown.emplace("index", *target.index);
        labels.emplace(label, std::move(shown));
    }
    expect.emplace("labels", std::move(labels));
}

}  // namespace

void describe(const flow::RunView& run, json::object& expect) {
    expect.emplace("status", flow::toString(run.status));
    expect.emplace("state", jsonOf(run.state));
    json::object steps;
    for (const auto& [path, step] : run.steps) steps.emplace(path, describeStep(step));
    expect.emplace("steps", std::move(steps));
    if (run.status == flow::RunStatus::success) {
        expect.emplace("result", run.result ? sg::toJsonValue(*run.result) : json::value());
    }
    if (run.status == flow::RunStatus::failed) expect.emplace("error", run.error);
    if (run.status == flow::RunStatus::suspended) describeOpen(run, expect);
}

json::array describe(const flow::RunEvent& event) {
    using Kind = flow::RunEvent::Kind;
    std::string kind = flow::toString(event.kind);
    std::replace(kind.begin(), kind.end(), '_', '-');
    json::array shown{kind};
    if (!event.path.empty()) shown.push_back(json::string(event.path));
    if (event.kind == Kind::step_output) shown.push_back(sg::toJsonValue(event.value));
    if (event.kind == Kind::step_progress) shown.push_back(event.index);
    const bool has_status =
        event.kind == Kind::step_progress || event.kind == Kind::step_result || event.kind == Kind::finish;
    if (has_status) shown.push_back(json::string(event.status));
    return shown;
}

}  // namespace workflow_conformance
