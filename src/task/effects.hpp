#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// The effects (Runtime::once) of the root's current superstep, including those of subgraphs' tasks: which have begun,
/// and what their results are. It mirrors their rows; if nothing is stored, it is the only record. Safe from any
/// thread.
class Effects {
public:
    Effects() noexcept {}  // not defaulted, because `= {}` would fill it with zeros first, once in each run

    struct Entry {
        std::uint64_t begun = 0;            // how often it has begun, as far as that is stored
        std::optional<std::string> result;  // as CBOR
    };

    Entry find(const std::string& path) {
        if (!any_.load(std::memory_order_relaxed)) return {};  // the task's own effects, if any, were set before
        const detail::LockGuard lock(mutex_);
        const auto found = entries_.find(path);
        return found == entries_.end() ? Entry() : found->second;
    }
    void set(const std::string& path, Entry entry) {
        const detail::LockGuard lock(mutex_);
        if (spare_ && entries_.empty()) {
            spare_.key() = path;
            spare_.mapped() = std::move(entry);
            entries_.insert(std::move(spare_));
        } else {
            entries_.insert_or_assign(path, std::move(entry));
        }
        any_.store(true, std::memory_order_relaxed);
    }
    /// Call it at the end of the superstep: later tasks have other names.
    void clear() {
        // All threads that could set it have ended.
        if (any_.load(std::memory_order_relaxed)) [[unlikely]]
            clearEntries();
    }

private:
    [[gnu::noinline]] void clearEntries() {
        const detail::LockGuard lock(mutex_);
        spare_ = entries_.extract(entries_.begin());
        spare_.mapped() = {};
        entries_.clear();
        any_.store(false, std::memory_order_relaxed);
    }

    detail::Mutex mutex_;
    std::atomic<bool> any_{false};
    std::map<std::string, Entry> entries_ SG_GUARDED_BY(mutex_);
    std::map<std::string, Entry>::node_type spare_
        SG_GUARDED_BY(mutex_);  // its memory is kept, because an agent has an effect in every other superstep
};

}  // namespace stategraph::engine
