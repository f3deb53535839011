// Runs that are several supersteps ahead of what is stored (BaseCheckpointSaver::commitsAhead).
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/later.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/until.hpp"

using namespace graphs;

namespace {

constexpr int nodes = 12;

std::string nameOf(int node) { return "node " + std::to_string(node); }

struct Chain {
    std::atomic<int> executed{0};
    /// The saver answers no put from this node on; -1: it always answers.
    int closes_at = -1;
    std::shared_ptr<LaterSaver> saver;
    /// Whether that node first waits for the commits of those before it.
    bool awaits_commits = false;

    /// A chain of nodes, every third one a coroutine.
    App over(const std::shared_ptr<sg::BaseCheckpointSaver>& stores) {
        Graph graph;
        for (int node = 0; node < nodes; ++node) {
            const auto work = [this, node]() -> Update {
                if (node == closes_at) {
                    // The input, START, and the nodes before this one.
                    while (awaits_commits &&
                           saver->inner()->list({.thread_id = "t"}).size() < 2U + static_cast<std::size_t>(node))
                        std::this_thread::sleep_for(std::chrono::microseconds(50));  // sleeps: between two looks
                    saver->closePuts();
                }
                ++executed;
                return {sg::add(&State::bar, nameOf(node)), sg::add(&State::n, node)};
            };
            if (node % 3 == 2) {
                graph.addNode(nameOf(node), [work](const State&) -> Task<Update> { co_return work(); });
            } else {
                graph.addNode(nameOf(node), [work](const State&) { return work(); });
            }
            graph.addEdge(node == 0 ? std::string(sg::START) : nameOf(node - 1), nameOf(node));
        }
        return graph.compile({.checkpointer = stores, .ids = FixedIds::make()});
    }
    void awaitExecuted(int count) const {
        patience::until([&] { return executed >= count; });
    }
};

// Newest first, each with its id.
Strings rowsOf(sg::BaseCheckpointSaver& saver, const std::string& thread = "t") {
    Strings rows;
    for (const auto& row : saver.list({.thread_id = thread}))
        rows.push_back(row.id.toString() + " " + std::string(row.bytes.view()));
    return rows;
}

State finalState() {
    State state;
    for (int node = 0; node < nodes; ++node) {
        state.bar.push_back(nameOf(node));
        state.n += node;
    }
    return state;
}

// What a run stores whose saver answers at once.
Strings wantedRows(const drivers::Driver& driver, sg::Durability durability) {
    Chain chain;
    const auto memory = std::make_shared<sg::MemorySaver>();
    const auto outcome = driver.run(chain.over(memory), Update{}, {.thread_id = "t", .durability = durability});
    REQUIRE(outcome.what() == "");
    return rowsOf(*memory);
}

}  // namespace

TEST_CASE("a run is at most as many supersteps ahead of what is stored as its saver allows") {
    for (const std::size_t ahead : {std::size_t{1}, std::size_t{3}, std::size_t{8}}) {
        for (const drivers::Driver& driver : drivers::all()) {
            for (const auto durability : {sg::Durability::async, sg::Durability::sync}) {
                CAPTURE(ahead);
                CAPTURE(driver.name);
                const bool is_sync = durability == sg::Durability::sync;
                const auto memory = std::make_shared<sg::MemorySaver>();
                const auto later = std::make_shared<LaterSaver>(memory);
                later->ahead = ahead;
                Chain chain;
                chain.saver = later;
                chain.closes_at = 1;
                chain.awaits_commits = true;
                const App app = chain.over(later);
                auto outcome = std::async(std::launch::async, [&] {
                    return driver.run(app, Update{}, {.thread_id = "t", .durability = durability});
                });
                // Commits of so many supersteps wait, and the node after them has run. A blocking run with sync calls
                // `put`, which this saver never lets wait.
                const bool stops = !is_sync || isAwaited(driver);
                const int most = !stops ? nodes : is_sync ? 2 : 2 + static_cast<int>(ahead);
                chain.awaitExecuted(most);
                if (stops) {
                    // sleeps: usually enough; what is checked holds in any case
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    CHECK(chain.executed == most);
                    CHECK(rowsOf(*memory).size() <= 3);  // the input and two supersteps at most
                }
                later->open();
                const auto ended = outcome.get();
                REQUIRE(ended.what() == "");
                CHECK(ended.values == finalState());
                CHECK(rowsOf(*memory) == wantedRows(driver, durability));
            }
        }
    }
}

TEST_CASE("commits that wait are few puts, and with exit there is one") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const auto later = std::make_shared<LaterSaver>();
        later->ahead = nodes;
        Chain chain;
        chain.saver = later;
        chain.closes_at = 1;
        const App app = chain.over(later);
        auto outcome = std::async(std::launch::async, [&] { return driver.run(app, Update{}, {.thread_id = "t"}); });
        chain.awaitExecuted(nodes);
        const std::size_t before = later->answered();
        CHECK(before <= 6);  // perhaps a read, the input, and the commits of START and the first two nodes
        later->open();
        CHECK(outcome.get().what() == "");
        CHECK(later->answered() + later->waitedFor() <= before + 3);  // all that waited, the end, and the index
    }
}

TEST_CASE(
    "a process that dies loses the commits that are not stored yet and no other, and another process resumes the run") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 20; ++round) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto memory = std::make_shared<sg::MemorySaver>();
            const auto later = std::make_shared<LaterSaver>(memory, std::chrono::microseconds(random() % 50));
            later->ahead = 1 + random() % 6;
            Chain chain;
            chain.saver = later;
            chain.closes_at = static_cast<int>(random() % nodes);
            const App app = chain.over(later);
            auto outcome =
                std::async(std::launch::async, [&] { return driver.run(app, Update{}, {.thread_id = "t"}); });
            chain.awaitExecuted(chain.closes_at + 1);
            later->awaitPuts(1);
            // What another process finds.
            memory->copyThread("t", "found");
            const Strings found = rowsOf(*memory, "found");
            Chain other;
            const App resumed = other.over(memory);
            const auto ended = driver.run(resumed, sg::RESUME, {.thread_id = "found"});
            REQUIRE(ended.what() == "");
            CHECK(ended.values == finalState());
            later->open();
            CHECK(outcome.get().what() == "");
            // It was the beginning of what the run has stored.
            const Strings all = rowsOf(*memory);
            REQUIRE(found.size() <= all.size());
            CHECK(std::equal(found.rbegin(), found.rend(), all.rbegin()));
        }
    }
}

TEST_CASE("whichever put of a run that is ahead fails, the run fails with it, and resumes from what is stored") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        for (std::size_t call = 1;; ++call) {
            CAPTURE(call);
            REQUIRE(call < 60);
            const auto memory = std::make_shared<sg::MemorySaver>();
            const auto faults = std::make_shared<sg::testing::FaultSaver>(
                memory, sg::testing::FaultPlan{
                            .fail_at = call, .after_effect = call % 2 == 0, .calls = sg::testing::SaverCalls::put});
            Chain chain;
            const App app = chain.over(std::make_shared<LaterSaver>(faults, std::chrono::microseconds(30)));
            const auto first = driver.run(app, Update{}, {.thread_id = "t"});
            const bool has_failed = faults->failures() > 0;
            faults->disarm();
            if (first.failed()) {
                CHECK(has_failed);
                CHECK(first.as<sg::SaverError>() != nullptr);
                auto ended = driver.run(app, sg::RESUME, {.thread_id = "t"});
                if (ended.as<sg::EmptyInputError>() != nullptr) ended = driver.run(app, Update{}, {.thread_id = "t"});
                REQUIRE(ended.what() == "");
                CHECK(ended.values == finalState());
            }
            // A failure that is not the run's is one of the index alone.
            CHECK(app.getState({.thread_id = "t"}).values == finalState());
            CHECK(rowsOf(*memory).size() == nodes + 2);  // the input, START and each node, none of them twice
            if (!has_failed) break;
        }
    }
}
