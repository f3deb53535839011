#include "src/threads/run_control.hpp"

#include <utility>

namespace stategraph {
namespace detail {

void RunControlDeleter::operator()(RunControlParts* parts) const noexcept { delete parts; }

std::stop_token stopTokenOf(const RunControlParts& control, void*) noexcept { return control.source.get_token(); }

void linkStop(RunControlParts& control, const std::stop_token& outer, int) {
    control.outer.emplace(outer, [&control] { control.source.request_stop(); });
}

void RunControlLease::set(RunControl& control, std::function<bool()> lasts) {
    control.parts_->lasts = std::move(lasts);
}

bool RunControlLease::hasEnded(const RunControl& control) noexcept {
    const RunControlParts& parts = *control.parts_;
    if (parts.lasts && !parts.lasts()) return true;
    return parts.outer_control != nullptr && hasEnded(*parts.outer_control);
}

}  // namespace detail

RunControl::RunControl() : parts_(new detail::RunControlParts()) {}

RunControl::RunControl(std::shared_ptr<const RunControl> outer) : RunControl() {
    parts_->outer_control = std::move(outer);
    if (parts_->outer_control != nullptr) linkStop(*parts_, parts_->outer_control->stopToken(), 0);
}

void RunControl::requestStop() noexcept { parts_->source.request_stop(); }
bool RunControl::stopRequested() const noexcept {
    if (parts_->source.stop_requested()) return true;
    if (!detail::RunControlLease::hasEnded(*this)) return false;
    parts_->source.request_stop();
    return true;
}

void RunControl::requestDrain(std::string reason) {
    const detail::LockGuard lock(parts_->mutex);
    if (!parts_->drain_reason) parts_->drain_reason = std::move(reason);
}

bool RunControl::drainRequested() const noexcept {
    if (parts_->outer_control != nullptr && parts_->outer_control->drainRequested()) return true;
    const detail::LockGuard lock(parts_->mutex);
    return parts_->drain_reason.has_value();
}

std::string RunControl::drainReason() const {
    {
        const detail::LockGuard lock(parts_->mutex);
        if (parts_->drain_reason) return *parts_->drain_reason;
    }
    return parts_->outer_control != nullptr ? parts_->outer_control->drainReason() : "";
}

}  // namespace stategraph
