#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::checkpoint {

/// Remembers the earliest place of the first row of a sleeping thread. Waking threads deletes the first of these rows,
/// and RocksDB skips each deleted row until it compacts. Thread-safe.
class FirstDue {
public:
    struct Known {
        std::int64_t ms = std::numeric_limits<std::int64_t>::min();
        std::uint64_t rows_added = 0;
    };
    /// Call it before the rows are read.
    Known known() const SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        return known_;
    }
    /// Call it after a row has been written.
    void add(std::int64_t due_ms) SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        known_.ms = std::min(known_.ms, due_ms);
        ++known_.rows_added;
    }
    /// Call it with the first row, after the rows have been read from `before` on.
    void found(const Known& before, std::int64_t due_ms) SG_EXCLUDES(mutex_) {
        const detail::LockGuard lock(mutex_);
        if (known_.rows_added == before.rows_added) known_.ms = std::max(known_.ms, due_ms);
    }

private:
    mutable detail::Mutex mutex_;
    Known known_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::checkpoint
