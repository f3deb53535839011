#include "src/task/run_limits.hpp"

#include <string>

#include <stategraph/error.hpp>

#include "src/task/task_env.hpp"

namespace stategraph::engine {

void RunLimits::check(const RunConfig& config) {
    if (config.recursion_limit && *config.recursion_limit < 1) {
        throw InvalidArgumentError("recursion_limit is " + std::to_string(*config.recursion_limit) +
                                   "; it must be at least 1");
    }
}

void RunLimits::refuse(const TaskEnv& env) {
    were_reached_ = true;
    const std::string& node = env.nodeOf(*env.superstep->tasks().front()).name;
    throw GraphRecursionError(
        "the run took " + std::to_string(supersteps_max_) + " supersteps and is not done; node '" + node +
            "' is next. Raise recursion_limit, or find the cycle that does not end; RESUME continues the thread",
        {.node = node, .step = env.place.step});
}

}  // namespace stategraph::engine
