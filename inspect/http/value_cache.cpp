#include "inspect/http/value_cache.hpp"

#include <algorithm>
#include <utility>

namespace stategraph::inspect {

std::shared_ptr<const Value> ValueCache::find(const Config& checkpoint) {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = std::ranges::find(entries_, checkpoint, &Entry::checkpoint);
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front().values;
}

void ValueCache::add(const Config& checkpoint, std::shared_ptr<const Value> values) {
    const std::size_t size = values->bytes().size();
    const stategraph::detail::LockGuard lock(mutex_);
    if (size > bytes_max_ || std::ranges::find(entries_, checkpoint, &Entry::checkpoint) != entries_.end()) return;
    entries_.push_front({checkpoint, std::move(values)});
    bytes_ += size;
    while (entries_.size() > checkpoints_max_ || bytes_ > bytes_max_) {
        bytes_ -= entries_.back().values->bytes().size();
        entries_.pop_back();
    }
}

}  // namespace stategraph::inspect
