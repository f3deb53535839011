#pragma once
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

namespace stategraph::checkpoint {

/// The open threads of a database that this process writes, in memory beside their rows. A run adds such a row and
/// deletes it again, and RocksDB passes over each deleted one until it compacts: after 100,000 runs that takes longer
/// than to read the ten threads that wait.
///
/// A thread is added before its row is written and removed after that was deleted, so there may be more here than in
/// the database, which costs a look and nothing else. Beyond `threads_max`, or without memory, it knows nothing any
/// more, and the rows are read. Thread-safe.
class OpenThreads {
public:
    static constexpr std::size_t threads_max = 100'000;

    /// From now on it is told of every thread. Before, and after `forgetAll`, it knows nothing.
    void begin() SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        is_known_ = true;
    }

    void add(std::string_view thread_id, CheckpointId since) noexcept SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        if (!is_known_) return;
        try {
            drop(openKey(thread_id));
            by_time_.insert({since, std::string(thread_id)});
            by_name_.emplace(openKey(thread_id), since);
        } catch (...) {  // no memory
            forgetAll();
        }
        if (by_name_.size() > threads_max) forgetAll();
    }

    void remove(std::string_view thread_id) noexcept SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        if (!is_known_) return;
        try {
            drop(openKey(thread_id));
        } catch (...) {  // no memory
            forgetAll();
        }
    }

    /// As BaseCheckpointSaver::openThreads; none: it does not know.
    std::optional<std::vector<std::string>> names(const std::optional<std::string>& after, std::size_t limit) const
        SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        if (!is_known_) return {};
        std::vector<std::string> found;
        auto at = after ? by_name_.upper_bound(openKey(*after)) : by_name_.begin();
        for (; at != by_name_.end() && found.size() < limit; ++at) found.emplace_back(*parseOpenKey(at->first));
        return found;
    }

    /// The newest first, behind `before`, at most `limit`; none: it does not know.
    std::optional<std::vector<ThreadPlace>> newest(const std::optional<ThreadPlace>& before, std::size_t limit) const
        SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        if (!is_known_) return {};
        std::vector<ThreadPlace> found;
        auto at = before ? by_time_.lower_bound(*before) : by_time_.end();
        while (at != by_time_.begin() && found.size() < limit) found.push_back(*--at);
        return found;
    }

    std::optional<std::size_t> size() const SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        return is_known_ ? std::optional(by_name_.size()) : std::nullopt;
    }

private:
    void drop(const std::string& key) SG_REQUIRES(mutex_) {
        const auto at = by_name_.find(key);
        if (at == by_name_.end()) return;
        by_time_.erase({at->second, std::string(*parseOpenKey(key))});
        by_name_.erase(at);
    }
    void forgetAll() noexcept SG_REQUIRES(mutex_) {
        is_known_ = false;
        by_name_.clear();
        by_time_.clear();
    }

    mutable detail::Mutex mutex_;
    bool is_known_ SG_GUARDED_BY(mutex_) = false;
    std::map<std::string, CheckpointId> by_name_ SG_GUARDED_BY(mutex_);  // by openKey: the order of listings
    std::set<ThreadPlace> by_time_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::checkpoint
