#include "langgraph/live_run.hpp"

#include <cstdint>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "langgraph/identifiers.hpp"

namespace stategraph::langgraph {

LiveRun::LiveRun(RunRecord asked, std::shared_ptr<const ServedGraph> graph, std::optional<serve::Identity> who,
                 detail::Work work, const Service& service)
    : asked_(std::move(asked)),
      begins_at_(asked_.begins_at.empty() ? Clock::Time() : timeOf(asked_.begins_at)),
      graph_(std::move(graph)),
      identity_(std::move(who)),
      work_(std::move(work)),
      feed_(service.options.event_bytes_max, service.feed_bytes, stategraph::detail::jsonText(asked_.kwargs).size(),
            static_cast<std::uint64_t>(asked_.attempt - 1) << 32U),
      before_(asked_.before),
      is_rolled_back_(asked_.is_rolled_back) {}

RunRecord LiveRun::record() const {
    RunRecord record = asked_;
    const stategraph::detail::LockGuard lock(mutex_);
    record.status = status_;
    record.before = before_;
    if (!ended_at_.empty()) record.updated_at = ended_at_;
    return record;
}

std::string LiveRun::status() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return status_;
}

bool LiveRun::hasEnded() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return !ended_at_.empty();
}

bool LiveRun::begin() {
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_cancelled_ || status_ != "pending") return false;
    status_ = "running";
    return true;
}

bool LiveRun::waitAgain() {
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_cancelled_) return false;
    status_ = "pending";
    return true;
}

void LiveRun::control(std::shared_ptr<RunControl> control) {
    const stategraph::detail::LockGuard lock(mutex_);
    control_ = std::move(control);
    if (is_cancelled_) control_->requestStop();
}

bool LiveRun::cancel(bool rolls_back) {
    std::shared_ptr<RunControl> control;
    bool is_waiting = false;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (is_ending_) return false;
        is_waiting = status_ == "pending" && !is_cancelled_;
        is_cancelled_ = true;
        is_rolled_back_ |= rolls_back;
        control = control_;
    }
    if (control) control->requestStop();
    return is_waiting;
}

bool LiveRun::isCancelled() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return is_cancelled_;
}

void LiveRun::threadEvents(std::shared_ptr<ThreadEvents> events) {
    const stategraph::detail::LockGuard lock(mutex_);
    thread_events_ = std::move(events);
}

std::shared_ptr<ThreadEvents> LiveRun::threadEvents() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return thread_events_;
}

void LiveRun::note(boost::json::array before) {
    const stategraph::detail::LockGuard lock(mutex_);
    before_ = std::move(before);
}

bool LiveRun::beginEnd() {
    const stategraph::detail::LockGuard lock(mutex_);
    is_ending_ = true;
    return is_rolled_back_;
}

void LiveRun::end(const std::string& status, const std::string& ended_at, std::string result) {
    const stategraph::detail::LockGuard lock(mutex_);
    status_ = status;
    ended_at_ = ended_at;
    result_ = std::move(result);
    control_.reset();
}

std::string LiveRun::result() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return result_;
}

}  // namespace stategraph::langgraph
