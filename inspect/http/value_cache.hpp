#pragma once
#include <cstddef>
#include <list>
#include <memory>

#include <stategraph/config.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/value.hpp>

namespace stategraph::inspect {

/// The values of the most recently read checkpoints, so that the pages of a large value need one read. Safe from any
/// thread.
class ValueCache {
public:
    /// Keeps at most this many checkpoints, and this many bytes of them together. A larger checkpoint is not kept.
    ValueCache(std::size_t checkpoints_max, std::size_t bytes_max)
        : checkpoints_max_(checkpoints_max), bytes_max_(bytes_max) {}

    /// Returns null if the checkpoint is not in the cache. `checkpoint` must name an id.
    std::shared_ptr<const Value> find(const Config& checkpoint);
    void add(const Config& checkpoint, std::shared_ptr<const Value> values);

private:
    struct Entry {
        Config checkpoint;
        std::shared_ptr<const Value> values;
    };

    const std::size_t checkpoints_max_;
    const std::size_t bytes_max_;
    stategraph::detail::Mutex mutex_;
    std::list<Entry> entries_ SG_GUARDED_BY(mutex_);  // the most recently used first
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;
};

}  // namespace stategraph::inspect
