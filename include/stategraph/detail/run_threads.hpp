#pragma once
#include <cstddef>
#include <memory>

#include <stategraph/task.hpp>

namespace stategraph::detail {

/// The threads on which many runs are awaited at once, as by a worker. A few of them do what is due. If these are busy
/// with the same for longer than a millisecond, because a node or a saver blocks, others take their place, so that any
/// number of runs may block, and runs that wait for a saver that answers later have no thread.
///
/// A node that may be abandoned is called on the thread that drives its run, which costs no change of threads. If it is
/// abandoned, the run continues on another thread, and the node keeps the one that it has, until it returns. Such
/// threads may outlive this object. Safe from any thread, unless a function says otherwise.
class RunThreads {
public:
    /// `few` threads are used unless they block, and at most `most` in all; both at least 1.
    RunThreads(std::size_t few, std::size_t most);
    /// As `join`.
    ~RunThreads();
    RunThreads(const RunThreads&) = delete;
    RunThreads& operator=(const RunThreads&) = delete;

    /// Starts a thread, so that it is known that there is one. Errors: std::system_error.
    void open();
    /// Runs a task to its end, and destroys it. It must not throw. Errors: std::bad_alloc; then it has not begun.
    void run(Task<> task);
    /// Returns when all tasks have ended, and all threads except those that abandoned nodes keep. Not from a task.
    void join() noexcept;
    /// How many threads there are now, those of abandoned nodes included.
    std::size_t threads() const;

    /// Whether tasks of such threads resume there.
    static bool isHome(const Home& home) noexcept;
    /// Calls a node on the threads with this home: on the calling thread if that is one of them, as soon as the
    /// coroutine that it drives is suspended. Errors: std::bad_alloc; then the node is not called.
    static void callNext(const Home& home, const Work& call);

    /// While it exists, what the calling thread posts to its own place is the next that it does, if `is_end`: that is
    /// right where the thread has nothing else to do.
    class AtEnd {
    public:
        explicit AtEnd(bool is_end) noexcept;
        ~AtEnd();
        AtEnd(const AtEnd&) = delete;
        AtEnd& operator=(const AtEnd&) = delete;

    private:
        const bool is_end_;
    };

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace stategraph::detail
