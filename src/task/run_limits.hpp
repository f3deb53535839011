#pragma once
#include <algorithm>
#include <limits>

#include <stategraph/config.hpp>

#include "src/graph/core.hpp"

namespace stategraph::engine {

class TaskEnv;

/// What a run may use between its supersteps: how many of them it begins. Each run has its own, those inside tasks too.
/// A limit is checked where it is configured, counted, and enforced here, so that every driver has it.
class RunLimits {
public:
    /// Errors: InvalidArgumentError for a limit that no run can keep.
    static void check(const RunConfig& config);

    /// Takes the limits of the run, or of the graph, or of `outer`, the run around it (null: the root's).
    RunLimits(const detail::Core& core, const RunConfig& config, const RunLimits* outer) noexcept
        : supersteps_max_(outer != nullptr ? outer->supersteps_max_ : usual_supersteps_max) {
        if (core.options().recursion_limit) supersteps_max_ = *core.options().recursion_limit;
        if (config.recursion_limit) supersteps_max_ = *config.recursion_limit;
    }

    /// Call it before a superstep of the run has its tasks executed. Errors: GraphRecursionError.
    void checkBefore(const TaskEnv& env) {
        if (begun_ == supersteps_max_) [[unlikely]]
            refuse(env);
    }
    void beginSuperstep() noexcept { ++begun_; }
    /// Returns how many supersteps the run has begun, and how many it may still begin, the current one included.
    int begun() const noexcept { return begun_; }
    int remaining() const noexcept {
        return begun_ > 0 ? supersteps_max_ - begun_ + 1
                          : std::min(supersteps_max_, std::numeric_limits<int>::max() - 1) + 1;
    }
    /// Returns whether the run failed because it reached a limit.
    bool wereReached() const noexcept { return were_reached_; }

private:
    static constexpr int usual_supersteps_max = 25;

    [[noreturn]] void refuse(const TaskEnv& env);

    int supersteps_max_;
    int begun_ = 0;
    bool were_reached_ = false;
};

}  // namespace stategraph::engine
