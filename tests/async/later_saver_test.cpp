// ALSO PLAIN: it awaits ten thousand runs
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <stategraph/testing/fault_saver.hpp>

#include "tests/async/later.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/sanitized.hpp"

// Runs that are awaited with a saver that answers later (BaseCheckpointSaver::answersLater): no thread waits for it.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// The threads on which nodes ran.
class Threads {
public:
    void note() {
        const std::lock_guard lock(mutex_);
        ids_.insert(std::this_thread::get_id());
    }
    std::size_t count() const {
        const std::lock_guard lock(mutex_);
        return ids_.size();
    }

private:
    mutable std::mutex mutex_;
    std::set<std::thread::id> ids_;
};

auto notes(Threads& threads, std::string text) {
    return [&threads, text](const State&) -> Task<Update> {
        threads.note();
        co_return {sg::add(&State::bar, text)};
    };
}

/// Runs it with its question and an answer, and returns what the run left.
State runWide(const drivers::Driver& driver, const App& app, sg::Durability durability) {
    const sg::RunConfig config{.thread_id = "t", .durability = durability};
    const auto asked = driver.run(app, Update{sg::set(&State::foo, "x")}, config);
    REQUIRE(asked.what() == "");
    REQUIRE(asked.interrupts.size() == 1);
    const auto done = driver.run(app, sg::Command<State>{.resume = "yes"}, config);
    REQUIRE(done.what() == "");
    CHECK((done.status == sg::Status::done));
    return done.values;
}

}  // namespace

TEST_CASE("ten thousand awaited runs on two threads, with a saver that takes a millisecond a call, all finish") {
#if STATEGRAPH_WITH_ASAN || STATEGRAPH_WITH_TSAN
    constexpr std::size_t runs = 1'500;
#else
    constexpr std::size_t runs = 10'000;
#endif
    for (const auto durability : {sg::Durability::sync, sg::Durability::async}) {
        Threads threads;
        const auto saver = std::make_shared<LaterSaver>(std::make_shared<sg::MemorySaver>(), 1ms);
        const auto executor = twoThreads();
        const auto app = chainOf(notes(threads, "a"), notes(threads, "b"), notes(threads, "c"))
                             .compile({.checkpointer = saver, .executor = executor});
        std::vector<sg::Spawning<sg::Result<State>>> spawned;
        spawned.reserve(runs);
        saver->closePuts();  // until each has one under way
        for (std::size_t i = 0; i < runs; ++i) {
            spawned.push_back(sg::spawn(
                executor, app.asyncInvoke({sg::set(&State::foo, std::to_string(i))},
                                          {.thread_id = "thread " + std::to_string(i), .durability = durability})));
        }
        saver->awaitPuts(runs);
        saver->open();
        for (std::size_t i = 0; i < runs; ++i) {
            const auto result = spawned[i].get();
            REQUIRE((result.status == sg::Status::done));
            REQUIRE(result.values == State{std::to_string(i), {"a", "b", "c"}, 0});
        }
        CHECK(threads.count() <= 2);
        CHECK(saver->mostPuts() > 1'000);
        CHECK(saver->waitedFor() == 0);
        for (std::size_t i = 0; i < runs; i += 97) {
            const sg::RunConfig config{.thread_id = "thread " + std::to_string(i)};
            std::size_t commits = 0;
            for (const auto& snapshot : app.getStateHistory(config)) {
                if (commits++ > 0) continue;
                CHECK(snapshot.next.empty());
                CHECK(snapshot.values.bar == Strings{"a", "b", "c"});
            }
            CHECK(commits == 5);
        }
    }
}

TEST_CASE("runs store the same bytes with a saver that answers later as with one that blocks, with each driver") {
    for (const bool blocks : {false, true}) {
        for (const auto durability : durabilities) {
            std::optional<history::Bytes> expected;
            for (const drivers::Driver& driver : drivers::affordable()) {
                CAPTURE(driver.name);
                for (const bool is_later : {false, true}) {
                    const auto inner = std::make_shared<sg::MemorySaver>();
                    std::shared_ptr<sg::BaseCheckpointSaver> saver = inner;
                    if (is_later) saver = std::make_shared<LaterSaver>(inner);
                    const State state = runWide(driver, wide(saver, blocks), durability);
                    CHECK(state == State{"x", {"a", "b", "c", "answer yes", "end"}, 0});
                    const auto bytes = history::bytesOf(*inner);
                    if (!expected) expected = bytes;
                    CHECK((bytes == *expected));
                }
            }
        }
    }
}

TEST_CASE("no thread of an awaited run waits for a saver that answers later") {
    for (const auto durability : durabilities) {
        for (const drivers::Driver& driver : drivers::affordable()) {
            CAPTURE(driver.name);
            const auto saver = std::make_shared<LaterSaver>();
            (void)runWide(driver, wide(saver), durability);
            // Resuming looks into the log of the graph that had asked, before anything is stored.
            const std::size_t looks = 1;
            if (isAwaited(driver)) CHECK(saver->waitedFor() <= looks);
            if (isAwaited(driver)) CHECK(saver->answered() > 3);
        }
    }
}

TEST_CASE("completions that come before the call returns are as good as late ones") {
    for (const auto durability : durabilities) {
        for (const drivers::Driver& driver : drivers::affordable()) {
            CAPTURE(driver.name);
            const auto saver =
                std::make_shared<LaterSaver>(std::make_shared<sg::MemorySaver>(), 0us, LaterSaver::Answer::at_once);
            CHECK(runWide(driver, wide(saver), durability) == State{"x", {"a", "b", "c", "answer yes", "end"}, 0});
        }
    }
}

TEST_CASE("submitted input is stored without a thread that waits") {
    const auto saver = std::make_shared<LaterSaver>();
    saver->ahead = 1;  // each commit is a put of its own
    const auto app = wide(saver);
    const sg::Config stored = sg::syncWait(app.asyncSubmit(Update{sg::set(&State::foo, "x")}, {.thread_id = "t"}));
    CHECK(saver->waitedFor() == 0);
    CHECK(app.getState({.thread_id = "t"}).config.checkpoint_id == stored.checkpoint_id);
    CHECK(app.invoke(sg::RESUME, {.thread_id = "t"}).interrupts.size() == 1);
}

TEST_CASE("what tasks store while a put is under way is one request after it") {
    const auto inner = std::make_shared<RecordingSaver>();
    const auto saver = std::make_shared<LaterSaver>(inner);
    Graph graph;
    std::atomic<int> ended = 0;
    for (int i = 0; i < 20; ++i) {
        const std::string name = "n" + std::to_string(100 + i);
        graph.addNode(name, [&, i](const State&) -> Task<Update> {
            if (i == 0) saver->close();
            ++ended;
            co_return {sg::add(&State::n, 1)};
        });
        graph.addEdge(sg::START, name);
    }
    graph.addNode("last", [&](const State&) -> Task<Update> {
        while (ended < 20) co_await sg::sleepFor(100us);
        saver->open();
        co_return {sg::add(&State::n, 1)};
    });
    graph.addEdge(sg::START, "last");
    const auto app = graph.compile({.checkpointer = saver});
    CHECK(sg::syncWait(app.asyncInvoke(Update{}, {.thread_id = "t"})).values.n == 21);
    // The input, START, the superstep, and the records, of which some may have begun before the saver was closed or
    // after it was opened.
    CHECK(inner->lines().size() >= 4);
    CHECK(inner->lines().size() <= 8);
}

TEST_CASE("a blocking run with async durability lets a saver that answers later store, without a thread that waits") {
    const auto saver = std::make_shared<LaterSaver>();
    saver->ahead = 1;  // each commit is a put of its own
    const auto app = chainOf(appends("a"), appends("b")).compile({.checkpointer = saver});
    CHECK(app.invoke(Update{}, {.thread_id = "t"}).values.bar == Strings{"a", "b"});
    CHECK(saver->answered() == 4);   // the commits
    CHECK(saver->waitedFor() == 1);  // what the run began with
}

TEST_CASE("a saver without asynchronous calls answers them by its blocking ones") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    sg::testing::FaultSaver saver(inner);
    CHECK_FALSE(saver.answersLater());
    const sg::CheckpointId id{1, 1};
    const sg::CommitRow row{.id = id, .base = id, .bytes = "not a record"};
    const sg::PutRequest request{.log = {"t"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}};
    saver.arm({.fail_at = 1});
    KeptPut refused;
    saver.asyncPut(request, refused);
    CHECK(refused.calls == 1);
    CHECK(refused.failure != nullptr);
    saver.disarm();
    KeptPut stored;
    saver.asyncPut(request, stored);
    CHECK(stored.calls == 1);
    CHECK(stored.failure == nullptr);
    KeptRead read;
    saver.asyncGetTuple({.log = {"t"}}, read);
    CHECK(read.calls == 1);
    REQUIRE(read.tuple.has_value());
    CHECK(read.tuple->id == id);
    saver.arm({.fail_at = 1});
    KeptRead failed;
    saver.asyncGetTuple({.log = {"t"}}, failed);
    CHECK(failed.failure != nullptr);
    CHECK_FALSE(failed.tuple.has_value());
}
