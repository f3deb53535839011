#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/sharded_saver.hpp>
#include <stategraph/testing/saver_contract.hpp>

// The contract over three savers.
namespace {

struct ShardedFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return reopen(); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() {
        std::vector<stategraph::NamedShard> shards;
        for (std::size_t i = 0; i < savers.size(); ++i) shards.push_back({"s" + std::to_string(i), savers[i]});
        return std::make_unique<stategraph::ShardedSaver>(
            std::move(shards), stategraph::ShardedSaverOptions{.order = stategraph::ThreadOrder::size_then_bytes});
    }
    std::array<std::shared_ptr<stategraph::MemorySaver>, 3> savers{std::make_shared<stategraph::MemorySaver>(),
                                                                   std::make_shared<stategraph::MemorySaver>(),
                                                                   std::make_shared<stategraph::MemorySaver>()};
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(ShardedFactory);
