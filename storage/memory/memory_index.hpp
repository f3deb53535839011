#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include <boost/intrusive/set.hpp>

#include <stategraph/saver.hpp>

#include "storage/memory/memory_thread.hpp"

// The index of a memory saver's threads: what each waits for, and which were written to last. Its nodes are parts of
// the threads, so nothing here allocates or fails. It does not lock.
namespace stategraph::checkpoint {

class ThreadIndex {
public:
    ThreadIndex() = default;
    ThreadIndex(const ThreadIndex&) = delete;
    ThreadIndex& operator=(const ThreadIndex&) = delete;
    ~ThreadIndex() {
        for (Newest& newest : newest_) newest.clear();
        for (Open& open : open_) open.clear();
        due_.clear();
    }

    /// After a put to the thread's own log, whose head is `head`. `summary` is empty if it is in flight. Cost:
    /// nothing while a run is under way; else a few look-ups.
    void note(Thread& thread, CheckpointId head, const ThreadOutlook& outlook, std::string&& summary) noexcept {
        if (thread.index.stays(head, outlook)) return;
        thread.summary = std::move(summary);
        const IndexPlace place = IndexPlace::after(thread.index, head, outlook);
        if (place == thread.index) return;
        forget(thread);
        thread.index = place;
        Newest& newest = newest_[numberOf(place)];
        newest.insert(newest.end(), thread);  // nearly always its place, since newer heads are greater
        if (place.isOpen()) open_[numberOf(place)].insert(thread);
        if (place.isSleeping()) due_.insert(thread);
    }

    void forget(Thread& thread) noexcept {
        const IndexPlace& place = thread.index;
        if (!place.isIn()) return;
        drop(newest_[numberOf(place)], thread);
        if (place.isOpen()) drop(open_[numberOf(place)], thread);
        if (place.isSleeping()) drop(due_, thread);
        thread.index = {};
    }

    /// Calls `f(const Thread&)` for the open threads of one status in the order of listings, until it returns false. It
    /// begins after `name`, or at the first thread if `name` is null.
    template <typename F>
    void forEachOpen(Status status, const std::string* name, F&& f) const {
        const Open& open = open_[static_cast<std::size_t>(status)];
        auto at = name ? open.upper_bound(std::string_view(*name), ByListing()) : open.begin();
        for (; at != open.end(); ++at) {
            if (!f(static_cast<const Thread&>(*at))) return;
        }
    }

    /// Calls `f(const Thread&)` for the threads of one status, the newest first, until it returns false. It begins
    /// after `before`, or with the newest if `before` is null.
    template <typename F>
    void forEachNewest(Status status, const ThreadPlace* before, F&& f) const {
        const Newest& newest = newest_[static_cast<std::size_t>(status)];
        auto at = before ? newest.lower_bound(*before, ByPlace()) : newest.end();
        while (at != newest.begin()) {
            --at;
            if (!f(static_cast<const Thread&>(*at))) return;
        }
    }

    /// Calls `f(const Thread&)` for the sleeping threads in the order of their wake times, until it returns false. It
    /// begins after `after`, or at the first thread if `after` is null.
    template <typename F>
    void forEachDue(const DueThread* after, F&& f) const {
        auto at = after ? due_.upper_bound(*after, ByDue()) : due_.begin();
        for (; at != due_.end(); ++at) {
            if (!f(static_cast<const Thread&>(*at))) return;
        }
    }

private:
    static std::size_t numberOf(const IndexPlace& place) noexcept { return static_cast<std::size_t>(place.status); }
    template <typename Set>
    static void drop(Set& set, Thread& thread) noexcept {
        set.erase(set.iterator_to(thread));
    }

    struct ByListing {
        static std::string_view nameOf(const Thread& thread) noexcept { return thread.name; }
        static std::string_view nameOf(std::string_view name) noexcept { return name; }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            return BySizeThenText()(nameOf(a), nameOf(b));
        }
    };
    struct ByPlace {
        static auto keyOf(const Thread& thread) noexcept { return std::tie(thread.index.since, thread.name); }
        static auto keyOf(const ThreadPlace& place) noexcept { return std::tie(place.since, place.thread_id); }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            return keyOf(a) < keyOf(b);
        }
    };
    struct ByDue {
        using Key = std::tuple<std::int64_t, std::string_view>;
        static Key keyOf(const Thread& thread) noexcept { return {thread.index.due_ms, thread.name}; }
        static Key keyOf(const DueThread& due) noexcept { return {times::unixMs(due.due), due.thread_id}; }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            return keyOf(a) < keyOf(b);
        }
    };
    template <auto Hook, class Order>
    using Set =
        boost::intrusive::set<Thread, boost::intrusive::member_hook<Thread, boost::intrusive::set_member_hook<>, Hook>,
                              boost::intrusive::compare<Order>, boost::intrusive::constant_time_size<false>>;
    using Newest = Set<&Thread::newest_hook, ByPlace>;
    using Open = Set<&Thread::open_hook, ByListing>;
    using Due = Set<&Thread::due_hook, ByDue>;

    // By status.
    std::array<Newest, indexed_statuses.size()> newest_;
    std::array<Open, indexed_statuses.size()> open_;
    Due due_;
};

}  // namespace stategraph::checkpoint
