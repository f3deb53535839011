#include "src/run/run_stop.hpp"

#include <condition_variable>
#include <mutex>

#include <stategraph/control.hpp>
#include <stategraph/error.hpp>

namespace stategraph {

RunControl::RunControl(std::stop_token outer) {
    outer_.emplace(std::move(outer), [this] { requestStop(); });
}

RunControl::RunControl(std::shared_ptr<const RunControl> outer) : outer_control_(std::move(outer)) {
    if (outer_control_ != nullptr) outer_.emplace(outer_control_->stopToken(), [this] { requestStop(); });
}

void RunControl::requestDrain(std::string reason) {
    const std::lock_guard lock(mutex_);
    if (!drain_reason_) drain_reason_ = std::move(reason);
}

bool RunControl::drainRequested() const noexcept {
    if (outer_control_ != nullptr && outer_control_->drainRequested()) return true;
    const std::lock_guard lock(mutex_);
    return drain_reason_.has_value();
}

std::string RunControl::drainReason() const {
    {
        const std::lock_guard lock(mutex_);
        if (drain_reason_) return *drain_reason_;
    }
    return outer_control_ != nullptr ? outer_control_->drainReason() : "";
}

}  // namespace stategraph

namespace stategraph::engine {

std::shared_ptr<RunStop> RunStop::of(const RunConfig& config) {
    if (config.timeout_ms && *config.timeout_ms < 1) {
        throw InvalidArgumentError("timeout_ms is " + std::to_string(*config.timeout_ms) + "; it must be at least 1");
    }
    if (config.control == nullptr && !config.timeout_ms) return nullptr;
    return std::make_shared<RunStop>(config);
}

RunStop::RunStop(const RunConfig& config) : control_(config.control) {
    if (config.timeout_ms) deadline_ = Clock::now() + std::chrono::milliseconds(*config.timeout_ms);
    if (control_ != nullptr) link_.emplace(control_->stopToken(), [this] { source_.request_stop(); });
}

RunStop::RunStop(std::shared_ptr<RunStop> outer, std::stop_token attempt, std::optional<Clock::time_point> until)
    : outer_(std::move(outer)), attempt_(std::move(attempt)), deadline_(until) {
    if (outer_ != nullptr) {
        if (outer_->deadline() && (!deadline_ || *outer_->deadline() < *deadline_)) deadline_ = outer_->deadline();
        link_.emplace(outer_->token(), [this] { source_.request_stop(); });
    }
    attempt_link_.emplace(attempt_, [this] { source_.request_stop(); });
}

std::optional<Status> RunStop::requested() noexcept {
    if (outer_ != nullptr) {
        if (const auto status = outer_->requested()) return status;
    }
    if (attempt_.stop_requested()) return Status::cancelled;
    if (control_ != nullptr && control_->stopRequested()) return Status::cancelled;
    if (!deadline_) return {};
    if (!timed_out_.load() && Clock::now() >= *deadline_) {
        timed_out_.store(true);
        source_.request_stop();
    }
    return timed_out_.load() ? std::optional(Status::timed_out) : std::nullopt;
}

void RunStop::waitFor(std::chrono::duration<double, std::milli> duration) {
    auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(duration);
    if (deadline_ && *deadline_ < until) until = *deadline_;
    std::unique_lock lock(waiting_mutex_);
    waiting_.wait_until(lock, token(), until, [] { return false; });
}

bool RunStop::drains() const noexcept { return (control_ != nullptr && control_->drainRequested()) || (outer_ != nullptr && outer_->drains()); }

}  // namespace stategraph::engine
