#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/postgres_queue.hpp>
#include <stategraph/worker.hpp>

namespace stategraph::workers {

/// The queues that a worker serves. A name that ends with `*` stands for a group: all queues whose names begin so, and
/// that are not named alone. They have their turns one after the other, in the order of names. For one thread at a
/// time, but `find` and `isGroup` may be called from any.
class QueueTurns {
public:
    explicit QueueTurns(std::span<const WorkerQueue> queues);

    /// Returns the index of the name that stands for a queue: its own, or the longest that fits.
    std::optional<std::size_t> find(std::string_view queue) const noexcept;
    bool isGroup(std::size_t index) const noexcept { return names_[index].is_group; }
    std::string_view prefix(std::size_t index) const noexcept { return names_[index].text; }
    /// The queue after which the next turn begins; empty: the first of all.
    const std::string& after(std::size_t index) const noexcept { return names_[index].after; }
    /// A claim begins: from now on, `isWhole` counts.
    void begin();
    /// Whether the group's looks since `begin` have passed all of its queues.
    bool isWhole(std::size_t index) const noexcept;
    /// Adds to `names` what a look at the group has found, if it is not there, and notes where the next one begins.
    void note(std::size_t index, DueQueues found, std::vector<std::string>& names);

private:
    struct Name {
        std::string text;  // of a group, its beginning
        bool is_group = false;
        std::string after;
        std::string begun;  // `after` when the claim began
        int ends = 0;       // how many looks have reached the last queue since
    };
    std::vector<Name> names_;
};

}  // namespace stategraph::workers
