#pragma once
#include <string>
#include <string_view>

#include "workflow/state.hpp"

namespace stategraph::workflow {

/// Returns the output of a step that has succeeded, otherwise null.
inline const Value* findOutput(const State& state, std::string_view step) noexcept {
    const auto found = state.records.find(std::string(step));
    return found != state.records.end() && found->second.status == Word::success ? &found->second.output : nullptr;
}

/// The part of a state that a condition, a map or a sleep sees.
class StateScope final : public Scope {
public:
    StateScope(const State& state, const Value& input, std::int64_t iteration = 0) noexcept
        : state_(state), input_(input), iteration_(iteration) {}

    const Value& input() const noexcept override { return input_; }
    const Values& state() const noexcept override { return state_.shared; }
    const Value& init() const noexcept override { return state_.input; }
    const Values& requestContext() const noexcept override { return state_.context; }
    const Value* output(std::string_view step) const noexcept override { return findOutput(state_, step); }
    std::int64_t iteration() const noexcept override { return iteration_; }

private:
    const State& state_;
    const Value& input_;
    std::int64_t iteration_;
};

}  // namespace stategraph::workflow
