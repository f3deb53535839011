#pragma once
#include <condition_variable>
#include <cstddef>
#include <memory>

#include <stategraph/detail/async.hpp>
#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// A place on top of another one that can be closed. While it is open, posted work runs, several pieces at the same
/// time. After `close`, none of it runs any more, so coroutines that resume there can be destroyed from another thread.
/// Safe from any thread. The place below must exist until this one is closed.
class ClosablePlace : public std::enable_shared_from_this<ClosablePlace> {
public:
    explicit ClosablePlace(detail::Home home) noexcept : home_(home) {}
    ClosablePlace(const ClosablePlace&) = delete;
    ClosablePlace& operator=(const ClosablePlace&) = delete;

    detail::Home home() noexcept { return {this, &ops}; }
    /// Waits for work that runs, until it awaits something or ends; work that has not begun is dropped. Do not call it
    /// from such work.
    void close() noexcept;

private:
    struct Posted;
    static void post(void* place, const detail::Work& work);
    static detail::Home under(void* place) { return static_cast<ClosablePlace*>(place)->home_; }
    static bool isGone(void* place) {
        const detail::Home home = under(place);
        return home.ops->isGone != nullptr && home.ops->isGone(home.place);
    }
    static constexpr detail::HomeOps ops{.post = post, .under = under, .isGone = isGone};

    bool enter() noexcept;
    void exit() noexcept;

    const detail::Home home_;
    detail::Mutex mutex_;
    std::condition_variable left_;
    std::size_t inside_ SG_GUARDED_BY(mutex_) = 0;
    bool is_closed_ SG_GUARDED_BY(mutex_) = false;
};

}  // namespace stategraph::engine
