#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/sharded_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>

/// A ShardedSaver over two savers, "left" and "right", which count their calls, and which a test can take away.
struct TwoShards {
    using Inner = std::shared_ptr<stategraph::BaseCheckpointSaver>;
    using Fault = stategraph::testing::FaultSaver;

    explicit TwoShards(Inner left = std::make_shared<stategraph::MemorySaver>(),
                       Inner right = std::make_shared<stategraph::MemorySaver>())
        : parts{std::make_shared<Fault>(std::move(left)), std::make_shared<Fault>(std::move(right))},
          saver(std::make_shared<stategraph::ShardedSaver>(
              std::vector<stategraph::NamedShard>{{"left", parts[0]}, {"right", parts[1]}},
              stategraph::ShardedSaverOptions{.order = stategraph::ThreadOrder::size_then_bytes})) {}

    /// From now on every call of the shard fails with "the storage is gone".
    void takeAway(std::size_t shard) {
        parts[shard]->arm(
            {.fail_at = 1, .once = false, .raise = [] { throw stategraph::SaverError("the storage is gone"); }});
    }

    std::array<std::shared_ptr<Fault>, 2> parts;
    std::shared_ptr<stategraph::ShardedSaver> saver;
};

/// Names of threads on the left, and on the right.
inline std::string nameOn(std::size_t shard, int number = 0) {
    for (int i = 0;; ++i) {
        const std::string name = "thread " + std::to_string(i);
        if (stategraph::slotOf(name) * 2 / stategraph::shard_slots == shard && number-- == 0) return name;
    }
}
