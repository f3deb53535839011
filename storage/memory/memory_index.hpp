#pragma once
#include <boost/intrusive/set.hpp>

#include <stategraph/saver.hpp>

#include "storage/memory/memory_thread.hpp"

// The index of a memory saver's threads: which are open, and which were written to last. Its nodes are part of the
// threads, so nothing here allocates or fails. Nothing here locks.
namespace stategraph::checkpoint {

class ThreadIndex {
public:
    ThreadIndex() = default;
    ThreadIndex(const ThreadIndex&) = delete;
    ThreadIndex& operator=(const ThreadIndex&) = delete;
    ~ThreadIndex() {
        newest_[0].clear();
        newest_[1].clear();
        open_.clear();
    }

    /// After a put to the thread's own log, whose head is `head`. Cost: nothing while a thread stays open; else a few
    /// look-ups.
    void note(Thread& thread, CheckpointId head, bool is_finished) noexcept {
        const IndexPlace place = IndexPlace::after(thread.index, head, is_finished);
        if (place == thread.index) return;
        forget(thread);
        thread.index = place;
        newest_[is_finished ? 1 : 0].insert(thread);
        if (!is_finished) open_.insert(thread);
    }

    void forget(Thread& thread) noexcept {
        if (!thread.index.isIn()) return;
        Newest& newest = newest_[thread.index.is_finished ? 1 : 0];
        newest.erase(newest.iterator_to(thread));
        if (!thread.index.is_finished) open_.erase(open_.iterator_to(thread));
        thread.index = {};
    }

    /// Calls `f(const Thread&)` for open threads in the order of listings, from the first one after `name` (null: from
    /// the beginning), until it returns false.
    template <typename F>
    void forEachOpen(const std::string* name, F&& f) const {
        auto at = name ? open_.upper_bound(std::string_view(*name), ByListing()) : open_.begin();
        for (; at != open_.end(); ++at) {
            if (!f(static_cast<const Thread&>(*at))) return;
        }
    }

    /// Calls `f(const Thread&)` for finished or for open ones, the newest first, from the first one behind `before`
    /// (null: from the newest), until it returns false.
    template <typename F>
    void forEachNewest(bool is_finished, const ThreadPlace* before, F&& f) const {
        const Newest& newest = newest_[is_finished ? 1 : 0];
        auto at = before ? newest.lower_bound(*before, ByPlace()) : newest.end();
        while (at != newest.begin()) {
            --at;
            if (!f(static_cast<const Thread&>(*at))) return;
        }
    }

private:
    struct ByListing {
        static std::string_view nameOf(const Thread& thread) noexcept { return thread.name; }
        static std::string_view nameOf(std::string_view name) noexcept { return name; }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            return BySizeThenText()(nameOf(a), nameOf(b));
        }
    };
    struct ByPlace {
        static CheckpointId sinceOf(const Thread& thread) noexcept { return thread.index.since; }
        static CheckpointId sinceOf(const ThreadPlace& place) noexcept { return place.since; }
        static std::string_view nameOf(const Thread& thread) noexcept { return thread.name; }
        static std::string_view nameOf(const ThreadPlace& place) noexcept { return place.thread_id; }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            return sinceOf(a) != sinceOf(b) ? sinceOf(a) < sinceOf(b) : nameOf(a) < nameOf(b);
        }
    };
    template <auto Hook, class Order>
    using Set =
        boost::intrusive::set<Thread, boost::intrusive::member_hook<Thread, boost::intrusive::set_member_hook<>, Hook>,
                              boost::intrusive::compare<Order>, boost::intrusive::constant_time_size<false>>;
    using Newest = Set<&Thread::newest_hook, ByPlace>;
    using Open = Set<&Thread::open_hook, ByListing>;

    Newest newest_[2];  // open, finished
    Open open_;
};

}  // namespace stategraph::checkpoint
