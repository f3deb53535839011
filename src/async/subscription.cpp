#include <memory>
#include <optional>
#include <stop_token>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>
#include <stategraph/stream_hub.hpp>

#include "src/async/stop_wait.hpp"
#include "src/stream/subscription.hpp"
#include "src/value/times.hpp"

// Gives coroutines a subscriber's next event.
namespace stategraph {
namespace {

using detail::SubscriptionImpl;
using Deadline = std::optional<SubscriptionImpl::Clock::time_point>;

/// Awaits something to do, or a time.
class MailboxChange {
public:
    MailboxChange(stream::Mailbox& mailbox, Deadline until) noexcept : mailbox_(mailbox), until_(until) {}
    MailboxChange(const MailboxChange&) = delete;
    MailboxChange& operator=(const MailboxChange&) = delete;
    ~MailboxChange() { mailbox_.forget(waiter_); }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(detail::homeOf(coroutine), coroutine);
        const detail::LockGuard suspending(suspending_);
        if (!mailbox_.watch(waiter_)) return false;
        try {
            if (until_) wakeup_.postAt(*until_);
        } catch (...) {
            mailbox_.forget(waiter_);
            if (is_woken_) return true;  // something else resumes it
            throw;
        }
        return true;
    }
    void await_resume() {
        const detail::LockGuard lock(suspending_);  // another thread may resume this before await_suspend has returned
    }

private:
    // Called under the mailbox's lock.
    static void wake(void* context) noexcept {
        auto& self = *static_cast<MailboxChange*>(context);
        self.is_woken_ = true;
        self.wakeup_.wake();
    }

    stream::Mailbox& mailbox_;
    const Deadline until_;
    stream::Mailbox::Waiter waiter_{wake, this};
    bool is_woken_ = false;
    detail::Mutex suspending_;
    detail::Wakeup wakeup_;
};

Task<std::optional<HubEvent>> nextOf(std::shared_ptr<SubscriptionImpl> from, Deadline deadline) {
    if (from == nullptr) co_return std::nullopt;  // the subscription was moved from
    stream::Mailbox& mailbox = *from->mailbox;
    for (;;) {
        std::optional<HubEvent> event = from->take();
        if (event || mailbox.isClosed() || mailbox.takeWoken()) co_return event;
        if (deadline && SubscriptionImpl::Clock::now() >= *deadline) co_return event;
        MailboxChange change(mailbox, from->waitsUntil(deadline));
        co_await change;
    }
}

Task<std::optional<HubEvent>> nextInNode(std::shared_ptr<SubscriptionImpl> from, Runtime& runtime) {
    const std::stop_token stop = stopToken(runtime);
    if (from == nullptr) co_return std::nullopt;
    const auto wake = [mailbox = from->mailbox] { mailbox->wakeReader(); };
    std::optional<HubEvent> event;
    if (!stop.stop_requested()) {
        const std::stop_callback stops(stop, wake);
        event = co_await nextOf(from, {});
    }
    if (event || !stop.stop_requested()) co_return event;
    const std::string node(runtime.node());
    throw CancelledError("node '" + node + "' awaited an event when its run was stopped, or its time was up",
                         {.node = node, .step = runtime.step()});
}

}  // namespace

Task<std::optional<HubEvent>> Subscription::asyncNext() { return nextOf(impl_, {}); }
Task<std::optional<HubEvent>> Subscription::asyncNext(std::chrono::milliseconds timeout) {
    if (timeout.count() < 0)
        throw InvalidArgumentError("asyncNext(" + times::textOf(timeout) +
                                   "): a wait is at least 0 ms; asyncNext() waits without end");
    return nextOf(impl_, times::after(SubscriptionImpl::Clock::now(), timeout));
}
Task<std::optional<HubEvent>> Subscription::asyncNext(Runtime& runtime) { return nextInNode(impl_, runtime); }

}  // namespace stategraph
