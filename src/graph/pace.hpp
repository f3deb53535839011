#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace stategraph::engine {

/// How long the last calls of a node took. It decides on which thread the next ones begin, and nothing else: no result
/// depends on it. Safe from any thread; a note that two threads make at once may be lost.
class Pace {
public:
    /// A call that takes no longer costs less than giving it to another thread.
    static constexpr std::chrono::nanoseconds brief_max{2000};
    /// So many calls in turn must have been brief, so that one alone of a node that waits now and then proves nothing.
    static constexpr std::uint8_t enough = 4;

    Pace() = default;
    // A node is copied only while its graph is built, when it has not been called.
    Pace(const Pace&) noexcept {}
    Pace& operator=(const Pace&) noexcept { return *this; }

    bool isBrief() const noexcept { return brief_.load(std::memory_order_relaxed) >= enough; }
    void note(std::chrono::nanoseconds took) const noexcept {
        const std::uint8_t known = brief_.load(std::memory_order_relaxed);
        const std::uint8_t now = took > brief_max ? std::uint8_t{0}
                                 : known < enough ? static_cast<std::uint8_t>(known + 1)
                                                  : known;
        if (now != known) brief_.store(now, std::memory_order_relaxed);
    }

private:
    mutable std::atomic<std::uint8_t> brief_{0};
};

}  // namespace stategraph::engine
