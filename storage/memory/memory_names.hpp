#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "storage/memory/memory_index.hpp"
#include "storage/memory/memory_thread.hpp"

// The threads of a memory saver in shards with a lock each, and one ordered list of their names.
namespace stategraph::checkpoint {

/// Each thread is entirely in one shard, so that an operation on all its namespaces takes one lock. No code holds two.
struct alignas(64) MemoryShard {
    detail::Mutex mutex;
    ThreadTable threads SG_GUARDED_BY(mutex);
    ThreadIndex index SG_GUARDED_BY(mutex);      // declared after the threads, so that it is destroyed first
    std::size_t bytes SG_GUARDED_BY(mutex) = 0;  // of its threads
};

/// Walks the names of all shards in the order of listings. It reads some of each shard at a time, under that shard's
/// lock, so that a page of many threads costs what the page holds. Threads that are stored or deleted meanwhile may be
/// walked or not.
class ThreadNames {
public:
    /// `at_once` is the number of names of a shard that are read at a time, at least 1. The shards must outlive this
    /// object.
    ThreadNames(std::span<MemoryShard> shards, const std::optional<std::string>& after, std::size_t at_once)
        : at_once_(at_once) {
        sources_.reserve(shards.size());
        heap_.reserve(shards.size());
        for (MemoryShard& shard : shards) {
            Source& source = sources_.emplace_back(Source{&shard, {}, after});
            if (read(source)) heap_.push_back(&source);
        }
        std::make_heap(heap_.begin(), heap_.end(), comesLater);
    }

    /// Returns the next name, or none at the end.
    std::optional<std::string> next() {
        if (heap_.empty()) return {};
        std::pop_heap(heap_.begin(), heap_.end(), comesLater);
        Source& source = *heap_.back();
        std::string name = std::move(source.names.back());
        source.names.pop_back();
        if (source.names.empty() && !read(source)) {
            heap_.pop_back();
        } else {
            std::push_heap(heap_.begin(), heap_.end(), comesLater);
        }
        return name;
    }

private:
    struct Source {
        MemoryShard* shard;
        std::vector<std::string> names;   // in reverse order, so that the first is at the back
        std::optional<std::string> last;  // the last name that was read
        bool is_at_end = false;
    };

    static bool comesLater(const Source* a, const Source* b) noexcept {
        ++comparisons;
        return BySizeThenText()(b->names.back(), a->names.back());
    }

    // Returns false if there are no more.
    bool read(Source& source) {
        if (source.is_at_end) return false;
        {
            const detail::LockGuard lock(source.shard->mutex);
            source.shard->threads.forEachAfter(source.last ? &*source.last : nullptr, [&](const Thread& thread) {
                source.names.push_back(thread.name);
                return source.names.size() < at_once_;
            });
        }
        source.is_at_end = source.names.size() < at_once_;
        if (source.names.empty()) return false;
        source.last = source.names.back();
        std::reverse(source.names.begin(), source.names.end());
        return true;
    }

    const std::size_t at_once_;
    std::vector<Source> sources_;
    std::vector<Source*> heap_;
};

}  // namespace stategraph::checkpoint
