// SECONDS: 100
// Plays the conversations that were recorded with LangGraph's server, on a PostgreSQL server.
#include <memory>

#include <doctest/doctest.h>

#include "tests/langgraph/recorded_play.hpp"
#include "tests/storage/postgres/postgres_helper.hpp"

TEST_CASE("recorded conversations have the same replies with threads and records in PostgreSQL") {
    postgres_tests::Schema schema;
    langgraph_tests::checkRecorded({.saver = schema.open(), .store = schema.openStore({})});
}
