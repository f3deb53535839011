#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/interrupt.hpp>

namespace stategraph {

/// How a run ended, whatever its graph returns. `Result` adds the values.
struct RunOutcome {
    Status status = Status::done;
    /// The questions that wait for an answer.
    std::vector<Interrupt> interrupts = {};
    /// When the first of the tasks that sleep is to resume; none if none does.
    std::optional<std::chrono::system_clock::time_point> wake_at = {};
    /// The newest checkpoint; empty without a saver.
    Config config = {};
};

}  // namespace stategraph
