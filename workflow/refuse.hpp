#pragma once
#include <string>

#include <stategraph/workflow/run.hpp>

namespace stategraph::workflow {

[[noreturn]] inline void refuse(Refusal why, const std::string& run_id, const std::string& text) {
    throw RefusedError(why, "run '" + run_id + "': " + text);
}

}  // namespace stategraph::workflow
