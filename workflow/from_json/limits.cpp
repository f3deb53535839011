#include "workflow/from_json/limits.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::workflow::from_json {
namespace {

namespace json = boost::json;

/// Returns how many values a run keeps: one of each entry, and of a block one of each step.
std::size_t outputsIn(const json::value& value) {
    std::size_t sum = 0;
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) sum += outputsIn(each);
    } else if (const json::object* const object = value.if_object()) {
        for (const auto& [name, member] : *object) {
            const bool is_list = name == "entries" || name == "parallel" || name == "branch";
            if (is_list && member.is_array()) sum += member.get_array().size();
            sum += outputsIn(member);
        }
    }
    return sum;
}

}  // namespace

std::size_t valueBytesMax(const JsonLimits& limits, const json::value& workflow) {
    constexpr std::size_t full_outputs = 16;
    const std::size_t outputs = outputsIn(workflow);
    return outputs <= full_outputs ? limits.value_bytes_max : limits.value_bytes_max / outputs * full_outputs;
}

Condition LoopLimits::limited(Condition condition, bool goes_on_if) {
    constexpr std::size_t full_turns = 16;
    const auto most = std::make_shared<std::int64_t>(iterations_max_);
    loops_.push_back(most);
    return [condition = std::move(condition), goes_on_if, most,
            bytes_max = value_bytes_max_ * full_turns](const Scope& scope) {
        const bool holds = condition(scope);
        if (holds != goes_on_if) return holds;
        if (scope.iteration() >= *most) {
            throw InvalidArgumentError("the body of the loop has run " + std::to_string(*most) +
                                       " times; see workflow::JsonLimits::iterations_max");
        }
        if (static_cast<std::size_t>(scope.iteration()) * scope.input().bytes().size() > bytes_max) {
            throw InvalidArgumentError("the turns of the loop have made more than " + std::to_string(bytes_max) +
                                       " bytes; see workflow::JsonLimits::value_bytes_max");
        }
        return holds;
    };
}

void LoopLimits::addWithin(const Definition* workflow, Mark since) {
    within_[workflow].assign(loops_.begin() + static_cast<std::ptrdiff_t>(since), loops_.end());
}

void LoopLimits::beginInside(const Entry& entry) {
    for (const Step& step : entry.steps) {
        const auto found = within_.find(step.workflow.get());
        if (found == within_.end() || !repeated_.insert(found->first).second) continue;
        for (const auto& most : found->second) *most = std::max<std::int64_t>(*most / 10, 1);
    }
}

}  // namespace stategraph::workflow::from_json
