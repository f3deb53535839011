#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::engine {

/// What is known of one effect.
struct EffectEntry {
    std::uint64_t begun = 0;            // how often it has begun, as far as that is stored
    std::optional<std::string> result;  // as CBOR
};

/// The effects (Runtime::once) of the root's current superstep, including those of subgraphs' tasks: which have begun,
/// and what their results are. It mirrors their rows; if nothing is stored, it is the only record. Safe from any
/// thread.
class Effects {
public:
    Effects() noexcept {}  // not defaulted, because `= {}` would fill it with zeros first, once in each run

    using Entry = EffectEntry;

    /// Returns what is known to be stored.
    Entry find(const std::string& path) {
        if (!any_.load(std::memory_order_relaxed)) return {};  // the task's own effects, if any, were set before
        const detail::LockGuard lock(mutex_);
        const auto found = entries_.find(path);
        return found == entries_.end() ? Entry() : found->second.stored;
    }
    /// Notes that `entry` is about to be stored. Returns what it replaces, which may be still on its way.
    Entry send(const std::string& path, const Entry& entry) {
        const detail::LockGuard lock(mutex_);
        Slot& slot = slotOf(path);
        Entry before = slot.sent ? std::move(*slot.sent) : slot.stored;
        slot.sent = entry;
        return before;
    }
    /// Notes that it is stored.
    void set(const std::string& path, Entry entry) {
        const detail::LockGuard lock(mutex_);
        slotOf(path).stored = std::move(entry);
    }
    /// Notes that what was sent could not be stored.
    void forgetSent(const std::string& path) noexcept {
        const detail::LockGuard lock(mutex_);
        if (const auto found = entries_.find(path); found != entries_.end()) found->second.sent.reset();
    }
    bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
    /// Call it at the end of the superstep: later tasks have other names.
    void clear() {
        // All threads that could set it have ended.
        if (any_.load(std::memory_order_relaxed)) [[unlikely]]
            clearEntries();
    }

private:
    struct Slot {
        Entry stored;
        std::optional<Entry> sent;  // the last one that was sent; none if that is `stored`, as it was loaded
    };

    Slot& slotOf(const std::string& path) SG_REQUIRES(mutex_) {
        any_.store(true, std::memory_order_relaxed);
        if (!spare_ || !entries_.empty()) return entries_[path];
        spare_.key() = path;
        return entries_.insert(std::move(spare_)).position->second;
    }
    [[gnu::noinline]] void clearEntries() {
        const detail::LockGuard lock(mutex_);
        spare_ = entries_.extract(entries_.begin());
        spare_.mapped() = {};
        entries_.clear();
        any_.store(false, std::memory_order_relaxed);
    }

    detail::Mutex mutex_;
    std::atomic<bool> any_{false};
    std::map<std::string, Slot> entries_ SG_GUARDED_BY(mutex_);
    std::map<std::string, Slot>::node_type spare_
        SG_GUARDED_BY(mutex_);  // its memory is kept, because an agent has an effect in every other superstep
};

}  // namespace stategraph::engine
