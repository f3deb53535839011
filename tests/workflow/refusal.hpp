#pragma once
#include <functional>
#include <optional>

#include <stategraph/workflow/run.hpp>

/// Calls it, and returns why it was refused; none if it was not.
inline std::optional<stategraph::workflow::Refusal> refusalOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const stategraph::workflow::RefusedError& error) {
        return error.why();
    }
    return {};
}
