#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/record.hpp"

namespace stategraph::engine {

/// The effects (Runtime::once) of the root's superstep under way, those of subgraphs' tasks among them: what was begun, and what came of
/// it. A mirror of their rows; where nothing is stored it is all there is. Safe from any thread.
class Effects {
public:
    struct Entry {
        std::uint64_t begun = 0;            // how often, as far as it is stored
        std::optional<std::string> result;  // CBOR
    };

    Entry find(const std::string& path) {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(path);
        return found == entries_.end() ? Entry() : found->second;
    }
    void set(const std::string& path, Entry entry) {
        const std::lock_guard lock(mutex_);
        entries_.insert_or_assign(path, std::move(entry));
    }
    /// At the end of the superstep: tasks to come have other names.
    void clear() {
        const std::lock_guard lock(mutex_);
        entries_.clear();
    }

private:
    std::mutex mutex_;
    std::map<std::string, Entry> entries_;
};

}  // namespace stategraph::engine
