#include "src/threads/run_stop.hpp"

#include <stategraph/control.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>

#include "src/threads/run_control.hpp"
#include "src/value/times.hpp"

namespace stategraph::engine {

std::shared_ptr<RunStop> RunStop::of(const RunConfig& config) {
    if (config.timeout && config.timeout->count() < 1) {
        throw InvalidArgumentError("timeout is " + times::textOf(*config.timeout) + "; it must be at least 1 ms");
    }
    if (config.control == nullptr && !config.timeout) return nullptr;
    return std::make_shared<RunStop>(config);
}

RunStop::RunStop(const RunConfig& config) : control_(config.control) {
    if (config.timeout) deadline_ = times::after(Clock::now(), *config.timeout);
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
    detail::UniqueLock lock(waiting_mutex_);
    waiting_.wait_until(lock.native(), token(), until, [] { return false; });
}

bool RunStop::drains() const noexcept {
    return (control_ != nullptr && control_->drainRequested()) || (outer_ != nullptr && outer_->drains());
}

bool RunStop::mayAct() const noexcept {
    if (control_ != nullptr && detail::RunControlLease::hasEnded(*control_)) return false;
    return outer_ == nullptr || outer_->mayAct();
}

}  // namespace stategraph::engine
