#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <stategraph/detail/mutex.hpp>

#include "serve/http.hpp"

namespace stategraph::serve {

/// Ends the wait of a response when there may be something new. Its `announce` is called from any thread, also after
/// the response has ended.
class Announced : public std::enable_shared_from_this<Announced> {
public:
    explicit Announced(const Socket::executor_type& executor) : timer_(std::in_place, executor) {}

    void announce() noexcept {
        const stategraph::detail::LockGuard lock(mutex_);
        if (is_over_ || is_announced_) return;
        is_announced_ = true;
        try {
            asio::post(timer_->get_executor(), [self = shared_from_this()] {
                if (self->timer_) self->timer_->cancel();
            });
        } catch (const std::exception&) {  // there is no memory; the time between calls passes
        }
    }
    /// Returns whether something was announced since the last call.
    bool take() noexcept {
        const stategraph::detail::LockGuard lock(mutex_);
        return std::exchange(is_announced_, false);
    }
    /// Call it on the connection's thread. Whoever keeps this object afterwards may outlive the server.
    void end() noexcept {
        {
            const stategraph::detail::LockGuard lock(mutex_);
            is_over_ = true;
        }
        timer_.reset();
    }
    asio::steady_timer& timer() noexcept { return *timer_; }

private:
    std::optional<asio::steady_timer> timer_;  // used on the connection's thread, and before the end its executor
    stategraph::detail::Mutex mutex_;
    bool is_announced_ SG_GUARDED_BY(mutex_) = false;
    bool is_over_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace stategraph::serve
