// SECONDS: 100
// Plays the conversations that were recorded with LangGraph's server, on savers in memory and on disks.
#include <memory>

#include <doctest/doctest.h>

#include <stategraph/memory_store.hpp>

#include "tests/langgraph/recorded_play.hpp"
#include "tests/support/savers.hpp"

TEST_CASE("recorded conversations have the same replies, except those that are listed with a reason") {
    savers::onEach([](savers::Store& kind) {
        langgraph_tests::checkRecorded({.saver = kind.open(), .store = std::make_shared<stategraph::MemoryStore>()});
    });
}
