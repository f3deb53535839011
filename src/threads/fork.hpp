#pragma once
#include <cstdint>

namespace stategraph::engine {

/// What must be locked around a fork, and created again in the child, which has one thread and none of those that
/// served the parent.
///
/// Around a fork the forking thread locks each of these, in the order of `Rank` and of their making, so that in the
/// child no lock is held by a thread that does not exist there.
class ForkAware {
public:
    /// An object that others lock while they hold their own lock comes after them.
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

/// How many forks this process descends from, as far as it has noticed: a thread that keeps data which must differ
/// between processes checks it.
std::uint64_t forkCount() noexcept;

/// 64 random bits: no two threads and no two processes draw the same ones, forked ones neither. Safe from any thread;
/// never fails.
std::uint64_t randomBits() noexcept;

}  // namespace stategraph::engine
