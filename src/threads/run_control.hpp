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
    std::optional<std::stop_callback<std::function<void()>>> outer;
};

}  // namespace stategraph::detail
