#include <stategraph/memory_saver.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/seed.hpp"

using namespace std::chrono_literals;

namespace stategraph::testing {
namespace {

/// A commit after which a node is due.
TestCommit makeDue(unsigned n, unsigned parent) {
    TestCommit commit = makeCommit(n, parent);
    commit.bytes.clear();
    checkpoint::writeCommit(
        {.id = commit.id, .parent = commit.parent, .base = commit.base, .step = n, .next = {"node"}}, commit.bytes);
    return commit;
}

std::uint64_t bytesOf(MemorySaver& saver) { return saver.storedBytes().value(); }

bool has(BaseCheckpointSaver& saver, std::string_view thread_id) {
    return saver.getTuple({.log = {thread_id}}).has_value();
}

/// Copies the rows into another saver.
void putAllInto(BaseCheckpointSaver& from, BaseCheckpointSaver& to) {
    std::map<std::pair<std::string, std::string>, std::vector<ListedCheckpoint>> logs;
    for (auto& row : from.list({.with_writes = true})) logs[{row.thread_id, row.checkpoint_ns}].push_back(row);
    for (auto& [name, rows] : logs) {
        CheckpointId head;
        for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
            const CommitRow commit{row->id, {}, row->id, row->bytes};
            std::vector<WriteRow> writes;
            for (const auto& write : row->writes) writes.push_back({row->id, write.path, write.bytes});
            to.put(
                {.log = {name.first, name.second}, .expected_head = head, .commits = {&commit, 1}, .writes = writes});
            head = row->id;
        }
    }
}

}  // namespace

TEST_CASE("what a memory saver counts is what it has now, whatever was there before") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto upTo = [&](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
    MemorySaver plain;
    MemorySaver limited({.bytes_max = std::size_t{1} << 40U});
    MemorySaver* const both[] = {&plain, &limited};
    unsigned n = 0;
    for (int round = 0; round < 1500; ++round) {
        const std::string thread_id = "thread " + std::to_string(upTo(9));
        const std::string ns = upTo(2) == 0 ? "child:" + std::to_string(upTo(3)) : "";
        const LogName log{thread_id, ns};
        const unsigned action = upTo(22);
        const std::string text(upTo(200), 'x');
        const std::string path = "pull:" + std::to_string(upTo(2));
        const std::string other = "thread " + std::to_string(upTo(9));
        const std::size_t keep = 1 + upTo(3);
        ++n;
        for (MemorySaver* saver : both) {
            const CheckpointId head = headOf(*saver, log);
            if (action < 10) {
                putOne(*saver, log, head, makeCommit(n, 0, 0, text));
            } else if (action < 15) {
                if (!head.empty()) putWrite(*saver, log, head, head, path, makeTask(head, text.size() % 2 == 0));
            } else if (action == 15) {
                saver->deleteThread(thread_id);
            } else if (action == 16) {
                try {
                    saver->copyThread(thread_id, other);
                } catch (const InvalidArgumentError&) {
                }
            } else if (action == 17) {
                saver->prune({.thread_id = thread_id, .keep_last = keep});
            } else if (action == 18) {
                saver->prune({.keep_last = keep});
            } else if (action == 19) {
                CHECK_THROWS_AS(putOne(*saver, log, nthId(1'000'000), makeCommit(1'000'001, 0)), ConcurrentUpdateError);
            } else if (action > 20) {
                // With a commit, or the summary alone.
                const TestCommit commit = makeCommit(n, 0);
                const CommitRow row = commit.row();
                saver->put({.log = log,
                            .expected_head = head,
                            .commits = {&row, action == 21 ? 1U : 0U},
                            .writes = {},
                            .outlook = {Status::done, {}},
                            .summary = text});
            } else {
                saver->prune({.thread_id = thread_id, .threads_unused_since = nthId(n / 2).time()});
            }
        }
        REQUIRE(bytesOf(plain) == bytesOf(limited));
    }
    MemorySaver fresh;
    putAllInto(plain, fresh);
    std::size_t summaries = 0;  // which are not rows
    const auto threads = plain.newestThreads({.with_summaries = true});
    for (const IndexedThread& thread : *threads) summaries += thread.summary->size();
    CHECK(bytesOf(fresh) + summaries == bytesOf(plain));
    CHECK(bytesOf(plain) > 0);
    for (MemorySaver* saver : both) {
        for (int i = 0; i < 10; ++i) saver->deleteThread("thread " + std::to_string(i));
        CHECK(bytesOf(*saver) == 0);
    }
}

TEST_CASE("a memory saver counts rows, names and the finding of them") {
    MemorySaver saver;
    CHECK(bytesOf(saver) == 0);
    const TestCommit commit = makeCommit(1, 0, 0, std::string(5000, 'x'));
    putOne(saver, {"t"}, {}, commit);
    const std::uint64_t one = bytesOf(saver);
    CHECK(one > commit.bytes.size());
    CHECK(one < commit.bytes.size() + 2000);
    putOne(saver, {"a thread with a longer name"}, {}, commit);
    CHECK(bytesOf(saver) == 2 * one + std::string("a thread with a longer name").size() - 1);
    putWrite(saver, {"t"}, nthId(1), nthId(1), "p", std::string(300, 'x'));
    const std::uint64_t with_write = bytesOf(saver);
    putWrite(saver, {"t"}, nthId(1), nthId(1), "p", std::string(200, 'x'));
    CHECK(bytesOf(saver) == with_write - 100);
}

TEST_CASE("a full memory saver refuses, says what to do, stores nothing of the put and continues") {
    MemorySaver saver({.bytes_max = 10'000});
    const TestCommit first = makeCommit(1, 0, 0, std::string(4000, 'x'));
    putOne(saver, {"t"}, {}, first);
    const std::uint64_t before = bytesOf(saver);
    const TestCommit second = makeCommit(2, 1, 0, std::string(3000, 'x'));
    const TestCommit third = makeCommit(3, 2, 0, std::string(3000, 'x'));
    const CommitRow rows[] = {second.row(), third.row()};
    const WriteRow write{nthId(1), "path", first.bytes};
    try {
        saver.put({.log = {"t"}, .expected_head = nthId(1), .commits = rows, .writes = {&write, 1}});
        FAIL("it was stored");
    } catch (const SaverError& error) {
        CHECK(error.context().thread_id == "t");
        for (const char* part :
             {"of at most 10000 bytes", "more do not fit", "Prune", "retention", "evict", "bytes_max"}) {
            CAPTURE(part);
            CHECK(error.message().find(part) != std::string::npos);
        }
        CHECK(error.message().find("keeps " + std::to_string(before) + " of") != std::string::npos);
    }
    CHECK(bytesOf(saver) == before);
    CHECK(saver.list({.with_writes = true}).size() == 1);
    CHECK(saver.list({.with_writes = true}).at(0).writes.empty());

    putOne(saver, {"t"}, nthId(1), second);
    CHECK_THROWS_AS(putOne(saver, {"t"}, nthId(2), third), SaverError);
    CHECK_THROWS_AS(saver.copyThread("t", "u"), SaverError);
    CHECK_FALSE(has(saver, "u"));
    CHECK(saver.prune({.keep_last = 1}) == 1);
    putOne(saver, {"t"}, nthId(2), third);
    CHECK(listIds(saver, {"t"}) == nthIds({3, 2}));
    CHECK(bytesOf(saver) <= 10'000);
    CHECK(saver.evictedThreads() == 0);
}

TEST_CASE("a limit of nothing is an error") {
    CHECK_THROWS_AS(MemorySaver({.bytes_max = 0}), InvalidArgumentError);
    CHECK_THROWS_AS(MemorySaver({.bytes_max = 0, .when_full = WhenFull::evict}), InvalidArgumentError);
}

TEST_CASE("eviction drops the threads that are unused for longest until a tenth of the limit is free") {
    constexpr std::size_t limit = 100'000;
    MemorySaver saver({.bytes_max = limit, .when_full = WhenFull::evict});
    // Later ids come first, so that neither the name nor the order of insertion matters.
    std::vector<unsigned> numbers;
    const auto name = [](unsigned n) { return "thread " + std::to_string(n); };
    const auto put = [&](unsigned n) { putOne(saver, {name(n)}, {}, makeCommit(n, 0, 0, std::string(1000, 'x'))); };
    for (unsigned n = 1000; saver.evictedThreads() == 0; n -= 7) {
        put(n);
        numbers.push_back(n);
        CHECK(bytesOf(saver) <= limit);
    }
    CHECK(bytesOf(saver) <= limit / 10 * 9);
    CHECK(bytesOf(saver) > limit / 10 * 8);
    // The last one stored is the oldest one, but it was being written to.
    CHECK(has(saver, name(numbers.back())));
    numbers.pop_back();
    const std::size_t evicted = saver.evictedThreads();
    REQUIRE(evicted < numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
        CHECK(has(saver, name(numbers[i])) == (i < numbers.size() - evicted));
}

TEST_CASE("eviction never drops a thread in which something is due or asked, or that cannot be read") {
    MemorySaver saver({.bytes_max = 60'000, .when_full = WhenFull::evict});
    const std::string text(1000, 'x');
    putOne(saver, {"due"}, {}, makeDue(1, 0));
    putOne(saver, {"due in a subgraph"}, {}, makeCommit(1, 0));
    putOne(saver, {"due in a subgraph", "child"}, {}, makeDue(1, 0));
    putOne(saver, {"asks"}, {}, makeCommit(1, 0));
    putWrite(saver, {"asks"}, nthId(1), nthId(1), "path", makeTask(nthId(1), true));
    putOne(saver, {"asked once"}, {}, makeCommit(1, 0));
    putWrite(saver, {"asked once"}, nthId(1), nthId(1), "path", makeTask(nthId(1), false));
    TestCommit damaged = makeCommit(1, 0, 0, text);
    damaged.bytes.back() ^= 1;
    putOne(saver, {"damaged"}, {}, damaged);
    putOne(saver, {"written to"}, {}, makeCommit(1, 0));
    for (unsigned n = 2; saver.evictedThreads() < 100; ++n) {
        putOne(saver, {"finished " + std::to_string(n)}, {}, makeCommit(n, 0, 0, text));
        if (n % 10 == 0) putOne(saver, {"written to"}, headOf(saver, {"written to"}), makeCommit(n, 0));
    }
    for (const char* thread_id : {"due", "due in a subgraph", "asks", "damaged", "written to"}) {
        CAPTURE(thread_id);
        CHECK(has(saver, thread_id));
    }
    CHECK_FALSE(has(saver, "asked once"));
    CHECK_FALSE(has(saver, "finished 2"));
}

TEST_CASE("where eviction cannot make enough room the put is refused") {
    MemorySaver saver({.bytes_max = 20'000, .when_full = WhenFull::evict});
    putOne(saver, {"finished"}, {}, makeCommit(1, 0));
    CHECK_THROWS_AS(putOne(saver, {"t"}, {}, makeCommit(1, 0, 0, std::string(30'000, 'x'))), SaverError);
    CHECK(has(saver, "finished"));  // nothing is dropped for an entry that cannot fit at all
    unsigned n = 0;
    const auto fill = [&] {
        for (;;) {
            ++n;
            putOne(saver, {"due " + std::to_string(n)}, {}, makeDue(n, 0));
        }
    };
    try {
        fill();
    } catch (const SaverError& error) {
        CHECK(error.message().find("evicting finished threads") != std::string::npos);
        CHECK(error.context().thread_id == "due " + std::to_string(n));
    }
    CHECK(n > 5);
    CHECK_FALSE(has(saver, "finished"));
    CHECK_FALSE(has(saver, "due " + std::to_string(n)));
    CHECK(saver.list({}).size() == n - 1);
    saver.deleteThread("due 1");
    saver.deleteThread("due 2");
    putOne(saver, {"due " + std::to_string(n)}, {}, makeDue(n, 0));
    CHECK(saver.evictedThreads() == 1);
}

TEST_CASE("a copy makes room by eviction and spares the thread that it copies") {
    MemorySaver saver({.bytes_max = 20'000, .when_full = WhenFull::evict});
    putOne(saver, {"source"}, {}, makeCommit(1, 0, 0, std::string(7000, 'x')));
    putOne(saver, {"other"}, {}, makeCommit(2, 0, 0, std::string(7000, 'x')));
    saver.copyThread("source", "copy");
    CHECK(has(saver, "source"));
    CHECK_FALSE(has(saver, "other"));
    CHECK(listIds(saver, {"copy"}) == nthIds({1}));
    saver.deleteThread("source");
    saver.deleteThread("copy");
    CHECK(bytesOf(saver) == 0);
}

TEST_CASE("a run on a thread that was evicted before its first commit gets an error that says so") {
    MemorySaver saver({.bytes_max = 10'000, .when_full = WhenFull::evict});
    putOne(saver, {"t"}, {}, makeCommit(1, 0, 0, std::string(5000, 'x')));
    putOne(saver, {"u"}, {}, makeCommit(2, 0, 0, std::string(6000, 'x')));
    CHECK_FALSE(has(saver, "t"));
    CHECK_THROWS_AS(putOne(saver, {"t"}, nthId(1), makeCommit(3, 1)), ConcurrentUpdateError);
    putOne(saver, {"t"}, {}, makeCommit(3, 0));
    CHECK(has(saver, "t"));
}

TEST_CASE("graphs run on in a memory saver that evicts, and their open questions stay") {
    const auto saver =
        std::make_shared<MemorySaver>(MemorySaverOptions{.bytes_max = 100'000, .when_full = WhenFull::evict});
    graphs::Graph graph;
    graph
        .addNode("work",
                 [](const graphs::State&, Runtime& runtime) -> graphs::Update {
                     if (runtime.threadId() == "asks")
                         return {set(&graphs::State::foo, interrupt<std::string>(runtime, "which?"))};
                     return {add(&graphs::State::bar, std::string(500, 'x'))};
                 })
        .addEdge(START, "work")
        .addEdge("work", END);
    const graphs::App app = graph.compile({.checkpointer = saver});
    CHECK((app.invoke({set(&graphs::State::foo, "")}, {.thread_id = "asks"}).status == Status::interrupted));
    for (int i = 0; i < 200; ++i) {
        const auto result = app.invoke({set(&graphs::State::foo, "")}, {.thread_id = "thread " + std::to_string(i)});
        CHECK((result.status == Status::done));
        CHECK(bytesOf(*saver) <= 100'000);
    }
    CHECK(saver->evictedThreads() > 0);
    CHECK(app.invoke(graphs::Command{.resume = "this"}, {.thread_id = "asks"}).values.foo == "this");
}

TEST_CASE("threads that write, copy, delete and prune while others evict never exceed the limit") {
    constexpr std::size_t limit = 150'000;
    MemorySaver saver({.bytes_max = limit,
                       .when_full = WhenFull::evict,
                       .retention = RetentionOptions{.keep_last = 3, .every = 1ms}});
    std::atomic<std::uint64_t> stored{0};
    std::atomic<std::uint64_t> too_much{0};
    const auto work = [&](unsigned who) {
        for (unsigned i = 0; i < 400; ++i) {
            const std::string own = "own " + std::to_string(who) + " " + std::to_string(i % 60);
            const std::string shared = "shared " + std::to_string(i % 5);
            for (const auto& thread_id : {own, shared}) {
                try {
                    putOne(saver, {thread_id}, headOf(saver, {thread_id}),
                           makeCommit(1 + i * 4 + who, 0, 0, std::string(700, 'x')));
                    ++stored;
                } catch (const ConcurrentUpdateError&) {
                } catch (const InvalidArgumentError&) {  // the other writer's id is greater
                }
            }
            too_much += bytesOf(saver) > limit;
            if (i % 50 == 7) saver.deleteThread(own);
            if (i % 50 == 9) {
                try {
                    saver.copyThread(shared, own + " copy");
                } catch (const InvalidArgumentError&) {
                }
            }
            if (i % 100 == 11) saver.prune({.keep_last = 1});
        }
    };
    std::vector<std::thread> threads;
    for (unsigned who = 0; who < 4; ++who) threads.emplace_back(work, who);
    for (auto& thread : threads) thread.join();
    CHECK(stored > 800);
    CHECK(too_much == 0);
    CHECK(saver.evictedThreads() > 0);
    for (const auto& row : saver.list({.heads = true})) saver.deleteThread(row.thread_id);
    CHECK(bytesOf(saver) == 0);
}

TEST_CASE("writers that are refused together leave the count as it is") {
    MemorySaver saver({.bytes_max = 50'000});
    std::atomic<unsigned> refused{0};
    std::vector<std::thread> threads;
    for (unsigned who = 0; who < 4; ++who) {
        threads.emplace_back([&, who] {
            for (unsigned i = 1; i <= 200; ++i) {
                try {
                    putOne(saver, {"thread " + std::to_string(who) + " " + std::to_string(i)}, {}, makeCommit(i, 0));
                } catch (const SaverError&) {
                    ++refused;
                }
            }
        });
    }
    for (auto& thread : threads) thread.join();
    const auto rows = saver.list({});
    CHECK(rows.size() + refused == 800);
    CHECK(rows.size() > 20);
    MemorySaver fresh;
    putAllInto(saver, fresh);
    CHECK(bytesOf(saver) == bytesOf(fresh));
}

}  // namespace stategraph::testing
