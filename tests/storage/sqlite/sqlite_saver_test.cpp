#include <stategraph/sqlite_saver.hpp>

#include <chrono>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "tests/support/temporary_folder.hpp"

namespace {

struct SqliteFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return reopen(); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() {
        // A busy disk may delay a commit.
        return std::make_unique<stategraph::SqliteSaver>(
            (folder / "threads.db").string(), stategraph::SqliteSaverOptions{.busy_timeout = std::chrono::minutes(5)});
    }
    TemporaryFolder folder;
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(SqliteFactory);
