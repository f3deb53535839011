#include "src/stream/subscription.hpp"

#include <limits>
#include <utility>

#include <stategraph/error.hpp>

#include "src/value/times.hpp"

// Gives one subscriber of a thread its next event, from the log or from its mailbox.
namespace stategraph {
namespace detail {

SubscriptionImpl::~SubscriptionImpl() {
    if (!mailbox) return;  // its construction failed, because there was no memory for the mailbox
    mailbox->close();
    if (topic) topic->remove(mailbox.get());
}

void SubscriptionImpl::schedulePoll() {
    if (mailbox->options().poll.count() > 0) poll_at = times::after(Clock::now(), mailbox->options().poll);
}

// Reads the next commit that has events. Returns false if there is none.
bool SubscriptionImpl::read() {
    const bool changed = mailbox->takeChanged();
    if (!log) return false;
    const bool polls = poll_at && Clock::now() >= *poll_at;
    if (!changed && !polls && !log->hasMore()) return false;
    try {
        while (const auto told = log->next(pending, mailbox->options().on_full == OnFull::coalesce)) {
            if (!pending.empty()) {
                telling = told;
                if (changed) mailbox->changed();  // the log may contain more
                return true;
            }
            moveTo(*told);
            this->told(*told);
        }
        log->openQuestions(pending);
    } catch (...) {
        mailbox->changed();
        throw;
    }
    schedulePoll();
    mailbox->toldAll();
    return !pending.empty();
}

StreamPosition SubscriptionImpl::position() const noexcept {
    const LockGuard lock(position_mutex_);
    return position_;
}

void SubscriptionImpl::moveTo(const StreamPosition& to) noexcept {
    const LockGuard lock(position_mutex_);
    position_ = to;
}

// All that a commit reports has been given. Runs count those of the root.
void SubscriptionImpl::told(const StreamPosition& commit) noexcept {
    if (!commit.inside().empty()) return;
    mailbox->told(commit.sequence);
    seen.forgetBefore(commit.sequence);
}

HubEvent SubscriptionImpl::takePending() {
    HubEvent event = std::move(pending.front().event);
    pending.pop_front();
    if (event.durable) moveTo(event.position);
    if (pending.empty() && telling) {
        told(*telling);
        telling.reset();
    }
    return event;
}

// Whether the reader received the log's next event, of a graph inside, while it happened. All that happened before
// has been taken from the mailbox then.
bool SubscriptionImpl::wasSeen() {
    const stream::Durable& next = pending.front();
    return !next.event.position.inside().empty() && next.event.durable && seen.take(next.event, next.superstep);
}

// Returns whether the next event of the log belongs to a run after the one with which the subscription ends.
bool SubscriptionImpl::isPast(std::optional<std::int64_t> last) const {
    return last && !pending.empty() && pending.front().event.durable && pending.front().event.position.sequence > *last;
}

std::optional<HubEvent> SubscriptionImpl::take() {
    for (;;) {
        if (mailbox->isClosed()) return {};
        // Read before the log, which then contains everything that the run reported.
        const std::optional<std::int64_t> last = mailbox->endsAfter();
        // Without its hub, a reader that does not poll would wait without end.
        const bool may_end =
            last || (mailbox->options().until == Until::idle && topic->isIdle()) || (topic->isOver() && !poll_at);
        if (pending.empty()) read();
        const bool is_past = isPast(last);
        // Later events wait as long as the log has more events.
        if (is_past || !pending.empty() || !log || !log->hasMore()) {
            const bool is_first = pending.empty() || is_past;
            const std::int64_t bound = is_first ? std::numeric_limits<std::int64_t>::max() : pending.front().bound;
            // A question comes after the other events of its superstep, and before the end of the run.
            const bool is_question = !is_first && !pending.front().event.durable;
            if (auto waiting = mailbox->take(bound, is_question ? bound - 1 : bound, !pending.empty())) {
                HubEvent event;
                static_cast<StreamEvent&>(event) = std::move(waiting->event);
                event.position = position();
                if (log) seen.note(event, waiting->after);
                return event;
            }
        }
        if (!is_past) {
            if (!pending.empty()) {
                if (!wasSeen()) return takePending();
                (void)takePending();
                continue;
            }
            if (log && log->hasMore()) continue;
            if (!may_end) return {};
        }
        const stream::Mailbox::Left left = mailbox->left();
        if (left == stream::Mailbox::Left::end) return {};  // the event arrives now that there is room
        if (is_past || left == stream::Mailbox::Left::nothing) mailbox->close();
    }
}

std::optional<SubscriptionImpl::Clock::time_point> SubscriptionImpl::waitsUntil(
    std::optional<Clock::time_point> deadline) const {
    return poll_at && (!deadline || *poll_at < *deadline) ? poll_at : deadline;
}

std::optional<HubEvent> SubscriptionImpl::next(std::optional<Clock::time_point> deadline) {
    for (;;) {
        if (auto event = take()) return event;
        if (mailbox->isClosed() || mailbox->takeWoken()) return {};
        if (deadline && Clock::now() >= *deadline) return {};
        (void)mailbox->wait(waitsUntil(deadline));
    }
}

void wakeReader(const SubscriptionImpl& subscription) noexcept { subscription.mailbox->wakeReader(); }

}  // namespace detail

namespace {

// Destroying a subscription closes its mailbox, even if a reader keeps the implementation.
void end(const std::shared_ptr<detail::SubscriptionImpl>& impl) noexcept {
    if (impl == nullptr) return;
    impl->mailbox->close();
    impl->topic->remove(impl->mailbox.get());
}

}  // namespace

Subscription::Subscription(std::shared_ptr<detail::SubscriptionImpl> impl) noexcept : impl_(std::move(impl)) {}
Subscription::Subscription(Subscription&&) noexcept = default;
Subscription& Subscription::operator=(Subscription&& other) noexcept {
    if (this != &other) {
        end(impl_);
        impl_ = std::move(other.impl_);
    }
    return *this;
}
Subscription::~Subscription() { end(impl_); }

// One that was moved from has ended.
std::optional<HubEvent> Subscription::next() { return impl_ != nullptr ? impl_->next({}) : std::nullopt; }
std::optional<HubEvent> Subscription::next(std::chrono::milliseconds timeout) {
    if (timeout.count() < 0)
        throw InvalidArgumentError("next(" + times::textOf(timeout) +
                                   "): a wait is at least 0 ms; next() waits without end");
    if (impl_ == nullptr) return {};
    return impl_->next(times::after(detail::SubscriptionImpl::Clock::now(), timeout));
}
void Subscription::wake() noexcept {
    if (impl_ != nullptr) detail::wakeReader(*impl_);
}
StreamPosition Subscription::position() const noexcept {
    return impl_ != nullptr ? impl_->position() : StreamPosition();
}
void Subscription::close() noexcept {
    if (impl_ != nullptr) impl_->mailbox->close();
}
bool Subscription::isClosed() const noexcept { return impl_ == nullptr || impl_->mailbox->isClosed(); }
bool Subscription::wasDisconnected() const noexcept { return impl_ != nullptr && impl_->mailbox->wasDisconnected(); }
std::uint64_t Subscription::dropped() const noexcept { return impl_ != nullptr ? impl_->mailbox->dropped() : 0; }
std::size_t Subscription::waiting() const noexcept { return impl_ != nullptr ? impl_->mailbox->waiting() : 0; }

}  // namespace stategraph
