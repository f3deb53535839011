#pragma once
#include <algorithm>
#include <atomic>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Several writers of one log: which are refused, and the resulting log.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("a second writer is refused and nothing of it is stored", Factory, saver_compare_and_swap) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 2);
    const TestCommit late = makeCommit(3, 1);
    const CommitRow row = late.row();
    const WriteRow write{nthId(1), "p", "bytes"};
    const auto refuses = [&](CheckpointId expected, std::span<const CommitRow> commits,
                             std::span<const WriteRow> writes) {
        CHECK_THROWS_AS(saver->put({.log = log, .expected_head = expected, .commits = commits, .writes = writes}),
                        ConcurrentUpdateError);
    };
    refuses(nthId(1), {&row, 1}, {&write, 1});
    refuses({}, {&row, 1}, {});
    refuses(nthId(1), {}, {&write, 1});
    refuses({}, {}, {&write, 1});
    refuses(nthId(1), {}, {});
    CHECK_THROWS_AS(putOne(*saver, {"new"}, nthId(1), makeCommit(3, 1)), ConcurrentUpdateError);
    CHECK(listIds(*saver, log) == nthIds({2, 1}));
    CHECK(saver->getTuple({.log = log, .checkpoint_id = nthId(1)})->writes.empty());
    CHECK(saver->list({.thread_id = "new"}).empty());
    // The rightful writer continues.
    CHECK_NOTHROW(putOne(*saver, log, nthId(2), makeCommit(3, 2)));
    CHECK(headOf(*saver, log) == nthId(3));
}

TEST_CASE_TEMPLATE_DEFINE("a commit on a checkpoint that was pruned meanwhile is refused", Factory,
                          saver_pruned_ancestors) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putOne(*saver, log, {}, makeCommit(1, 0));
    putOne(*saver, log, nthId(1), makeCommit(2, 1, 1));
    putOne(*saver, log, nthId(2), makeCommit(3, 2, 0));
    putOne(*saver, log, nthId(3), makeCommit(4, 3, 3));
    CHECK(saver->prune({.keep_last = 1, .rewrite = Rewrite::never}) == 2);
    CHECK_THROWS_AS(putOne(*saver, log, nthId(4), makeCommit(5, 2, 1)), ConcurrentUpdateError);
    CHECK(listIds(*saver, log) == nthIds({4, 3}));
    CHECK_NOTHROW(putOne(*saver, log, nthId(4), makeCommit(5, 3, 3)));  // a fork of an existing commit
    CHECK_NOTHROW(putOne(*saver, log, nthId(5), makeCommit(6, 2)));     // it needs no other commit
    CHECK(saver->getTuple({.log = log})->id == nthId(6));
}

TEST_CASE_TEMPLATE_DEFINE("commits of one put may branch off each other, and off what is pruned they may not", Factory,
                          saver_put_branches) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    const auto put = [&](CheckpointId head, std::span<const TestCommit> commits) {
        std::vector<CommitRow> rows;
        for (const TestCommit& commit : commits) rows.push_back(commit.row());
        saver->put({.log = log, .expected_head = head, .commits = rows, .writes = {}});
    };
    // In the form in which an import puts a thread with forks: 3 and 5 are forks of 1 and 2.
    const TestCommit whole[] = {makeCommit(1, 0), makeCommit(2, 1, 1), makeCommit(3, 1, 1), makeCommit(4, 3, 1),
                                makeCommit(5, 2, 1)};
    REQUIRE_NOTHROW(put({}, whole));
    CHECK(listIds(*saver, log) == nthIds({5, 4, 3, 2, 1}));
    const auto fork = saver->getTuple({.log = log, .checkpoint_id = nthId(5)});
    REQUIRE(fork);
    CHECK(readHeader({"t", "", nthId(5)}, fork->commits.back().bytes).parent == nthId(2));
    // The second one forks from the head, and the third from a commit that the log had before.
    const TestCommit more[] = {makeCommit(6, 5, 1), makeCommit(7, 5, 1), makeCommit(8, 3, 1)};
    REQUIRE_NOTHROW(put(nthId(5), more));
    CHECK(headOf(*saver, log) == nthId(8));
    const TestCommit gone[] = {makeCommit(10, 8, 1), makeCommit(11, 9, 1)};
    CHECK_THROWS_AS(put(nthId(8), gone), ConcurrentUpdateError);
    CHECK(headOf(*saver, log) == nthId(8));
}

TEST_CASE_TEMPLATE_DEFINE("the head is the newest commit and not the parent, so a fork does not fork by accident",
                          Factory, saver_forks) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 3);
    CHECK_THROWS_AS(putOne(*saver, log, nthId(1), makeCommit(4, 1)), ConcurrentUpdateError);
    putOne(*saver, log, nthId(3), makeCommit(4, 1, 1));
    CHECK_THROWS_AS(putOne(*saver, log, nthId(3), makeCommit(5, 3)), ConcurrentUpdateError);
    putOne(*saver, log, nthId(4), makeCommit(5, 3));
    const auto fork = saver->getTuple({.log = log, .checkpoint_id = nthId(4)});
    REQUIRE(fork);
    CHECK(idsOf(fork->commits) == nthIds({1, 2, 3, 4}));
    CHECK(readHeader({"t", "", nthId(4)}, fork->commits.back().bytes).parent == nthId(1));
    REQUIRE(fork->next);
    CHECK(fork->next->id == nthId(5));
}

TEST_CASE_TEMPLATE_DEFINE("a writer that was frozen while another continued is refused, and the chain has one tip",
                          Factory, saver_frozen_writer) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 2);
    // Both have read 2 as the head. The first one freezes before it writes, and knows nothing of what follows.
    putOne(*saver, log, nthId(2), makeCommit(3, 2));
    putWrite(*saver, log, nthId(3), nthId(3), "p", "the other's");
    putOne(*saver, log, nthId(3), makeCommit(4, 3));

    CHECK_THROWS_AS(putWrite(*saver, log, nthId(2), nthId(2), "p", "late"), ConcurrentUpdateError);
    const TestCommit stale = makeCommit(3, 2, 0, "late");
    CHECK_THROWS_AS(putOne(*saver, log, nthId(2), stale), ConcurrentUpdateError);
    CHECK_THROWS_AS(putOne(*saver, log, nthId(2), makeCommit(5, 2)), ConcurrentUpdateError);
    CHECK_THROWS_AS(putOne(*saver, log, nthId(3), makeCommit(5, 3)), ConcurrentUpdateError);

    std::set<CheckpointId> tips;
    for (const auto& row : saver->list({.thread_id = "t"})) tips.insert(row.id);
    CHECK(tips.size() == 4);
    for (const auto& row : saver->list({.thread_id = "t"})) tips.erase(readLinks({"t", "", row.id}, row.bytes).parent);
    CHECK((tips == std::set<CheckpointId>{nthId(4)}));
    CHECK(writesOf(*saver, log, 2).empty());
    CHECK(writesOf(*saver, log, 3).at(0).bytes == "the other's");
    CHECK(saver->getTuple({.log = log, .checkpoint_id = nthId(3)})->commits.at(0).bytes == makeCommit(3, 2).bytes);
}

TEST_CASE_TEMPLATE_DEFINE("two writers with equal clocks do not overwrite each other", Factory, saver_equal_clocks) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 2);
    const auto commitOf = [](unsigned writer, CheckpointId parent) {
        return makeCommit({.id = nthId(3, writer), .parent = parent, .step = writer});
    };
    putOne(*saver, log, nthId(2), commitOf(2, nthId(2)));
    CHECK_THROWS_AS(putOne(*saver, log, nthId(2), commitOf(1, nthId(2))), ConcurrentUpdateError);
    CHECK_THROWS_AS(putOne(*saver, log, nthId(2), commitOf(3, nthId(2))), ConcurrentUpdateError);
    // After another read: a commit's id must be greater than the head's.
    CHECK_THROWS_AS(putOne(*saver, log, nthId(3, 2), commitOf(1, nthId(3, 2))), InvalidArgumentError);
    CHECK_THROWS_AS(putOne(*saver, log, nthId(3, 2), commitOf(2, nthId(2))), InvalidArgumentError);
    putOne(*saver, log, nthId(3, 2), commitOf(3, nthId(3, 2)));
    putWrite(*saver, log, nthId(3, 3), nthId(3, 2), "p", makeTask(nthId(3, 2), false));
    putWrite(*saver, log, nthId(3, 3), nthId(3, 3), "p", makeTask(nthId(3, 3), false));

    const std::vector<CheckpointId> expected{nthId(3, 3), nthId(3, 2), nthId(2), nthId(1)};
    CHECK((listIds(*saver, log) == expected));
    const auto first = saver->getTuple({.log = log, .before = nthId(3, 3)});
    REQUIRE(first);
    CHECK(first->id == nthId(3, 2));
    CHECK(first->writes.at(0).bytes == makeTask(nthId(3, 2), false));
    REQUIRE(first->next);
    CHECK(first->next->id == nthId(3, 3));
    CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(3, 1)}));
    CHECK(saver->prune({.older_than = nthId(3).time()}) == 2);
    CHECK(listIds(*saver, log).size() == 2);
}

TEST_CASE_TEMPLATE_DEFINE("of two threads that race for a head exactly one wins each round", Factory, saver_race) {
    constexpr unsigned rounds = 250;
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    std::atomic<unsigned> ready{0};
    std::atomic<unsigned> done{0};
    std::vector<std::atomic<unsigned>> wins(rounds + 1);
    std::atomic<bool> failed{false};
    const auto race = [&](unsigned racer) {
        const std::string text = "racer " + std::to_string(racer);
        for (unsigned n = 1; n <= rounds; ++n) {
            const TestCommit commit = makeCommit(n, n - 1, 0, text);
            ++ready;
            while (ready < 2 * n) std::this_thread::yield();
            try {
                putOne(*saver, log, n > 1 ? nthId(n - 1) : CheckpointId(), commit);
                ++wins[n];
            } catch (const ConcurrentUpdateError&) {
            } catch (...) {
                failed = true;
            }
            ++done;
            while (done < 2 * n) std::this_thread::yield();
        }
    };
    std::thread other(race, 1);
    race(2);
    other.join();
    CHECK_FALSE(failed);
    unsigned once = 0;
    for (unsigned n = 1; n <= rounds; ++n) once += wins[n] == 1;
    CHECK(once == rounds);
    CHECK(listIds(*saver, log).size() == rounds);
}

TEST_CASE_TEMPLATE_DEFINE("a pending write that races with a commit is stored before it or refused", Factory,
                          saver_write_race) {
    constexpr unsigned rounds = 100;
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 1);
    std::atomic<unsigned> ready{0};
    std::atomic<bool> failed{false};
    std::vector<char> is_stored(rounds + 2);
    std::thread other([&] {
        for (unsigned n = 2; n <= rounds + 1; ++n) {
            ++ready;
            while (ready < 2 * (n - 1)) std::this_thread::yield();
            try {
                putWrite(*saver, log, nthId(n - 1), nthId(n - 1), "p", "bytes");
                is_stored[n - 1] = 1;
            } catch (const ConcurrentUpdateError&) {
            } catch (...) {
                failed = true;
            }
        }
    });
    for (unsigned n = 2; n <= rounds + 1; ++n) {
        ++ready;
        while (ready < 2 * (n - 1)) std::this_thread::yield();
        try {
            putOne(*saver, log, nthId(n - 1), makeCommit(n, n - 1));
        } catch (...) {
            failed = true;
        }
    }
    other.join();
    CHECK_FALSE(failed);
    unsigned wrong = 0;
    for (unsigned n = 1; n <= rounds; ++n)
        wrong += writesOf(*saver, log, n).size() != static_cast<std::size_t>(is_stored[n]);
    CHECK(wrong == 0);
    CHECK(listIds(*saver, log).size() == rounds + 1);
}

TEST_CASE_TEMPLATE_DEFINE("threads that write to logs of their own do not disturb each other", Factory,
                          saver_parallel) {
    Factory factory;
    const auto saver = factory.make();
    std::atomic<unsigned> wrong{0};
    const auto work = [&](unsigned worker) {
        const std::string thread_id = "t" + std::to_string(worker / 2);
        const std::string ns = worker % 2 ? "child" : "";
        const LogName log{thread_id, ns};
        try {
            for (unsigned n = 1; n <= 200; ++n) {
                const CheckpointId head = n > 1 ? nthId(n - 1) : CheckpointId();
                putOne(*saver, log, head, makeCommit(n, n - 1, 1));
                putWrite(*saver, log, nthId(n), nthId(n), "p", "x");
                const auto tuple = saver->getTuple({.log = log});
                wrong += !tuple || tuple->id != nthId(n) || tuple->commits.size() != n || tuple->writes.size() != 1;
                if (n % 50 == 0) wrong += saver->list({.thread_id = thread_id, .checkpoint_ns = ns}).size() != n;
            }
        } catch (...) {
            ++wrong;
        }
    };
    std::vector<std::thread> workers;
    for (unsigned worker = 0; worker < 4; ++worker) workers.emplace_back(work, worker);
    for (unsigned n = 0; n < 50; ++n) {
        saver->list({.limit = 10, .with_writes = true});
        saver->deleteThread("bystander");
        putLine(*saver, {"bystander"}, 2);
        saver->prune({.thread_id = "bystander", .keep_last = 1});
    }
    for (auto& worker : workers) worker.join();
    CHECK(wrong == 0);
}

}  // namespace stategraph::testing
