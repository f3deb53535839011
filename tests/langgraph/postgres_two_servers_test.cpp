// Two servers on one PostgreSQL database.
#include <memory>

#include <doctest/doctest.h>

#include "tests/langgraph/two_servers.hpp"
#include "tests/storage/postgres/postgres_helper.hpp"

TEST_CASE("of two servers on one PostgreSQL database one drives the runs of a thread, and the other sees them") {
    const postgres_tests::Schema schema;
    langgraph_tests::checkTwoServers(
        {.saver = [&] { return std::shared_ptr<stategraph::BaseCheckpointSaver>(schema.open()); },
         .store = [&] { return std::shared_ptr<stategraph::BaseStore>(schema.openStore()); }});
}
