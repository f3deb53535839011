#pragma once
#include <deque>
#include <memory>
#include <optional>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/stream_hub.hpp>

#include "src/stream/log_reader.hpp"
#include "src/stream/seen_live.hpp"
#include "src/stream/topic.hpp"

namespace stategraph::detail {

/// The implementation of Subscription: a mailbox and a reader of the log. A coroutine that awaits its next event keeps
/// it too. Used by one reader at a time, except for the functions of the mailbox that are safe from all threads.
struct SubscriptionImpl {
    using Clock = stream::Mailbox::Clock;

    std::shared_ptr<const Core> core;            // keeps the saver alive
    std::shared_ptr<BaseCheckpointSaver> saver;  // used if there is no core
    std::shared_ptr<stream::Topic> topic;
    std::shared_ptr<stream::Mailbox> mailbox;
    std::optional<stream::LogReader> log;  // none if there is no saver
    std::deque<stream::Durable> pending;
    std::optional<StreamPosition> telling;  // the commit that `pending` is of
    stream::SeenLive seen;
    std::optional<Clock::time_point> poll_at;

    SubscriptionImpl() = default;
    SubscriptionImpl(const SubscriptionImpl&) = delete;
    SubscriptionImpl& operator=(const SubscriptionImpl&) = delete;
    ~SubscriptionImpl();

    StreamPosition position() const noexcept;
    void moveTo(const StreamPosition& to) noexcept;
    void schedulePoll();
    /// Returns the next event, if one exists now. Returns none if the mailbox is closed, or if the reader has to wait.
    std::optional<HubEvent> take();
    /// Returns until when the reader may wait: `deadline`, or the time at which it next reads the log.
    std::optional<Clock::time_point> waitsUntil(std::optional<Clock::time_point> deadline) const;
    std::optional<HubEvent> next(std::optional<Clock::time_point> deadline);

private:
    bool read();
    bool isPast(std::optional<std::int64_t> last) const;
    HubEvent takePending();
    bool wasSeen();
    void told(const StreamPosition& commit) noexcept;

    mutable Mutex position_mutex_;
    StreamPosition position_ SG_GUARDED_BY(position_mutex_);
};

}  // namespace stategraph::detail
