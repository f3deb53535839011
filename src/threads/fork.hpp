#pragma once
#include <cstdint>

namespace stategraph::engine {

/// What a forked child must find at rest, and make anew: it has one thread, and those that served the parent are gone.
///
/// Around a fork the forking thread locks each of these, in the order of `Rank` and of their making, so that no thread
/// that is gone holds anything of them in the child.
class ForkAware {
public:
    /// Who is locked by others under their own lock comes behind them.
    enum class Rank : std::uint8_t { timers, executor };

    explicit ForkAware(Rank rank);
    ForkAware(const ForkAware&) = delete;
    ForkAware& operator=(const ForkAware&) = delete;
    virtual ~ForkAware();

    virtual void lockForFork() noexcept = 0;
    /// In the parent.
    virtual void unlockAfterFork() noexcept = 0;
    /// In the child; unlocks too.
    virtual void restartInChild() noexcept = 0;

private:
    friend struct ForkList;
    ForkAware* next_ = nullptr;
    const Rank rank_;
};

/// How many forks this process descends from, as far as it has noticed: a thread that keeps what must differ between
/// processes looks at it.
std::uint64_t forkCount() noexcept;

/// 64 random bits: no two threads and no two processes draw the same ones, forked ones neither. Safe from any thread;
/// never fails.
std::uint64_t randomBits() noexcept;

}  // namespace stategraph::engine
