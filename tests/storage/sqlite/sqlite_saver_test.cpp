#include <stategraph/sqlite_saver.hpp>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "tests/support/temporary_folder.hpp"

namespace {

struct SqliteFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return reopen(); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() {
        return std::make_unique<stategraph::SqliteSaver>((folder / "threads.db").string());
    }
    TemporaryFolder folder;
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(SqliteFactory);
