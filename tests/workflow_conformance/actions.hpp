#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tests/workflow_conformance/expression.hpp"
#include "tests/workflow_conformance/process.hpp"

namespace workflow_conformance {

/// How many times longer than a record says steps sleep.
void setTimesSlower(int times);

/// One execution of a step, which performs its actions in order until one of them ends it.
class StepCall {
public:
    StepCall(Process& process, const sg::Value& input, flow::StepContext& context);
    /// Returns null if there is no output. A step that suspends, bails or fails leaves it by an exception.
    sg::Value perform(const json::value& actions);

private:
    /// The output, if an action has set one.
    std::optional<json::value> performAll(const json::value& actions);
    void performOne(const json::object& action);
    void suspend(const json::object& action);
    void fail(const json::object& how);
    bool isResumed() const;
    json::value evaluated(const json::value& expression) const { return evaluate(expression, environment_); }

    Process& process_;
    flow::StepContext& context_;
    Environment environment_;
};

}  // namespace workflow_conformance
