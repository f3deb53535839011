#pragma once
#include <cstdint>

namespace stategraph::engine {

/// An object that must be locked around a fork, and created again in the child, which has one thread and none of those
/// that served the parent.
class ForkAware {
public:
    virtual void lockForFork() noexcept = 0;
    /// Called in the parent.
    virtual void unlockAfterFork() noexcept = 0;
    /// Called in the child; it unlocks too.
    virtual void restartInChild() noexcept = 0;

protected:
    ~ForkAware() = default;
};

/// Says that forks must find an object, as long as this exists. Make it the object's last member: a fork of another
/// thread, while the object is being created or destroyed, then finds it whole or not at all.
///
/// Around a fork the forking thread locks each of these objects, in the order of `Rank` and of their construction, so
/// that in the child no lock is held by a thread that does not exist there.
class FoundByForks {
public:
    /// An object that others lock while they hold their own lock comes after them.
    enum class Rank : std::uint8_t { timers, executor };

    FoundByForks(ForkAware& object, Rank rank) noexcept;
    FoundByForks(const FoundByForks&) = delete;
    FoundByForks& operator=(const FoundByForks&) = delete;
    ~FoundByForks();

private:
    friend struct ForkList;
    ForkAware& object_;
    FoundByForks* next_ = nullptr;
    const Rank rank_;
};

/// Returns how many forks this process descends from, as far as it has noticed. A thread that keeps data which must
/// differ between processes checks it.
std::uint64_t forkCount() noexcept;

/// Returns 64 random bits. No two threads and no two processes, not even forked ones, draw the same bits. Safe from any
/// thread; never fails.
std::uint64_t randomBits() noexcept;

}  // namespace stategraph::engine
