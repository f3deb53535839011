#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <stategraph/control.hpp>
#include <stategraph/detail/mutex.hpp>

namespace stategraph::detail {

/// The parts of a RunControl. `outer` is last, because its callback uses the others.
struct RunControlParts {
    std::stop_source source;
    detail::Mutex mutex;
    std::optional<std::string> drain_reason SG_GUARDED_BY(mutex);
    std::shared_ptr<const RunControl> outer_control;
    std::function<bool()> lasts;  // RunControlLease; none: without a lease
    std::optional<std::stop_callback<std::function<void()>>> outer;
};

/// For runs on threads that a process has leased: they end like stopped ones as soon as the lease has ended by the
/// process's own clock, though nobody has found out yet, because the process was frozen. Another process may have the
/// thread then. A run asks before each superstep, node and attempt, and Runtime::once before it calls its function.
struct RunControlLease {
    /// `lasts` returns whether the lease does, from any thread. Call it before the control is given to a run.
    static void set(RunControl& control, std::function<bool()> lasts);
    /// Returns whether a lease, of the control or of an outer one, has ended.
    static bool hasEnded(const RunControl& control) noexcept;
};

}  // namespace stategraph::detail
