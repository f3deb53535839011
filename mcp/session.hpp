#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/mcp/client.hpp>

#include "mcp/message.hpp"
#include "mcp/wire.hpp"

// The protocol: one session with a server, from its first message to its end.
namespace stategraph::mcp::detail {

using Clock = std::chrono::steady_clock;

/// What sessions of one client have in common.
struct Shared {
    ClientOptions options;
    std::vector<std::string> secrets = {};  // that errors must not show
    std::atomic<std::uint64_t> list_changes{0};
    std::atomic<std::uint64_t> starts{0};

    /// Returns the text without the secrets.
    std::string redacted(std::string text) const;
    /// An error that names the server, without the secrets.
    McpError error(Failure failure, std::string_view text, std::int64_t code = 0) const;
};

/// A request that waits for its answer. The session's mutex guards it.
struct Pending {
    std::int64_t id = 0;
    std::string what;  // for errors, such as "the tool 'add'"
    bool is_over = false;
    boost::json::object result;
    std::exception_ptr error;
    std::deque<Progress> progress;
    stategraph::detail::Wakeup* waiter = nullptr;
};

/// What has happened to a request since the last look.
struct News {
    std::vector<Progress> progress;
    bool is_over = false;
    std::exception_ptr error;
    boost::json::object result;
};

/// A request for `begin`.
struct Outgoing {
    std::string method;
    std::string members;  // of its params, as JSON
    std::string what;
    bool wants_progress = false;
};

/// One session. Requests may be made immediately; they are sent when both sides have agreed on a version. Thread-safe.
class Session final : public WireSink {
public:
    /// Connects. Errors: McpError.
    Session(std::shared_ptr<Shared> shared, const Connector& connector);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() override { close("the client was closed"); }

    /// Errors: McpError (limit, connection).
    std::shared_ptr<Pending> begin(const Outgoing& request);
    News look(Pending& request);
    /// Forgets a request, and notifies the server, unless it is over.
    void cancel(Pending& request, std::string_view reason) noexcept;
    /// The time at which a request with this deadline must be looked at.
    Clock::time_point wakeAt(Clock::time_point deadline);
    /// Ends the session if the server has not agreed on a version in time.
    void checkConnecting(Clock::time_point now);
    /// Wakes `waiter` when there is news; returns false if there is some already.
    bool wait(Pending& request, stategraph::detail::Wakeup& waiter);
    void stopWaiting(Pending& request) noexcept;

    bool isDead() const;
    bool hasAnswered() const noexcept { return has_answered_.load(std::memory_order_relaxed); }
    std::string whyDead() const;
    /// Returns what an error about a missing answer adds about lines that were no messages; empty if there were none.
    std::string unreadableLines() const;
    std::optional<ServerInfo> info() const;
    /// Begins to end the session; its requests fail.
    void end(std::string_view why) noexcept;
    /// Ends it, and waits for the wire.
    void close(std::string_view why) noexcept;
    bool isOver() const noexcept { return wire_->isOver(); }

    void onMessage(std::string_view text) noexcept override;
    void onFailed(std::int64_t request, std::string_view why) noexcept override;
    bool isAwaited(std::int64_t request) noexcept override;
    void onBroken(std::string_view why) noexcept override;

private:
    enum class State : std::uint8_t { connecting, ready, dead };

    void take(Incoming&& message, std::string_view text) SG_REQUIRES(mutex_);
    void takeAnswer(Incoming&& message) SG_REQUIRES(mutex_);
    /// Ends the request whose answer cannot be read.
    void failUnread(const Incoming& message) SG_REQUIRES(mutex_);
    void takeRequest(const Incoming& message) SG_REQUIRES(mutex_);
    void takeNotification(const Incoming& message) SG_REQUIRES(mutex_);
    void takeVersion(Incoming&& message) SG_REQUIRES(mutex_);
    void finish(Pending& request, std::exception_ptr error) noexcept SG_REQUIRES(mutex_);
    /// Returns the error of a request that has no answer, or std::bad_alloc if there is no memory for it.
    std::exception_ptr noAnswer(const Pending& request, std::string_view why) const noexcept;
    static void notify(Pending& request) noexcept;
    void die(std::string_view why) noexcept SG_REQUIRES(mutex_);
    bool sendOrHold(std::int64_t id, std::string text) SG_REQUIRES(mutex_);
    void sendOrDie(std::string text) SG_REQUIRES(mutex_);

    const std::shared_ptr<Shared> shared_;
    const Clock::time_point connect_deadline_;
    std::atomic<bool> has_answered_{false};

    mutable stategraph::detail::Mutex mutex_;
    State state_ SG_GUARDED_BY(mutex_) = State::connecting;
    std::string why_ SG_GUARDED_BY(mutex_);
    std::optional<ServerInfo> info_ SG_GUARDED_BY(mutex_);
    std::int64_t last_id_ SG_GUARDED_BY(mutex_) = 0;
    std::size_t unreadable_ SG_GUARDED_BY(mutex_) = 0;
    std::string last_unreadable_ SG_GUARDED_BY(mutex_);
    std::unordered_map<std::int64_t, std::shared_ptr<Pending>> pending_ SG_GUARDED_BY(mutex_);
    /// Requests that wait until the state is ready, in the order of their ids.
    std::deque<std::pair<std::int64_t, std::string>> held_ SG_GUARDED_BY(mutex_);
    std::size_t held_bytes_ SG_GUARDED_BY(mutex_) = 0;
    std::unique_ptr<Wire> wire_;  // last, because it calls this object until it is closed
};

/// Awaits news of a request, a time or a stop, whichever comes first. It may be destroyed while it waits.
class NextNews {
public:
    NextNews(Session& session, Pending& request, Clock::time_point at, std::stop_token stop) noexcept
        : session_(session), request_(request), at_(at), stop_(std::move(stop)) {}
    NextNews(const NextNews&) = delete;
    NextNews& operator=(const NextNews&) = delete;
    ~NextNews() { session_.stopWaiting(request_); }

    bool await_ready() const noexcept { return stop_.stop_requested(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        wakeup_.prepare(stategraph::detail::homeOf(coroutine), coroutine);
        // The coroutine may be resumed on another thread before this function has returned.
        const stategraph::detail::LockGuard lock(mutex_);
        if (!session_.wait(request_, wakeup_)) return false;
        wakeup_.postAt(at_);
        if (stop_.stop_possible()) callback_.emplace(stop_, Wake{wakeup_});
        return true;
    }
    void await_resume() {
        const stategraph::detail::LockGuard lock(mutex_);
        session_.stopWaiting(request_);
    }

private:
    struct Wake {
        stategraph::detail::Wakeup& wakeup;
        void operator()() const noexcept { wakeup.wake(); }
    };

    Session& session_;
    Pending& request_;
    const Clock::time_point at_;
    const std::stop_token stop_;
    stategraph::detail::Mutex mutex_;
    stategraph::detail::Wakeup wakeup_;
    std::optional<std::stop_callback<Wake>> callback_;
};

}  // namespace stategraph::mcp::detail
