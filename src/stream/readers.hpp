#pragma once
#include <optional>

namespace stategraph::stream {

/// Selects readers of an event by what they requested; by default all.
struct Readers {
    std::optional<bool> task_inputs = {};  // those that want tasks' inputs, or those that do not
    std::optional<bool> subgraphs = {};    // those that want events of subgraphs, or those that do not

    /// `options` are those of a stream or of a subscription.
    template <class Options>
    bool has(const Options& options) const noexcept {
        return task_inputs.value_or(options.task_inputs) == options.task_inputs &&
               subgraphs.value_or(options.subgraphs) == options.subgraphs;
    }
};

}  // namespace stategraph::stream
