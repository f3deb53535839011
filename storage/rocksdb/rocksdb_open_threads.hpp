#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

#include "storage/rocksdb/rocksdb_keys.hpp"
#include "storage/saver/index_place.hpp"

namespace stategraph::checkpoint {

/// The open threads of a database that this process writes, by status, in memory in addition to their rows. A run adds
/// such a row and deletes it again, and RocksDB skips each deleted row until it compacts: after 100,000 runs that takes
/// longer than reading the ten threads that wait.
///
/// A thread is added before its row is written and removed after that was deleted, so this object may contain more
/// threads than the database, which costs a look-up for each. For a status with more than `threads_max` threads, or
/// without memory, it knows nothing any more, and the rows are read; most of them then belong to threads. Thread-safe.
class OpenThreads {
public:
    static constexpr std::size_t threads_max = 100'000;

    /// From this call on, every thread is added and removed here. Before it, this object knows nothing.
    void begin() SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        for (OfStatus& each : of_status_) each.is_known = true;
    }

    void add(std::string_view thread_id, const IndexPlace& place) noexcept SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        OfStatus& threads = at(place.status);
        if (!threads.is_known) return;
        try {
            threads.drop(nameKey(thread_id));
            threads.by_time.insert({place.since, std::string(thread_id)});
            threads.by_name.emplace(nameKey(thread_id), place);
        } catch (...) {  // there was no memory
            threads.forget();
        }
        if (threads.by_name.size() > threads_max) threads.forget();
    }

    /// Call it when the thread's rows of these statuses have been deleted.
    void remove(std::string_view thread_id, Statuses statuses) noexcept SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        for (const Status status : indexed_statuses) {
            OfStatus& threads = at(status);
            if (!statuses.has(status) || threads.by_name.empty()) continue;
            try {
                threads.drop(nameKey(thread_id));
            } catch (...) {  // there was no memory
                threads.forget();
            }
        }
    }

    /// Returns whether a thread may have a row of this status.
    bool mayHave(Status status, std::string_view thread_id) const SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        const OfStatus& threads = at(status);
        return !threads.is_known || (!threads.by_name.empty() && threads.by_name.contains(nameKey(thread_id)));
    }

    /// Returns at most `limit` threads of each of the statuses, after `after` in the order of listings. All are of one
    /// moment, so a thread whose status changes meanwhile is among them, under one status or under both. Adds to
    /// `known` the statuses whose threads it knows.
    std::vector<IndexedThread> named(Statuses statuses, const std::optional<std::string>& after, std::size_t limit,
                                     Statuses& known) const SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        std::vector<IndexedThread> found;
        for (const Status status : indexed_statuses) {
            const OfStatus& threads = at(status);
            if (!statuses.has(status) || !threads.is_known) continue;
            known = known | status;
            auto each = after ? threads.by_name.upper_bound(nameKey(*after)) : threads.by_name.begin();
            for (std::size_t n = 0; each != threads.by_name.end() && n < limit; ++each, ++n)
                found.push_back(
                    {{each->second.since, std::string(*parseOpenKey(each->first))}, each->second.outlook()});
        }
        return found;
    }

    /// Returns the threads of one status, the newest first, after `before`, at most `limit`. Returns none if it does
    /// not know.
    std::optional<std::vector<IndexedThread>> newest(Status status, const std::optional<ThreadPlace>& before,
                                                     std::size_t limit) const SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        const OfStatus& threads = at(status);
        if (!threads.is_known) return {};
        std::vector<IndexedThread> found;
        auto each = before ? threads.by_time.lower_bound(*before) : threads.by_time.end();
        while (each != threads.by_time.begin() && found.size() < limit) {
            --each;
            found.push_back({*each, threads.by_name.at(nameKey(each->thread_id)).outlook()});
        }
        return found;
    }

    std::optional<std::size_t> count(Status status) const SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        const OfStatus& threads = at(status);
        return threads.is_known ? std::optional(threads.by_name.size()) : std::nullopt;
    }

private:
    struct OfStatus {
        bool is_known = false;
        std::map<std::string, IndexPlace> by_name;  // by nameKey, which gives the order of listings
        std::set<ThreadPlace> by_time;

        void drop(const std::string& key) {
            const auto found = by_name.find(key);
            if (found == by_name.end()) return;
            by_time.erase({found->second.since, std::string(*parseOpenKey(key))});
            by_name.erase(found);
        }
        void forget() noexcept {
            is_known = false;
            by_name.clear();
            by_time.clear();
        }
    };

    // The key is the same for all statuses.
    static std::string nameKey(std::string_view thread_id) { return openKey(Status::in_flight, thread_id); }
    OfStatus& at(Status status) SG_REQUIRES(mutex_) { return of_status_[static_cast<std::size_t>(status)]; }
    const OfStatus& at(Status status) const SG_REQUIRES(mutex_) { return of_status_[static_cast<std::size_t>(status)]; }

    mutable detail::Mutex mutex_;
    std::array<OfStatus, indexed_statuses.size()> of_status_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::checkpoint
