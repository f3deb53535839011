#include <stategraph/postgres_saver.hpp>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract.hpp>

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

}  // namespace

STATEGRAPH_SAVER_CONTRACT(PostgresFactory);
STATEGRAPH_SAVER_CONTRACT(PostgresPoolerFactory);
