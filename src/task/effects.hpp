#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// The effects (Runtime::once) of the root's superstep under way, those of subgraphs' tasks among them: what was begun,
/// and what came of it. A mirror of their rows; where nothing is stored it is all there is. Safe from any thread.
class Effects {
public:
    Effects() noexcept {}  // not defaulted: `= {}` would fill it with zeros first, once a run

    struct Entry {
        std::uint64_t begun = 0;            // how often, as far as it is stored
        std::optional<std::string> result;  // CBOR
    };

    Entry find(const std::string& path) {
        if (!any_.load(std::memory_order_relaxed)) return {};  // the task's own, if any, were set before
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
    /// At the end of the superstep: tasks to come have other names.
    void clear() {
        if (!any_.load(std::memory_order_relaxed)) return;  // as nearly always; all that could set it have ended
        const detail::LockGuard lock(mutex_);
        spare_ = entries_.extract(entries_.begin());
        spare_.mapped() = {};
        entries_.clear();
        any_.store(false, std::memory_order_relaxed);
    }

private:
    detail::Mutex mutex_;
    std::atomic<bool> any_{false};
    std::map<std::string, Entry> entries_ SG_GUARDED_BY(mutex_);
    std::map<std::string, Entry>::node_type spare_
        SG_GUARDED_BY(mutex_);  // an agent has an effect in every other superstep: its memory
};

}  // namespace stategraph::engine
