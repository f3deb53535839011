#pragma once
#include <utility>

#include <stategraph/workflow/definition.hpp>

// The values that callers of a run pass to its steps (RunOptions::context).
namespace stategraph::workflow {

/// Returns the context with what the workflow's check adds to it. Throws what the check throws.
inline Values checkedContext(const Definition& definition, Values context) {
    if (!definition.context) return context;
    auto checked = definition.context(Value(context)).as<Values>();
    checked.merge(std::move(context));  // keeps what the check returned
    return checked;
}

/// Returns what a caller passes, and what earlier callers passed under other keys.
inline Values withEarlier(Values passed, const Values& earlier) {
    passed.insert(earlier.begin(), earlier.end());
    return passed;
}

}  // namespace stategraph::workflow
