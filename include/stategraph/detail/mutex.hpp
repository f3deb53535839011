#pragma once
#include <mutex>

// Locks that clang checks. With -Wthread-safety it refuses a program that uses what a mutex guards without holding it
// (scripts/check_locks.sh); for other compilers the annotations are empty, and the classes behave as those that they
// wrap.

#if defined(__clang__)
#define SG_ANNOTATION(x) __attribute__((x))
#else
#define SG_ANNOTATION(x)
#endif

/// A class whose objects are locks, and a class whose objects hold a lock as long as they exist.
#define SG_CAPABILITY(name) SG_ANNOTATION(capability(name))
#define SG_SCOPED_CAPABILITY SG_ANNOTATION(scoped_lockable)
/// For a member that is read and written with the lock held. The second is for the object that a pointer points to.
#define SG_GUARDED_BY(...) SG_ANNOTATION(guarded_by(__VA_ARGS__))
#define SG_PT_GUARDED_BY(...) SG_ANNOTATION(pt_guarded_by(__VA_ARGS__))
/// For a function: the caller holds the lock, or must not hold it.
#define SG_REQUIRES(...) SG_ANNOTATION(requires_capability(__VA_ARGS__))
#define SG_REQUIRES_SHARED(...) SG_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define SG_EXCLUDES(...) SG_ANNOTATION(locks_excluded(__VA_ARGS__))
/// For a function that locks, so that the caller holds the lock afterwards; for one that unlocks.
#define SG_ACQUIRE(...) SG_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SG_ACQUIRE_SHARED(...) SG_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define SG_TRY_ACQUIRE(...) SG_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define SG_RELEASE(...) SG_ANNOTATION(release_capability(__VA_ARGS__))
#define SG_RELEASE_SHARED(...) SG_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define SG_RELEASE_GENERIC(...) SG_ANNOTATION(release_generic_capability(__VA_ARGS__))
/// For a function that only asserts to the analysis that the lock is held. A comment says why it is.
#define SG_ASSERT_HELD(...) SG_ANNOTATION(assert_capability(__VA_ARGS__))
/// For a function that the analysis cannot follow. A comment says why.
#define SG_NO_THREAD_SAFETY_ANALYSIS SG_ANNOTATION(no_thread_safety_analysis)

namespace stategraph::detail {

/// A lock of the standard library with annotations.
template <class Wrapped>
class SG_CAPABILITY("mutex") AnnotatedMutex {
public:
    constexpr AnnotatedMutex() noexcept = default;
    AnnotatedMutex(const AnnotatedMutex&) = delete;
    AnnotatedMutex& operator=(const AnnotatedMutex&) = delete;

    void lock() SG_ACQUIRE() { wrapped_.lock(); }
    bool try_lock() SG_TRY_ACQUIRE(true) { return wrapped_.try_lock(); }
    void unlock() SG_RELEASE() { wrapped_.unlock(); }
    /// Tells the analysis that the caller holds the lock under another name. Does nothing.
    void assertHeld() const noexcept SG_ASSERT_HELD() {}
    /// For locks that are handed from function to function, which the analysis does not follow.
    Wrapped& native() noexcept { return wrapped_; }

private:
    Wrapped wrapped_;
};
using Mutex = AnnotatedMutex<std::mutex>;
using RecursiveMutex = AnnotatedMutex<std::recursive_mutex>;

/// Like std::lock_guard, for any annotated lock.
template <class M>
class SG_SCOPED_CAPABILITY LockGuard {
public:
    explicit LockGuard(M& mutex) SG_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    LockGuard(const LockGuard&) = delete;
    LockGuard& operator=(const LockGuard&) = delete;
    ~LockGuard() SG_RELEASE() { mutex_.unlock(); }

private:
    M& mutex_;
};

/// Like std::unique_lock of a std::mutex: it can be unlocked, and a condition variable can wait with it.
class SG_SCOPED_CAPABILITY UniqueLock {
public:
    explicit UniqueLock(Mutex& mutex) SG_ACQUIRE(mutex) : lock_(mutex.native()) {}
    UniqueLock(const UniqueLock&) = delete;
    UniqueLock& operator=(const UniqueLock&) = delete;
    ~UniqueLock() SG_RELEASE() {}

    void lock() SG_ACQUIRE() { lock_.lock(); }
    void unlock() SG_RELEASE() { lock_.unlock(); }
    /// For condition variables: `changed.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return is_ready_; })`. The
    /// lock is held again when such a call returns.
    std::unique_lock<std::mutex>& native() noexcept { return lock_; }

private:
    std::unique_lock<std::mutex> lock_;
};

}  // namespace stategraph::detail
