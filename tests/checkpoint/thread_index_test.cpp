#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/without_index.hpp"

// The index of threads finds what reading all of them finds, whatever is done to them and by whichever driver.
using namespace graphs;

namespace {

using Found = std::vector<std::pair<std::string, std::string>>;

Found foundBy(sg::BaseCheckpointSaver& saver) {
    Found found;
    for (const auto& thread : saver.unfinishedThreads())
        found.emplace_back(thread.thread_id, sg::toString(thread.reason));
    return found;
}

void checkSame(sg::BaseCheckpointSaver& saver) {
    WithoutIndex plain(saver);
    const Found all = foundBy(plain);
    CHECK(foundBy(saver) == all);
    // That look has told which are finished; what is left beside the unfinished ones was cancelled.
    const auto open = saver.openThreads({}, 1000);
    REQUIRE(open);
    for (const std::string& name : *open) {
        const auto isNamed = [&](const auto& found) { return found.first == name; };
        CAPTURE(name);
        if (std::ranges::none_of(all, isNamed))
            CHECK_FALSE(plain.list({.thread_id = name, .with_writes = true})[0].writes.empty());
    }
}

// START -> a -> ask -> end; what the input says happens in `ask`.
Graph asking() {
    Graph graph;
    graph.addNode("a", [](const State&) { return bar("a"); });
    graph.addNode("ask", [](const State& state, sg::Runtime& rt) -> Update {
        if (state.foo == "asks") return bar(sg::interrupt<std::string>(rt, "?"));
        if (state.foo == "fails") throw std::runtime_error("broken");
        if (state.foo == "sleeps") rt.sleepUntil(std::chrono::system_clock::now() + std::chrono::hours(1), "s");
        return bar("ask");
    });
    graph.addNode("end", [](const State&) { return bar("end"); });
    graph.addEdge(sg::START, "a").addEdge("a", "ask").addEdge("ask", "end");
    return graph;
}

}  // namespace

TEST_CASE("the index finds the unfinished threads of every driver, and of every durability") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = asking().compile({.checkpointer = saver});
        for (const drivers::Driver& driver : drivers::crossed()) {
            for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
                for (const char* what : {"ends", "asks", "fails", "sleeps"}) {
                    const std::string thread =
                        std::string(driver.name) + " " + what + " " + std::to_string(static_cast<int>(durability));
                    const Update input{sg::set(&State::foo, std::string(what))};
                    (void)driver.run(app, input, {.thread_id = thread, .durability = durability});
                }
            }
        }
        checkSame(*saver);
        const auto counts = saver->countThreads(1000);
        REQUIRE(counts);
        CHECK(counts->finished == counts->open / 3);
    });
}

TEST_CASE("a run on a slow saver, and a fork, say themselves that a thread is finished") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto slow = std::make_shared<sg::testing::FaultSaver>(saver, sg::testing::FaultPlan{}, true);
        const App app = asking().compile({.checkpointer = slow});
        for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
            const std::string thread = std::to_string(static_cast<int>(durability));
            app.invoke({sg::set(&State::foo, std::string("ends"))}, {.thread_id = thread, .durability = durability});
        }
        CHECK(saver->countThreads(10)->finished == 3);
        CHECK(saver->openThreads({}, 10)->empty());
        (void)sg::fork(*slow, {.thread_id = "0"});
        CHECK(saver->countThreads(10)->finished == 3);
    });
}

TEST_CASE("a look at the threads of a full memory saver evicts none") {
    const auto saver = std::make_shared<sg::MemorySaver>(
        sg::MemorySaverOptions{.bytes_max = 40'000, .when_full = sg::WhenFull::evict});
    const App app = asking().compile({.checkpointer = saver});
    for (int i = 0; saver->evictedThreads() == 0; ++i)
        app.invoke({sg::set(&State::foo, std::string("ends"))}, {.thread_id = "thread " + std::to_string(i)});
    const auto before = saver->evictedThreads();
    const std::size_t threads = saver->list({.checkpoint_ns = "", .heads = true}).size();
    for (const auto& head : saver->list({.checkpoint_ns = "", .heads = true})) {
        for (int times = 0; times < 100; ++times)
            saver->put({.log = {head.thread_id},
                        .expected_head = head.id,
                        .commits = {},
                        .writes = {},
                        .leaves_finished = true});
    }
    CHECK(saver->evictedThreads() == before);
    CHECK(saver->countThreads(1000)->finished == threads);
}

TEST_CASE("the index agrees with the threads after any sequence of runs, edits, forks, answers, cancels and prunes") {
    savers::onEach([](savers::Store& store) {
        constexpr std::uint64_t seed = 1711;
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
        const auto saver = store.open();
        const App app = asking().compile({.checkpointer = saver});
        const std::vector<std::string> words{"ends", "asks", "fails", "sleeps"};
        for (int i = 0; i < 120; ++i) {
            const std::string thread = "thread " + std::to_string(pick(8));
            const Update input{sg::set(&State::foo, words[pick(4)])};
            try {
                switch (pick(10)) {
                    case 0:
                        (void)app.updateState({.thread_id = thread}, input);
                        break;
                    case 1:
                        (void)sg::fork(*saver, {.thread_id = thread});
                        break;
                    case 2:
                        (void)sg::answer(*saver, {.thread_id = thread}, sg::Value("yes"));
                        break;
                    case 3:
                        (void)app.cancelThread(thread);
                        break;
                    case 4:
                        (void)saver->prune({.keep_last = 1});
                        break;
                    case 5:
                        saver->copyThread(thread, "copy " + std::to_string(i));
                        break;
                    case 6:
                        saver->deleteThread(thread);
                        break;
                    case 7:
                        (void)app.invoke(sg::RESUME, {.thread_id = thread});
                        break;
                    default:
                        (void)app.invoke(input, {.thread_id = thread});
                }
            } catch (const sg::Error&) {
                // Nothing to answer, to fork or to resume, or a node that fails.
            }
            if (i % 10 == 9) checkSame(*saver);
        }
        checkSame(*saver);
    });
}
