#pragma once
#include <atomic>
#include <concepts>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>

#include "checkpoint/record.hpp"

// The contract of BaseCheckpointSaver as doctest cases, for the tests of any saver:
//
//   struct MyFactory {
//       std::unique_ptr<BaseCheckpointSaver> make();      // an empty one
//       std::unique_ptr<BaseCheckpointSaver> reopen();    // optional: on what make()'s stored, which is gone by then
//   };
//   STATEGRAPH_SAVER_CONTRACT(MyFactory)
namespace stategraph::testing {

template <typename Factory>
concept CanReopen = requires(Factory& factory) {
    { factory.reopen() } -> std::convertible_to<std::unique_ptr<BaseCheckpointSaver>>;
};

/// The n-th id of a log, n milliseconds after a fixed time.
inline CheckpointId nthId(unsigned n) {
    return {((1'700'000'000'000ULL + n) << 16U) | 0x7000U, 0x8000'0000'0000'0042ULL};
}

/// A commit that owns its bytes.
struct TestCommit {
    CheckpointId id;
    CheckpointId parent;
    CheckpointId base;
    std::string bytes;
    CommitRow row() const { return {id, parent, base, bytes}; }
};

/// Base 0: itself. Parent 0: none.
inline TestCommit makeCommit(unsigned n, unsigned parent, unsigned base = 0, std::string_view text = "value") {
    TestCommit commit{nthId(n), parent ? nthId(parent) : CheckpointId(), base ? nthId(base) : nthId(n), {}};
    std::string operations;
    Encoder encoder(operations);
    encoder.map(1);
    checkpoint::writeLoggedOp(encoder, "channel", checkpoint::LogOp::set);
    encoder.text(text);
    checkpoint::writeCommit(
        {.id = commit.id, .parent = commit.parent, .base = commit.base, .step = n, .operations = operations},
        commit.bytes);
    return commit;
}

/// The record of a task that finished, or that waits at an interrupt.
inline std::string makeTask(CheckpointId id, bool waits) {
    std::string text;
    Encoder(text).text("question");
    std::string none;
    Encoder(none).array(0);
    checkpoint::TaskFields task{.node = "node"};
    if (waits) {
        task.interrupts.push_back({TaskId(1, 2), 0, text});
    } else {
        task.writes = none;
    }
    std::string bytes;
    checkpoint::writeTask(id, task, bytes);
    return bytes;
}

inline void putOne(BaseCheckpointSaver& saver, const LogName& log, CheckpointId head, const TestCommit& commit,
                   bool sync = false) {
    const CommitRow row = commit.row();
    saver.put({.log = log, .expected_head = head, .commits = {&row, 1}, .writes = {}, .sync = sync});
}

inline void putWrite(BaseCheckpointSaver& saver, const LogName& log, CheckpointId head, CheckpointId id,
                     std::string_view path, std::string_view bytes) {
    const WriteRow row{id, path, bytes};
    saver.putWrites(log, head, {&row, 1});
}

/// A line of commits 1..count, each with a full snapshot, or all based on the first.
inline void putLine(BaseCheckpointSaver& saver, const LogName& log, unsigned count, bool based_on_first = false) {
    for (unsigned n = 1; n <= count; ++n) {
        putOne(saver, log, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1, based_on_first ? 1 : 0));
    }
}

inline std::vector<CheckpointId> idsOf(const std::vector<StoredCommit>& commits) {
    std::vector<CheckpointId> ids;
    for (const auto& commit : commits) ids.push_back(commit.id);
    return ids;
}
inline std::vector<CheckpointId> idsOf(const std::vector<ListedCheckpoint>& commits) {
    std::vector<CheckpointId> ids;
    for (const auto& commit : commits) ids.push_back(commit.id);
    return ids;
}
inline std::vector<CheckpointId> nthIds(std::initializer_list<unsigned> numbers) {
    std::vector<CheckpointId> ids;
    for (const unsigned n : numbers) ids.push_back(nthId(n));
    return ids;
}
inline std::vector<CheckpointId> listIds(BaseCheckpointSaver& saver, const LogName& log) {
    return idsOf(
        saver.list({.thread_id = std::string(log.thread_id), .checkpoint_ns = std::string(log.checkpoint_ns)}));
}
inline CheckpointId headOf(BaseCheckpointSaver& saver, const LogName& log) {
    const auto tuple = saver.getTuple({.log = log});
    return tuple ? tuple->head : CheckpointId();
}

/// Names that a careless key grammar would mix up.
inline std::vector<std::string> oddNames() {
    using namespace std::string_literals;
    return {"a"s,
            "ab"s,
            "a|b"s,
            "a|"s,
            "|"s,
            "b"s,
            "a\0"s,
            "a\0b"s,
            "\0"s,
            "\0\0"s,
            "\xFF"s,
            "\xFF\xFF"s,
            "\x01"s,
            "\x01\x61"s,
            "a/b:c"s,
            "ä"s,
            std::string(119, 'a'),
            std::string(118, 'a'),
            std::string(127, '\xFF'),
            std::string(128, 'x'),
            std::string(300, 'x')};
}

TEST_CASE_TEMPLATE_DEFINE("an unknown thread is empty and no call on it is an error", Factory, saver_unknown_thread) {
    Factory factory;
    const auto saver = factory.make();
    CHECK_FALSE(saver->getTuple({.log = {"nobody"}}));
    CHECK_FALSE(saver->getTuple({.log = {"nobody"}, .checkpoint_id = nthId(1)}));
    CHECK(saver->list({}).empty());
    CHECK(saver->list({.thread_id = "nobody"}).empty());
    CHECK(saver->prune({.thread_id = "nobody", .keep_last = 1}) == 0);
    CHECK(saver->prune({.keep_last = 1}) == 0);
    CHECK_NOTHROW(saver->deleteThread("nobody"));
    CHECK_NOTHROW(saver->copyThread("nobody", "somebody"));
    CHECK_FALSE(saver->getTuple({.log = {"somebody"}}));
    CHECK_NOTHROW(saver->put({.log = {"nobody"}, .expected_head = {}, .commits = {}, .writes = {}}));
    CHECK(saver->list({.with_writes = true}).empty());
}

TEST_CASE_TEMPLATE_DEFINE("a commit is read back as it was put, in the root and in child namespaces", Factory,
                          saver_round_trip) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child:abc"}, LogName{"t", "child:abc|grandchild:def"}}) {
        const TestCommit first = makeCommit(1, 0);
        const TestCommit second = makeCommit(2, 1, 0, std::string(100'000, 'x'));
        putOne(*saver, log, {}, first);
        putOne(*saver, log, first.id, second, true);

        const auto newest = saver->getTuple({.log = log});
        REQUIRE(newest);
        CHECK(newest->id == second.id);
        CHECK(newest->head == second.id);
        REQUIRE(newest->commits.size() == 1);
        CHECK(newest->commits[0].bytes == second.bytes);
        CHECK_FALSE(newest->next);
        CHECK(newest->writes.empty());

        const auto oldest = saver->getTuple({.log = log, .checkpoint_id = first.id});
        REQUIRE(oldest);
        CHECK(oldest->id == first.id);
        CHECK(oldest->head == second.id);
        REQUIRE(oldest->commits.size() == 1);
        CHECK(oldest->commits[0].bytes == first.bytes);
        REQUIRE(oldest->next);
        CHECK(oldest->next->id == second.id);
        CHECK(oldest->next->bytes == second.bytes);
        CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(3)}));
        CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(0)}));
    }
}

TEST_CASE_TEMPLATE_DEFINE("the newest checkpoint below a cursor is found", Factory, saver_before) {
    Factory factory;
    const auto saver = factory.make();
    for (const unsigned n : {2U, 4U, 6U})
        putOne(*saver, {"t"}, n > 2 ? nthId(n - 2) : CheckpointId(), makeCommit(n, n > 2 ? n - 2 : 0));
    putLine(*saver, {"s"}, 1);
    putLine(*saver, {"t", "child"}, 1);
    const auto below = [&](unsigned n) {
        const auto tuple = saver->getTuple({.log = {"t"}, .before = nthId(n)});
        return tuple ? tuple->id : CheckpointId();
    };
    CHECK(below(7) == nthId(6));
    CHECK(below(6) == nthId(4));
    CHECK(below(5) == nthId(4));
    CHECK(below(3) == nthId(2));
    CHECK(below(2).empty());
    CHECK(below(1).empty());
    const auto tuple = saver->getTuple({.log = {"t"}, .before = nthId(6)});
    REQUIRE(tuple);
    CHECK(tuple->head == nthId(6));
    REQUIRE(tuple->next);
    CHECK(tuple->next->id == nthId(6));
}

TEST_CASE_TEMPLATE_DEFINE("reading a checkpoint returns every commit from its base to it", Factory, saver_base_chain) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    // 1 - 2 - 4 - 6 and, from 2, the branch 3 - 5: other branches lie in between.
    const std::vector<TestCommit> commits{makeCommit(1, 0),    makeCommit(2, 1, 1), makeCommit(3, 2, 1),
                                          makeCommit(4, 2, 2), makeCommit(5, 3, 1), makeCommit(6, 4, 2),
                                          makeCommit(7, 5)};
    CheckpointId head;
    for (const auto& commit : commits) {
        putOne(*saver, log, head, commit);
        head = commit.id;
    }
    const auto read = [&](unsigned n) {
        const auto tuple = saver->getTuple({.log = log, .checkpoint_id = nthId(n)});
        REQUIRE(tuple);
        CHECK(tuple->head == nthId(7));
        for (const auto& commit : tuple->commits) {
            const CommitHeader header = readHeader({"t", "", commit.id}, commit.bytes);
            CHECK(header.id == commit.id);
        }
        return idsOf(tuple->commits);
    };
    CHECK(read(1) == nthIds({1}));
    CHECK(read(3) == nthIds({1, 2, 3}));
    CHECK(read(4) == nthIds({2, 3, 4}));
    CHECK(read(5) == nthIds({1, 2, 3, 4, 5}));
    CHECK(read(6) == nthIds({2, 3, 4, 5, 6}));
    CHECK(read(7) == nthIds({7}));
}

TEST_CASE_TEMPLATE_DEFINE("several commits and pending writes are stored by one put", Factory, saver_batch) {
    Factory factory;
    const auto saver = factory.make();
    const std::vector<TestCommit> commits{makeCommit(1, 0), makeCommit(2, 1, 1), makeCommit(3, 2, 1)};
    std::vector<CommitRow> rows;
    for (const auto& commit : commits) rows.push_back(commit.row());
    const std::string task = makeTask(nthId(2), false);
    const std::vector<WriteRow> writes{{nthId(2), "b", task}, {nthId(2), "a", task}, {nthId(3), "c", task}};
    saver->put({.log = {"t"}, .expected_head = {}, .commits = rows, .writes = writes, .sync = true});
    CHECK(listIds(*saver, {"t"}) == nthIds({3, 2, 1}));
    const auto second = saver->getTuple({.log = {"t"}, .checkpoint_id = nthId(2)});
    REQUIRE(second);
    CHECK(idsOf(second->commits) == nthIds({1, 2}));
    REQUIRE(second->writes.size() == 2);
    CHECK(second->writes[0].path == "a");
    CHECK(second->writes[1].path == "b");
    CHECK(second->writes[1].bytes == task);
    CHECK(saver->getTuple({.log = {"t"}})->writes.size() == 1);
}

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
    // The rightful writer goes on.
    CHECK_NOTHROW(putOne(*saver, log, nthId(2), makeCommit(3, 2)));
    CHECK(headOf(*saver, log) == nthId(3));
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

TEST_CASE_TEMPLATE_DEFINE("of two threads that race for a head exactly one wins each round", Factory, saver_race) {
    constexpr unsigned rounds = 1000;
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

TEST_CASE_TEMPLATE_DEFINE("names with odd bytes are kept apart", Factory, saver_odd_names) {
    Factory factory;
    const auto saver = factory.make();
    std::vector<std::string> namespaces = oddNames();
    namespaces.push_back("");
    const auto nameOf = [](std::size_t t, std::size_t n) {
        return "value " + std::to_string(t) + " " + std::to_string(n);
    };
    const std::vector<std::string> threads = oddNames();
    for (std::size_t t = 0; t < threads.size(); ++t) {
        for (std::size_t n = 0; n < namespaces.size(); ++n) {
            const LogName log{threads[t], namespaces[n]};
            putOne(*saver, log, {}, makeCommit(1, 0, 0, nameOf(t, n)));
            putWrite(*saver, log, nthId(1), nthId(1), namespaces[n], nameOf(t, n));
        }
    }
    for (std::size_t t = 0; t < threads.size(); ++t) {
        for (std::size_t n = 0; n < namespaces.size(); ++n) {
            const auto tuple = saver->getTuple({.log = {threads[t], namespaces[n]}});
            REQUIRE(tuple);
            REQUIRE(tuple->commits.size() == 1);
            CHECK(tuple->commits[0].bytes == makeCommit(1, 0, 0, nameOf(t, n)).bytes);
            REQUIRE(tuple->writes.size() == 1);
            CHECK(tuple->writes[0].path == namespaces[n]);
            CHECK(tuple->writes[0].bytes == nameOf(t, n));
            CHECK_FALSE(tuple->next);
        }
        CHECK(saver->list({.thread_id = threads[t]}).size() == namespaces.size());
    }
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& row : saver->list({})) seen.emplace(row.thread_id, row.checkpoint_ns);
    CHECK(seen.size() == threads.size() * namespaces.size());
    for (const auto& ns : namespaces) CHECK(saver->list({.checkpoint_ns = ns}).size() == threads.size());

    // Each is deleted alone.
    std::size_t left = threads.size();
    for (const auto& thread_id : threads) {
        saver->deleteThread(thread_id);
        CHECK(saver->list({.thread_id = thread_id}).empty());
        CHECK(saver->list({.checkpoint_ns = ""}).size() == --left);
    }
}

TEST_CASE_TEMPLATE_DEFINE("listing gives the newest first and honours every combination of its filters", Factory,
                          saver_list) {
    Factory factory;
    const auto saver = factory.make();
    const std::vector<std::pair<std::string, std::string>> logs{
        {"t", ""}, {"t", "child"}, {"u", ""}, {"v", "child"}, {"v", "other"}};
    unsigned count = 0;
    for (const auto& [thread_id, ns] : logs) putLine(*saver, {thread_id, ns}, ++count);

    CHECK(listIds(*saver, {"v", "child"}) == nthIds({4, 3, 2, 1}));
    const std::vector<std::optional<std::string>> threads{std::nullopt, "t", "u", "v", "nobody"};
    const std::vector<std::optional<std::string>> namespaces{std::nullopt, "", "child", "none"};
    const std::vector<std::optional<std::size_t>> limits{std::nullopt, 0, 1, 2, 7, 100};
    const std::vector<CheckpointId> befores{{}, nthId(1), nthId(2), nthId(4), nthId(9)};
    for (const auto& thread_id : threads) {
        for (const auto& ns : namespaces) {
            for (const auto before : befores) {
                std::set<std::tuple<std::string, std::string, CheckpointId>> expected;
                for (std::size_t i = 0; i < logs.size(); ++i) {
                    if ((thread_id && *thread_id != logs[i].first) || (ns && *ns != logs[i].second)) continue;
                    for (unsigned n = 1; n <= i + 1; ++n) {
                        if (before.empty() || nthId(n) < before)
                            expected.emplace(logs[i].first, logs[i].second, nthId(n));
                    }
                }
                for (const auto& limit : limits) {
                    CAPTURE(thread_id.value_or("(any)"));
                    CAPTURE(ns.value_or("(any)"));
                    const auto listed =
                        saver->list({.thread_id = thread_id, .checkpoint_ns = ns, .before = before, .limit = limit});
                    CHECK(listed.size() == std::min(expected.size(), limit.value_or(expected.size())));
                    std::set<std::tuple<std::string, std::string, CheckpointId>> found;
                    for (std::size_t i = 0; i < listed.size(); ++i) {
                        const auto& row = listed[i];
                        CHECK(expected.contains({row.thread_id, row.checkpoint_ns, row.id}));
                        found.emplace(row.thread_id, row.checkpoint_ns, row.id);
                        CHECK(readHeader({row.thread_id, row.checkpoint_ns, row.id}, row.bytes).id == row.id);
                        if (i == 0 || listed[i - 1].thread_id != row.thread_id ||
                            listed[i - 1].checkpoint_ns != row.checkpoint_ns) {
                            continue;
                        }
                        CHECK(listed[i - 1].id > row.id);
                    }
                    CHECK(found.size() == listed.size());
                }
            }
        }
    }
}

TEST_CASE_TEMPLATE_DEFINE("deleting a thread removes all of it and nothing else", Factory, saver_delete) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child"}, LogName{"tt"}, LogName{"s"}}) {
        putLine(*saver, log, 3);
        putWrite(*saver, log, nthId(3), nthId(3), "p", "bytes");
    }
    saver->deleteThread("t");
    CHECK(saver->list({.thread_id = "t", .with_writes = true}).empty());
    CHECK_FALSE(saver->getTuple({.log = {"t"}}));
    CHECK_FALSE(saver->getTuple({.log = {"t", "child"}}));
    for (const LogName log : {LogName{"tt"}, LogName{"s"}}) {
        CHECK(listIds(*saver, log) == nthIds({3, 2, 1}));
        CHECK(saver->getTuple({.log = log})->writes.size() == 1);
    }
    // It is as if it had never been: the same ids may come again, without the old writes.
    CHECK_THROWS_AS(putOne(*saver, {"t"}, nthId(3), makeCommit(4, 3)), ConcurrentUpdateError);
    putLine(*saver, {"t"}, 3);
    CHECK(saver->getTuple({.log = {"t"}})->writes.empty());
    CHECK_NOTHROW(saver->deleteThread("t"));
    CHECK_NOTHROW(saver->deleteThread("t"));
}

TEST_CASE_TEMPLATE_DEFINE("a copied thread has all of the source, which stays as it was", Factory, saver_copy) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child"}}) {
        putLine(*saver, log, 4, true);
        putWrite(*saver, log, nthId(4), nthId(3), "p", "bytes");
    }
    saver->copyThread("t", "copy, with a longer name");
    const auto source = saver->list({.thread_id = "t", .with_writes = true});
    const auto copy = saver->list({.thread_id = "copy, with a longer name", .with_writes = true});
    REQUIRE(source.size() == 8);
    REQUIRE(copy.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(copy[i].checkpoint_ns == source[i].checkpoint_ns);
        CHECK(copy[i].id == source[i].id);
        CHECK(copy[i].bytes == source[i].bytes);
        REQUIRE(copy[i].writes.size() == source[i].writes.size());
        CHECK(copy[i].writes.size() == (copy[i].id == nthId(3) ? 1 : 0));
    }
    CHECK(idsOf(saver->getTuple({.log = {"copy, with a longer name", "child"}})->commits) == nthIds({1, 2, 3, 4}));

    // Both go on alone.
    putOne(*saver, {"copy, with a longer name"}, nthId(4), makeCommit(5, 4));
    CHECK(headOf(*saver, {"t"}) == nthId(4));
    putOne(*saver, {"t"}, nthId(4), makeCommit(6, 4));
    CHECK(headOf(*saver, {"copy, with a longer name"}) == nthId(5));

    CHECK_THROWS_AS(saver->copyThread("t", "copy, with a longer name"), InvalidArgumentError);
    CHECK_THROWS_AS(saver->copyThread("t", "t"), InvalidArgumentError);
    saver->deleteThread("t");
    CHECK(headOf(*saver, {"copy, with a longer name"}) == nthId(5));
    CHECK_NOTHROW(saver->copyThread("copy, with a longer name", "t"));
    CHECK(headOf(*saver, {"t"}) == nthId(5));
}

TEST_CASE_TEMPLATE_DEFINE("pruning keeps the newest of each log and their pending writes", Factory, saver_prune) {
    Factory factory;
    const auto saver = factory.make();
    const std::vector<LogName> logs{{"t"}, {"t", "child"}, {"u"}};
    for (const auto& log : logs) {
        putLine(*saver, log, 5);
        putWrite(*saver, log, nthId(5), nthId(5), "p", makeTask(nthId(5), false));
        putWrite(*saver, log, nthId(5), nthId(2), "p", makeTask(nthId(2), false));
    }
    CHECK_THROWS_AS(saver->prune({.thread_id = "t"}), InvalidArgumentError);
    CHECK_THROWS_AS(saver->prune({.keep_last = 0}), InvalidArgumentError);
    CHECK(saver->prune({.thread_id = "t", .keep_last = 5}) == 0);
    CHECK(saver->prune({.thread_id = "t", .keep_last = 2}) == 6);
    CHECK(listIds(*saver, {"t"}) == nthIds({5, 4}));
    CHECK(listIds(*saver, {"t", "child"}) == nthIds({5, 4}));
    CHECK(listIds(*saver, {"u"}) == nthIds({5, 4, 3, 2, 1}));
    CHECK(saver->prune({.older_than_unix_ms = nthId(4).unixTimeMs()}) == 3);
    CHECK(listIds(*saver, {"u"}) == nthIds({5, 4}));
    CHECK(saver->prune({.older_than_unix_ms = nthId(9).unixTimeMs()}) == 3);
    CHECK(saver->prune({.keep_last = 1}) == 0);
    for (const auto& log : logs) {
        CHECK(listIds(*saver, log) == nthIds({5}));
        const auto tuple = saver->getTuple({.log = log});
        REQUIRE(tuple);
        CHECK(tuple->writes.size() == 1);
        CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(2)}));
        putOne(*saver, log, nthId(5), makeCommit(6, 5));
    }
    // A dropped checkpoint's pending writes went with it.
    saver->copyThread("u", "copy");
    saver->deleteThread("copy");
    CHECK(saver->list({.thread_id = "u", .with_writes = true}).size() == 2);
}

TEST_CASE_TEMPLATE_DEFINE("pruning keeps what kept checkpoints are read from, and open interrupts", Factory,
                          saver_prune_needs) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    // 1 - 2 - 3 - 6 - 8 with 3's branch 4 - 5 and 2's branch 7; 8 is read from 3, 5 from 4.
    const std::vector<TestCommit> commits{makeCommit(1, 0),    makeCommit(2, 1, 1), makeCommit(3, 2),
                                          makeCommit(4, 3),    makeCommit(5, 4, 4), makeCommit(6, 3, 3),
                                          makeCommit(7, 2, 1), makeCommit(8, 6, 3)};
    CheckpointId head;
    for (const auto& commit : commits) {
        putOne(*saver, log, head, commit);
        head = commit.id;
    }
    putWrite(*saver, log, head, nthId(5), "p", makeTask(nthId(5), true));
    putWrite(*saver, log, head, nthId(7), "p", makeTask(nthId(7), false));
    CHECK(saver->prune({.keep_last = 1}) == 3);
    CHECK(listIds(*saver, log) == nthIds({8, 6, 5, 4, 3}));
    CHECK(idsOf(saver->getTuple({.log = log})->commits) == nthIds({3, 4, 5, 6, 8}));
    const auto waiting = saver->getTuple({.log = log, .checkpoint_id = nthId(5)});
    REQUIRE(waiting);
    CHECK(idsOf(waiting->commits) == nthIds({4, 5}));
    CHECK(waiting->writes.size() == 1);

    // Once it is answered the branch may go.
    putWrite(*saver, log, head, nthId(5), "p", makeTask(nthId(5), false));
    CHECK(saver->prune({.keep_last = 1}) == 2);
    CHECK(listIds(*saver, log) == nthIds({8, 6, 3}));
    CHECK_NOTHROW(putOne(*saver, log, head, makeCommit(9, 8, 3)));
    CHECK(idsOf(saver->getTuple({.log = log})->commits) == nthIds({3, 6, 8, 9}));
}

TEST_CASE_TEMPLATE_DEFINE("everything is there after reopening, and heads still guard it", Factory, saver_reopen) {
    if constexpr (CanReopen<Factory>) {
        Factory factory;
        {
            const auto saver = factory.make();
            putLine(*saver, {"t"}, 3, true);
            putLine(*saver, {"t", "child"}, 2);
            putLine(*saver, {"gone"}, 2);
            putWrite(*saver, {"t"}, nthId(3), nthId(3), "p", "bytes");
            saver->deleteThread("gone");
        }
        const auto saver = factory.reopen();
        CHECK(listIds(*saver, {"t"}) == nthIds({3, 2, 1}));
        CHECK(listIds(*saver, {"t", "child"}) == nthIds({2, 1}));
        CHECK(saver->list({.thread_id = "gone"}).empty());
        const auto tuple = saver->getTuple({.log = {"t"}});
        REQUIRE(tuple);
        CHECK(idsOf(tuple->commits) == nthIds({1, 2, 3}));
        CHECK(tuple->writes.size() == 1);
        CHECK_THROWS_AS(putOne(*saver, {"t"}, nthId(2), makeCommit(4, 2)), ConcurrentUpdateError);
        CHECK_THROWS_AS(putOne(*saver, {"gone"}, nthId(2), makeCommit(4, 2)), ConcurrentUpdateError);
        CHECK_NOTHROW(putOne(*saver, {"t"}, nthId(3), makeCommit(4, 3)));
    }
}

}  // namespace stategraph::testing

/// Runs the contract on a factory; at namespace scope.
#define STATEGRAPH_SAVER_CONTRACT(Factory)                      \
    namespace stategraph::testing {                             \
    TEST_CASE_TEMPLATE_INVOKE(saver_unknown_thread, Factory);   \
    TEST_CASE_TEMPLATE_INVOKE(saver_round_trip, Factory);       \
    TEST_CASE_TEMPLATE_INVOKE(saver_before, Factory);           \
    TEST_CASE_TEMPLATE_INVOKE(saver_base_chain, Factory);       \
    TEST_CASE_TEMPLATE_INVOKE(saver_batch, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_pending_writes, Factory);   \
    TEST_CASE_TEMPLATE_INVOKE(saver_compare_and_swap, Factory); \
    TEST_CASE_TEMPLATE_INVOKE(saver_forks, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_race, Factory);             \
    TEST_CASE_TEMPLATE_INVOKE(saver_parallel, Factory);         \
    TEST_CASE_TEMPLATE_INVOKE(saver_odd_names, Factory);        \
    TEST_CASE_TEMPLATE_INVOKE(saver_list, Factory);             \
    TEST_CASE_TEMPLATE_INVOKE(saver_delete, Factory);           \
    TEST_CASE_TEMPLATE_INVOKE(saver_copy, Factory);             \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune, Factory);            \
    TEST_CASE_TEMPLATE_INVOKE(saver_prune_needs, Factory);      \
    TEST_CASE_TEMPLATE_INVOKE(saver_reopen, Factory);           \
    }                                                           \
    static_assert(true, "stategraph: a semicolon follows")
