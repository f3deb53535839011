// SECONDS: 30
#include <chrono>
#include <cstdlib>
#include <iostream>

#include <doctest/doctest.h>

#include "tests/books/agent_history.hpp"
#include "tests/books/graph_history.hpp"
#include "tests/books/swarm_history.hpp"
#include "tests/books/workflow_history.hpp"
#include "tests/support/sanitized.hpp"

// Four books of random histories: what was executed, what the log says, what the stream told, and what models heard.
// Without STATEGRAPH_BOOKS_HISTORIES nobody stops, kills or drains a run, and there are no rivals.
// STATEGRAPH_BOOKS_SEED sets the first seed, STATEGRAPH_BOOKS_HISTORIES sets how many are tried, and
// STATEGRAPH_BOOKS_VERBOSE=1 prints each seed before it is tried.
namespace {

std::uint64_t given(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Tries `usual` histories with the same seeds in every run.
template <class History>
void tryAll(std::uint64_t usual) {
    usual = sanitized::some(static_cast<unsigned>(usual));
    const std::uint64_t first = given("STATEGRAPH_BOOKS_SEED", 1 + sanitized::turn() * usual);
    const std::uint64_t count = given("STATEGRAPH_BOOKS_HISTORIES", usual);
    const bool verbose = given("STATEGRAPH_BOOKS_VERBOSE", 0) != 0;
    int failures = 0;
    for (std::uint64_t seed = first; seed < first + count && failures < 20; ++seed) {
        if (verbose) std::cout << "seed " << seed << std::endl;
        books::Place place(seed);
        History history(seed, place);
        std::string thrown;
        try {
            history.run();
        } catch (const std::exception& error) {
            thrown = error.what();
        }
        std::string wrong = thrown.empty() ? "" : "thrown: " + thrown + "\n";
        for (const std::string& each : history.wrong()) wrong += each + "\n";
        if (wrong.empty()) continue;
        ++failures;
        FAIL_CHECK("STATEGRAPH_BOOKS_SEED=", seed, "\n", wrong, history.story());
    }
}

}  // namespace

TEST_CASE("what agents executed is what is stored, streamed and told to models") { tryAll<books::AgentHistory>(300); }
TEST_CASE("what workflows executed is what is stored and streamed") { tryAll<books::WorkflowHistory>(150); }
TEST_CASE("what nodes of graphs executed is what is stored and streamed") { tryAll<books::GraphHistory>(150); }
TEST_CASE("agents that hand over to each other have the conversation that they have without deaths") {
    tryAll<books::SwarmHistory>(150);
}
