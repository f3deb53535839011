// SECONDS: 70
#include <memory>

#include <doctest/doctest.h>

#include <stategraph/postgres_shards.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "tests/storage/sharded/postgres/postgres_shards_helper.hpp"

// The contract over three clusters.
namespace {

struct ShardedPostgresFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() {
        clusters.setUp();
        return reopen();
    }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() {
        return std::make_unique<stategraph::ShardedSaver>(clusters.open());
    }
    postgres_tests::Clusters clusters{3};
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(ShardedPostgresFactory);
