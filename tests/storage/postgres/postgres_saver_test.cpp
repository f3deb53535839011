// SECONDS: 90
#include <stategraph/postgres_saver.hpp>

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "tests/storage/postgres/postgres_company.hpp"
#include "tests/storage/postgres/postgres_helper.hpp"

namespace {

struct PostgresFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return schema.open(); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() { return schema.open(); }
    postgres_tests::Schema schema;
};

/// Simulates a pooler that assigns another connection to each transaction.
struct PostgresPoolerFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return schema.open({.prepared_statements = false}); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() { return make(); }
    postgres_tests::Schema schema;
};

/// Each put is its own statement, whatever other threads do.
struct PostgresSingleFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return schema.open({.join_puts = {.puts_max = 1}}); }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() { return make(); }
    postgres_tests::Schema schema;
};

/// Each put is made while other threads put too, which are all refused: so it is joined with them.
struct PostgresJoinedFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() {
        return std::make_unique<postgres_tests::InCompany>(schema.open({.join_puts = {.statements_max = 1}}));
    }
    std::unique_ptr<stategraph::BaseCheckpointSaver> reopen() { return make(); }
    postgres_tests::Schema schema;
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(PostgresFactory);
STATEGRAPH_SAVER_CONTRACT(PostgresSingleFactory);
STATEGRAPH_SAVER_CONTRACT(PostgresJoinedFactory);
STATEGRAPH_SAVER_CONTRACT(PostgresPoolerFactory);

TEST_CASE("puts in the company of others are stored by the same statements, as the contract with them assumes") {
    const postgres_tests::Schema schema;
    postgres_tests::InCompany saver(schema.open({.join_puts = {.statements_max = 1}}));
    int lines = 0;
    while (lines < 3 || (lines < 300 && saver.saver().joinedPuts() == 0))
        stategraph::testing::putLine(saver, {"line " + std::to_string(++lines)}, 10);
    CHECK(saver.saver().joinedPuts() > 0);
    CHECK(saver.list({.checkpoint_ns = "", .heads = true}).size() == static_cast<std::size_t>(lines));
}
