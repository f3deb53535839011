#include <malloc.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/unfinished.hpp>

#include "src/threads/thread_claim.hpp"
#include "src/value/comparisons.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/recording_saver.hpp"

// Costs that grow with a run's size must not grow quadratically. The tests count work and do not measure time: they
// compare one size with four times that size, where n log n costs less than six times as much and n² sixteen times.
using namespace graphs;

namespace {

/// How much `work` adds to this thread's counter of comparisons.
template <class Work>
std::uint64_t comparisonsOf(Work work) {
    const std::uint64_t before = sg::checkpoint::comparisons;
    work();
    return sg::checkpoint::comparisons - before;
}

struct Counted {
    std::uint64_t small;
    std::uint64_t large;
};

void checkGrowth(const char* what, const Counted& counted) {
    CAPTURE(what);
    CAPTURE(counted.small);
    CAPTURE(counted.large);
    CHECK(counted.small > 0);  // otherwise the counter counts something else
    CHECK(counted.large < 6 * counted.small);
}

/// START sends 0 … count - 1 to "work". While `fails` is true, one of them fails, or asks if there is a question.
App fanOut(int count, const bool& fails, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph graph;
    graph.addNode("work", [count, &fails](const int& number) -> Update {
        if (number == count / 2 && fails) throw std::runtime_error("no");
        return {sg::add(&State::n, 1)};
    });
    graph.addConditionalEdges(sg::START,
                              [count](const State&) {
                                  std::vector<sg::Send> sends;
                                  for (int i = 0; i < count; ++i) sends.emplace_back("work", i);
                                  return sends;
                              },
                              {"work"});
    return graph.compile({.checkpointer = saver});
}

/// The same graph as a subgraph in which each task asks.
App askingFanOut(int count, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    Graph inner;
    inner.addNode("work", [](const int&, sg::Runtime& runtime) -> Update {
        return {sg::add(&State::n, sg::interrupt<int>(runtime, "how much?"))};
    });
    inner.addConditionalEdges(sg::START,
                              [count](const State&) {
                                  std::vector<sg::Send> sends;
                                  for (int i = 0; i < count; ++i) sends.emplace_back("work", i);
                                  return sends;
                              },
                              {"work"});
    Graph graph;
    graph.addNode("inner", inner.compile()).addEdge(sg::START, "inner");
    return graph.compile({.checkpointer = saver});
}

std::size_t liveBytes() { return mallinfo2().uordblks; }

}  // namespace

TEST_CASE("a wide fan-out is read and resumed with n log n comparisons, in every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
            const auto measure = [&](int count) {
                bool fails = true;
                const auto saver = std::make_shared<sg::MemorySaver>();
                const App app = fanOut(count, fails, saver);
                const sg::RunConfig config{.thread_id = "t", .durability = durability, .max_concurrency = 1};
                CHECK(driver.run(app, Update{}, config).failed());
                fails = false;
                return comparisonsOf([&] {
                    CHECK(app.getState({.thread_id = "t"}).tasks.size() == static_cast<std::size_t>(count));
                    CHECK(saver->unfinishedThreads().size() == 1);
                    // Drivers with their own threads count there; the result must be right in any case.
                    CHECK(driver.run(app, sg::RESUME, config).values.n == count);
                });
            };
            checkGrowth("run and resume", {measure(200), measure(800)});
        }
    }
}

TEST_CASE("many questions in a subgraph are shown and answered with n log n comparisons") {
    const auto measure = [&](int count) {
        const App app = askingFanOut(count, std::make_shared<sg::MemorySaver>());
        const sg::RunConfig config{.thread_id = "t", .max_concurrency = 1};
        const auto asked = app.invoke(Update{}, config);
        REQUIRE(asked.interrupts.size() == static_cast<std::size_t>(count));
        std::vector<sg::Answer> answers;
        for (const sg::Interrupt& question : asked.interrupts) answers.push_back({question.id, 1});
        const sg::Command<State> command{.answers = answers};
        return comparisonsOf([&] {
            CHECK(app.getState({.thread_id = "t"}).interrupts().size() == static_cast<std::size_t>(count));
            CHECK(app.invoke(command, config).values.n == count);
        });
    };
    checkGrowth("questions", {measure(100), measure(400)});
}

TEST_CASE("a long run with durability exit holds as much as a short one") {
    const auto measure = [](int supersteps) {
        std::size_t live = 0;
        Graph graph;
        graph.addNode("a", [&](const State& state) -> Update {
            if (state.n == 10) live = liveBytes();
            if (state.n == supersteps) live = liveBytes() - live;
            return {sg::add(&State::n, 1)};
        });
        graph.addNode("b", [](const State& state) -> Update {
            return {sg::set(&State::foo, std::string(1000, static_cast<char>('a' + state.n % 20)))};
        });
        graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
        graph.addConditionalEdges("a",
                                  [&](const State& state) -> Strings {
                                      return state.n > supersteps ? Strings{} : Strings{"a", "b"};
                                  },
                                  {"a", "b"});
        const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
        CHECK(app.invoke(Update{}, {.thread_id = "t",
                                    .durability = sg::Durability::exit,
                                    .recursion_limit = supersteps + 10,
                                    .max_concurrency = 1})
                  .values.n == supersteps + 1);
        return static_cast<std::int64_t>(live);
    };
    CHECK(measure(2000) < 200'000);  // two records of 1 kB per superstep would need 2 MB
}

TEST_CASE(
    "the records that exit keeps of the superstep under way, and of the one that it resumed, are stored as before") {
    bool fails = true;
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = fanOut(20, fails, saver);
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::exit, .max_concurrency = 1};
    CHECK_THROWS_AS(app.invoke(Update{}, config), sg::NodeError);
    const auto failed = app.getState({.thread_id = "t"});
    std::size_t finished = 0;
    for (const sg::TaskSnapshot& task : failed.tasks) finished += task.finished ? 1 : 0;
    CHECK(finished == 19);
    CHECK(failed.values.n == 19);
    fails = false;
    CHECK(app.invoke(sg::RESUME, config).values.n == 20);
    std::size_t results = 0;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
        for (const sg::TaskSnapshot& task : snapshot.tasks) results += task.name == "work" && task.finished ? 1 : 0;
    }
    CHECK(results == 20);
}

TEST_CASE("the unfinished threads of a memory saver are found with n log n comparisons, in the order of all listings") {
    const auto measure = [](int count) {
        const auto saver = std::make_shared<sg::MemorySaver>();
        const bool fails = true;
        const App app = fanOut(1, fails, saver);
        for (int i = 0; i < count; ++i)
            CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = std::to_string(i * 7919 % count)}), sg::NodeError);
        return comparisonsOf([&] {
            const auto found = saver->unfinishedThreads();
            REQUIRE(found.size() == static_cast<std::size_t>(count));
            for (std::size_t i = 0; i < found.size(); ++i)
                CHECK(found[i].thread_id == std::to_string(i));  // ordered by size, then by text
        });
    };
    checkGrowth("threads", {measure(2000), measure(8000)});
}

TEST_CASE("a memory saver lists in pages what it lists at once, while threads come and go") {
    sg::MemorySaver saver;
    const auto put = [&](const std::string& thread) {
        const sg::CheckpointId id(1, 1);
        const sg::CommitRow row{.id = id, .base = id, .bytes = "x"};
        saver.put({.log = {thread}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
    };
    const auto names = [&](std::size_t page_size) {
        Strings all;
        saver.forEachHead({}, page_size, [&](const sg::ListedCheckpoint& head) {
            all.push_back(head.thread_id);
            return true;
        });
        return all;
    };
    for (int i = 0; i < 300; ++i) put("t" + std::to_string(i));
    CHECK(names(7).size() == 300);
    CHECK(names(7) == names(1000));
    for (int i = 0; i < 300; i += 3) saver.deleteThread("t" + std::to_string(i));
    for (int i = 300; i < 310; ++i) put("t" + std::to_string(i));
    saver.deleteThread("t305");  // not listed so far
    CHECK(names(1).size() == 209);
    CHECK(names(7) == names(1000));
    CHECK(names(64) == names(1000));
}

TEST_CASE("the record of a deeply nested subgraph has 17 bytes for each graph around it") {
    struct Counting final : sg::BaseCheckpointSaver {
        void put(const sg::PutRequest& request) override {
            for (const auto& row : request.commits) largest = std::max(largest, row.bytes.size());
            inner.put(request);
        }
        std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
            return inner.getTuple(query);
        }
        std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override { return inner.list(query); }
        void deleteThread(std::string_view id) override { inner.deleteThread(id); }
        void copyThread(std::string_view from, std::string_view to) override { inner.copyThread(from, to); }
        std::size_t prune(const sg::PruneRequest& request) override { return inner.prune(request); }
        bool putIsSlow() const noexcept override { return false; }
        sg::MemorySaver inner;
        std::size_t largest = 0;
    };
    const auto measure = [](int depth) {
        const auto saver = std::make_shared<Counting>();
        bool fails = true;
        Graph innermost;
        innermost.addNode("x", [&fails](const State&) -> Update {
            if (fails) throw std::runtime_error("no");
            return {sg::add(&State::n, 1)};
        });
        innermost.addEdge(sg::START, "x");
        App app = innermost.compile();
        for (int i = 0; i < depth; ++i) {
            Graph outer;
            outer.addNode("x", app).addEdge(sg::START, "x");
            app = i + 1 < depth ? outer.compile() : outer.compile({.checkpointer = saver});
        }
        CHECK_THROWS_AS(app.invoke(Update{}, {.thread_id = "t"}), sg::NodeError);
        fails = false;
        CHECK(app.getState({.thread_id = "t"}, {.subgraphs = true}).tasks.size() == 1);
        CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).values.n == 1);
        return saver->largest;
    };
    const std::size_t small = measure(20);
    const std::size_t large = measure(80);
    CHECK(large - small <= 60 * 17 + 4);
}

TEST_CASE("runs that wait for a busy thread are neither searched nor woken for each other") {
    using sg::engine::ThreadClaim;
    const auto measure = [](std::size_t count) {
        const sg::MemorySaver saver;
        std::size_t turns = 0;
        const auto come = [](void* context) { ++*static_cast<std::size_t*>(context); };
        const std::uint64_t compared = comparisonsOf([&] {
            std::vector<std::unique_ptr<ThreadClaim>> line;
            for (std::size_t i = 0; i < count; ++i) {
                line.push_back(std::make_unique<ThreadClaim>());
                CHECK(line.back()->enterLine(saver, "t", sg::OnBusy::wait, std::chrono::seconds(1), come, &turns) ==
                      (i == 0));
            }
            // Every third one gives up, from the last to the first, so that no lock changes its holder.
            for (std::size_t i = count - 1; i > 0; --i) {
                if (i % 3 != 0) continue;
                CHECK_FALSE(line[i]->leaveLine());
                line[i].reset();
            }
            for (std::size_t i = 0; i < count; ++i) {
                if (!line[i]) continue;
                CHECK(line[i]->leaveLine());
                line[i].reset();
            }
        });
        CHECK(turns == count - 1 - (count - 1) / 3);  // one turn for each that stayed
        return compared;
    };
    checkGrowth("line", {measure(300), measure(1200)});
}

TEST_CASE("a claim is replaced while any run in its line is to replace it, and the next one only by those after it") {
    using sg::engine::ThreadClaim;
    const sg::MemorySaver saver;
    const auto come = [](void*) {};
    ThreadClaim first, second, third, other;
    first.acquire(saver, "t", sg::OnBusy::replace, {});
    CHECK_FALSE(first.isReplaced());
    other.acquire(saver, "u", sg::OnBusy::replace, {});
    CHECK_FALSE(first.isReplaced());
    CHECK_FALSE(second.enterLine(saver, "t", sg::OnBusy::replace, std::chrono::seconds(1), come, nullptr));
    CHECK(first.isReplaced());
    CHECK_FALSE(third.enterLine(saver, "t", sg::OnBusy::wait, std::chrono::seconds(1), come, nullptr));
    CHECK_THROWS_AS(ThreadClaim().acquire(saver, "t", sg::OnBusy::reject, {}), sg::ThreadBusyError);
    SUBCASE("the one that replaces gives up") {
        CHECK_FALSE(second.leaveLine());
        CHECK_FALSE(first.isReplaced());
        first.release();
        CHECK(third.leaveLine());
        CHECK_FALSE(third.isReplaced());
    }
    SUBCASE("the one that replaces has its turn") {
        first.release();
        CHECK(second.leaveLine());
        CHECK_FALSE(second.isReplaced());
        CHECK_FALSE(third.leaveLine());
    }
}
