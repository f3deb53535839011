// Two servers on one SQLite database.
#include <memory>

#include <doctest/doctest.h>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>

#include "tests/langgraph/two_servers.hpp"
#include "tests/support/temporary_folder.hpp"

TEST_CASE("of two servers on one SQLite database one drives the runs of a thread, and the other sees them") {
    const TemporaryFolder folder;
    langgraph_tests::checkTwoServers(
        {.saver = [&] { return std::make_shared<stategraph::SqliteSaver>((folder / "threads").string()); },
         .store = [&] { return std::make_shared<stategraph::SqliteStore>((folder / "store").string()); }});
}
