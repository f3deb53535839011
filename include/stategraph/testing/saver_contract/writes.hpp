#pragma once
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Pending writes: to which checkpoint they belong, what they replace, and those that are stored only if no other writer
// came first.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("a pending write belongs to its checkpoint and path, and replaces what was there", Factory,
                          saver_pending_writes) {
    using namespace std::string_literals;
    Factory factory;
    const auto saver = factory.make();
    putLine(*saver, {"t"}, 2);
    putLine(*saver, {"t", "child"}, 2);
    const auto writesOf = [&](const LogName& log, unsigned n) {
        const auto tuple = saver->getTuple({.log = log, .checkpoint_id = nthId(n)});
        REQUIRE(tuple);
        return tuple->writes;
    };
    putWrite(*saver, {"t"}, nthId(2), nthId(2), "p", "first");
    putWrite(*saver, {"t"}, nthId(2), nthId(2), "p", "second, which is longer");
    putWrite(*saver, {"t"}, nthId(2), nthId(2), "p", "second, which is longer");
    putWrite(*saver, {"t"}, nthId(2), nthId(2), "p\0x"s, "other");
    putWrite(*saver, {"t"}, nthId(2), nthId(2), "\xFF", "last");
    putWrite(*saver, {"t"}, nthId(2), nthId(1), "old", "at an older checkpoint");
    const auto writes = writesOf({"t"}, 2);
    REQUIRE(writes.size() == 3);
    CHECK(writes[0].path == "p");
    CHECK(writes[0].bytes == "second, which is longer");
    CHECK(writes[1].path == "p\0x"s);
    CHECK(writes[2].path == "\xFF");
    REQUIRE(writesOf({"t"}, 1).size() == 1);
    CHECK(writesOf({"t"}, 1)[0].bytes == "at an older checkpoint");
    CHECK(writesOf({"t", "child"}, 2).empty());

    putOne(*saver, {"t"}, nthId(2), makeCommit(3, 2));
    CHECK(writesOf({"t"}, 3).empty());
    CHECK(writesOf({"t"}, 2).size() == 3);
    CHECK(saver->list({.thread_id = "t", .checkpoint_ns = "", .with_writes = false})[1].writes.empty());
    const auto listed = saver->list({.thread_id = "t", .checkpoint_ns = "", .with_writes = true});
    REQUIRE(listed.size() == 3);
    CHECK(listed[0].writes.empty());
    REQUIRE(listed[1].writes.size() == 3);
    CHECK(listed[1].writes[0].bytes == "second, which is longer");
    CHECK(listed[2].writes.size() == 1);
}

TEST_CASE_TEMPLATE_DEFINE("a conditional pending write is stored only over the row that its writer saw", Factory,
                          saver_conditional_writes) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 2);
    const auto put = [&](const std::vector<WriteRow>& rows) { saver->putWrites(log, nthId(2), rows); };
    const auto bytesAt = [&](unsigned n, std::string_view path) {
        for (const auto& write : writesOf(*saver, log, n)) {
            if (write.path == path) return write.bytes;
        }
        return std::string("(none)");
    };
    CHECK_THROWS_AS(put({{nthId(2), "p", "late", "first"}}), ConcurrentUpdateError);
    CHECK(bytesAt(2, "p") == "(none)");
    put({{nthId(2), "p", "first", ""}});
    CHECK(bytesAt(2, "p") == "first");
    CHECK_THROWS_AS(put({{nthId(2), "p", "second", ""}}), ConcurrentUpdateError);
    CHECK_THROWS_AS(put({{nthId(2), "p", "second", "firs"}}), ConcurrentUpdateError);
    CHECK_THROWS_AS(put({{nthId(2), "p", "second", "first "}}), ConcurrentUpdateError);
    CHECK(bytesAt(2, "p") == "first");
    put({{nthId(2), "p", "second", "first"}});
    CHECK(bytesAt(2, "p") == "second");
    // A row of the same path in another checkpoint is a different row.
    put({{nthId(1), "p", "older", ""}});
    CHECK(bytesAt(1, "p") == "older");
    CHECK(bytesAt(2, "p") == "second");

    // A request is stored as a whole or not at all, including plain rows and commits.
    CHECK_THROWS_AS(put({{nthId(2), "plain", "x"}, {nthId(2), "p", "third", "first"}}), ConcurrentUpdateError);
    const TestCommit commit = makeCommit(3, 2);
    const CommitRow row = commit.row();
    const std::vector<WriteRow> stale{{nthId(2), "p", "third", "first"}};
    CHECK_THROWS_AS(saver->put({.log = log, .expected_head = nthId(2), .commits = {&row, 1}, .writes = stale}),
                    ConcurrentUpdateError);
    CHECK(bytesAt(2, "plain") == "(none)");
    CHECK(bytesAt(2, "p") == "second");
    CHECK(headOf(*saver, log) == nthId(2));
    // The head is compared too.
    CHECK_THROWS_AS(saver->putWrites(log, nthId(1), std::vector<WriteRow>{{nthId(2), "p", "third", "second"}}),
                    ConcurrentUpdateError);
    const std::vector<WriteRow> fresh{{nthId(2), "p", "third", "second"}, {nthId(2), "plain", "x"}};
    saver->put({.log = log, .expected_head = nthId(2), .commits = {&row, 1}, .writes = fresh});
    CHECK(bytesAt(2, "p") == "third");
    CHECK(bytesAt(2, "plain") == "x");
    CHECK(headOf(*saver, log) == nthId(3));
    // A row without bytes exists, although its bytes look the same as those of no row.
    putWrite(*saver, log, nthId(3), nthId(3), "empty", "");
    CHECK_THROWS_AS(saver->putWrites(log, nthId(3), std::vector<WriteRow>{{nthId(3), "empty", "x", ""}}),
                    ConcurrentUpdateError);
    // The same in a log that does not exist yet.
    CHECK_THROWS_AS(saver->putWrites({"new"}, {}, std::vector<WriteRow>{{nthId(1), "p", "x", "y"}}),
                    ConcurrentUpdateError);
    CHECK_NOTHROW(saver->putWrites({"new"}, {}, std::vector<WriteRow>{{nthId(1), "p", "x", ""}}));
}

TEST_CASE_TEMPLATE_DEFINE("of conditional pending writes that race for a row exactly one wins each round", Factory,
                          saver_conditional_race) {
    constexpr unsigned rounds = 100;
    constexpr unsigned racers = 3;
    Factory factory;
    const auto saver = factory.make();
    putLine(*saver, {"t"}, 1);
    std::atomic<unsigned> ready{0};
    std::vector<std::atomic<unsigned>> wins(rounds);
    std::atomic<bool> failed{false};
    const auto race = [&](unsigned racer) {
        for (unsigned n = 0; n < rounds; ++n) {
            const std::string path = std::to_string(n);
            const std::string bytes = "racer " + std::to_string(racer);
            const std::vector<WriteRow> rows{{nthId(1), path, bytes, ""}};
            ++ready;
            while (ready < racers * (n + 1)) std::this_thread::yield();
            try {
                saver->putWrites({"t"}, nthId(1), rows);
                wins[n] += racer;
            } catch (const ConcurrentUpdateError&) {
            } catch (...) {
                failed = true;
            }
            try {  // sometimes also a plain write of a row that only this writer uses
                putWrite(*saver, {"t"}, nthId(1), nthId(1), "own " + bytes, path);
            } catch (...) {
                failed = true;
            }
        }
    };
    std::vector<std::thread> others;
    for (unsigned racer = 2; racer <= racers; ++racer) others.emplace_back(race, racer);
    race(1);
    for (auto& other : others) other.join();
    CHECK_FALSE(failed);
    unsigned right = 0;
    for (const auto& write : writesOf(*saver, {"t"}, 1)) {
        if (write.path.starts_with("own ")) continue;
        right += write.bytes == "racer " + std::to_string(wins[std::stoul(write.path)]);
    }
    CHECK(right == rounds);
}

TEST_CASE_TEMPLATE_DEFINE("a writer that reads a row and writes it conditionally loses no other writer's change",
                          Factory, saver_conditional_count) {
    constexpr unsigned workers = 3;
    constexpr unsigned changes = 100;
    Factory factory;
    const auto saver = factory.make();
    putLine(*saver, {"t", "child"}, 1);
    std::atomic<bool> failed{false};
    const auto work = [&] {
        try {
            for (unsigned done = 0; done < changes;) {
                const auto writes = writesOf(*saver, {"t", "child"}, 1);
                const std::string seen = writes.empty() ? "" : writes[0].bytes;
                const std::string next = std::to_string(seen.empty() ? 1 : std::stoul(seen) + 1);
                try {
                    saver->putWrites({"t", "child"}, nthId(1), std::vector<WriteRow>{{nthId(1), "count", next, seen}});
                    ++done;
                } catch (const ConcurrentUpdateError&) {
                }
            }
        } catch (...) {
            failed = true;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < workers; ++i) threads.emplace_back(work);
    for (auto& thread : threads) thread.join();
    CHECK_FALSE(failed);
    const auto writes = writesOf(*saver, {"t", "child"}, 1);
    REQUIRE(writes.size() == 1);
    CHECK(writes[0].bytes == std::to_string(workers * changes));
}

}  // namespace stategraph::testing
