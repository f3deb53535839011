#include "tests/workflow_conformance/actions.hpp"

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

namespace workflow_conformance {
namespace {

// Sleeps of the records put what runs at once in an order, often 10 ms apart: a busy machine is later than that.
std::atomic<int> times_slower = 40;

std::vector<std::string> labelsOf(const json::value& label) {
    if (label.is_null()) return {};
    if (label.is_string()) return {text(label)};
    return conformance::names(label);
}

}  // namespace

void setTimesSlower(int times) { times_slower = times; }

StepCall::StepCall(Process& process, const sg::Value& input, flow::StepContext& context)
    : process_(process), context_(context), environment_(context) {
    json::object call{{"step", context.path()}, {"input", sg::toJsonValue(input)}};
    if (isResumed()) call.emplace("resume", sg::toJsonValue(*context.resumeData()));
    if (context.attempt() > 1) call.emplace("attempt", context.attempt() - 1);
    process.executed(std::move(call));
}

// null in JSON is not an answer.
bool StepCall::isResumed() const {
    const sg::Value* data = context_.resumeData();
    return data != nullptr && !data->isNull();
}

sg::Value StepCall::perform(const json::value& actions) {
    const auto output = performAll(actions);
    return output ? sg::fromJson(*output) : sg::Value();
}

std::optional<json::value> StepCall::performAll(const json::value& actions) {
    if (actions.is_null()) return std::nullopt;
    for (const json::value& each : actions.as_array()) {
        process_.requireAlive();
        const json::object& action = each.as_object();
        if (const json::value* output = action.if_contains("output")) return evaluated(*output);
        if (const json::value* condition = action.if_contains("if")) {
            if (auto output = performAll(get(action, isTrue(evaluated(*condition)) ? "then" : "else"))) return output;
        } else {
            performOne(action);
        }
    }
    return std::nullopt;
}

void StepCall::performOne(const json::object& action) {
    if (action.contains("suspend")) {
        if (!isResumed() || isTrue(get(action, "always"))) suspend(action);
    } else if (const json::value* output = action.if_contains("bail")) {
        context_.bail(sg::fromJson(evaluated(*output)));
    } else if (const json::value* failure = action.if_contains("fail")) {
        fail(failure->as_object());
    } else if (const json::value* values = action.if_contains("set_state")) {
        context_.setState(valuesOf(evaluated(*values)));
    } else if (const json::value* written = action.if_contains("write")) {
        context_.write(sg::fromJson(evaluated(*written)));
    } else if (const json::value* sleep = action.if_contains("sleep")) {
        std::this_thread::sleep_for(times_slower.load() *  // sleeps: what a record says
                                    std::chrono::duration<double, std::milli>(evaluated(*sleep).to_number<double>()));
    } else if (action.contains("cancel")) {
        context_.cancel();
    } else if (const json::value* times = action.if_contains("crash")) {
        if (process_.world().isOneOf("crash " + context_.path(), times->to_number<std::int64_t>())) process_.crash();
    } else {
        throw std::invalid_argument("no such action: " + json::serialize(action));
    }
}

void StepCall::suspend(const json::object& action) {
    const json::value payload = evaluated(get(action, "suspend"));
    context_.suspend(sg::fromJson(payload), labelsOf(evaluated(get(action, "label"))));
}

void StepCall::fail(const json::object& how) {
    const json::value* times = how.if_contains("times");
    const std::int64_t limit =
        times != nullptr ? times->to_number<std::int64_t>() : std::numeric_limits<std::int64_t>::max();
    if (!process_.world().isOneOf("fail " + context_.path(), limit)) return;
    const std::string message = text(evaluated(get(how, "message")));
    if (isTrue(get(how, "permanent"))) throw flow::PermanentError(message);
    throw std::runtime_error(message);
}

}  // namespace workflow_conformance
