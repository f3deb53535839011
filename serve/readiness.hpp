#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/endpoint.hpp>

#include "serve/metrics.hpp"

namespace stategraph::serve {

/// Whether the stores of a server's endpoints answer. A look has a thread of its own, because a store that cannot be
/// reached may take its time; there is one at a time, and its result holds for a second. Safe from any thread.
class Readiness {
public:
    using Clock = std::chrono::steady_clock;
    using Endpoints = std::map<std::string, std::shared_ptr<Endpoint>>;

    Readiness() = default;
    Readiness(const Readiness&) = delete;
    Readiness& operator=(const Readiness&) = delete;
    ~Readiness();

    /// Begins a look unless one is under way or the newest result still holds. Errors: std::system_error, bad_alloc.
    void look(const Endpoints& endpoints, Metrics& metrics);
    /// Returns the endpoint that has failed, or an empty text if none has; none while a look is under way.
    std::optional<std::string> result() const;

private:
    static std::string failedOf(Endpoints& endpoints, Metrics& metrics) noexcept;

    mutable stategraph::detail::Mutex mutex_;
    bool is_looking_ SG_GUARDED_BY(mutex_) = false;
    bool has_looked_ SG_GUARDED_BY(mutex_) = false;
    Clock::time_point looked_at_ SG_GUARDED_BY(mutex_) = {};
    std::string failed_ SG_GUARDED_BY(mutex_);
    std::thread thread_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::serve
