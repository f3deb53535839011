#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// What a prune drops of whole threads: the logs of tasks that are past, and threads that are not in use.
namespace stategraph::testing {

/// Puts commits of a subgraph's log that belong to the root's n-th checkpoint; the last one has `next` due.
inline void putSubgraph(BaseCheckpointSaver& saver, const LogName& log, unsigned root, unsigned count,
                        std::vector<std::string_view> next = {}) {
    for (unsigned n = 1; n <= count; ++n) {
        const CheckpointId parent = n > 1 ? nthId(n - 1) : CheckpointId();
        CommitRecordFields fields{.id = nthId(n), .parent = parent, .root = nthId(root), .step = n};
        if (n == count) fields.next = next;
        putOne(saver, log, parent, makeCommit(fields));
    }
    putWrite(saver, log, nthId(count), nthId(count), "p", makeTask(nthId(count), false));
}

TEST_CASE_TEMPLATE_DEFINE("a log that lived for one task is pruned with that task's checkpoint", Factory,
                          saver_prune_tasks) {
    Factory factory;
    const auto saver = factory.make();
    for (const char* const thread_id : {"t", "without a root"}) {
        const LogName past{thread_id, "node:1"};
        if (thread_id == std::string("t")) putLine(*saver, {thread_id}, 4);
        putSubgraph(*saver, past, 2, 3);
        putWrite(*saver, past, nthId(3), nthId(9), "of no commit", makeTask(nthId(9), false));
        putSubgraph(*saver, {thread_id, "node:1|inner:2"}, 2, 2);
        putSubgraph(*saver, {thread_id, "node:1|inner"}, 2, 2);
        putSubgraph(*saver, {thread_id, "node:3"}, 3, 2);
        putSubgraph(*saver, {thread_id, "node:4"}, 4, 2);
        putSubgraph(*saver, {thread_id, "node"}, 2, 2);
        putSubgraph(*saver, {thread_id, "node|inner:2"}, 2, 2);
    }
    // The root keeps 3 and 4: logs of 2 are dropped as a whole, the others keep their newest two commits.
    CHECK(saver->prune({.thread_id = "t", .keep_last = 2}) == 2 + 3 + 2 + 2);
    CHECK(listIds(*saver, {"t"}) == nthIds({4, 3}));
    for (const char* const ns : {"node:1", "node:1|inner:2", "node:1|inner"}) {
        CHECK(listIds(*saver, {"t", ns}).empty());
        CHECK_FALSE(saver->getTuple({.log = {"t", ns}}));
    }
    for (const char* const ns : {"node:3", "node:4", "node", "node|inner:2"}) {
        CHECK(listIds(*saver, {"t", ns}) == nthIds({2, 1}));
        CHECK(writesOf(*saver, {"t", ns}, 2).size() == 1);
    }
    // The log was dropped completely: it may begin again, without the old pending writes.
    putSubgraph(*saver, {"t", "node:1"}, 2, 3);
    CHECK(writesOf(*saver, {"t", "node:1"}, 3).size() == 1);
    putWrite(*saver, {"t", "node:1"}, nthId(3), nthId(3), "q", makeTask(nthId(3), true));
    // The root's checkpoint was dropped already, and only there could an answer be stored.
    CHECK(saver->prune({.keep_last = 1}) == 1 + 3 + 2 + 3 + (2 + 1 + 1 + 1 + 1 + 1 + 1));
    CHECK(listIds(*saver, {"t"}) == nthIds({4}));
    CHECK(listIds(*saver, {"t", "node:1"}).empty());
    CHECK(listIds(*saver, {"t", "node:3"}).empty());
    for (const char* const ns : {"node:4", "node", "node|inner:2"}) CHECK(listIds(*saver, {"t", ns}) == nthIds({2}));
    // Without a log of the root, nothing tells which tasks are past.
    CHECK(listIds(*saver, {"without a root", "node:1"}) == nthIds({3}));
    CHECK(saver->list({.thread_id = "without a root"}).size() == 7);
}

TEST_CASE_TEMPLATE_DEFINE("a subgraph's log stays while the root's checkpoint has an open interrupt", Factory,
                          saver_prune_subgraph_interrupts) {
    Factory factory;
    const auto saver = factory.make();
    putLine(*saver, {"t"}, 4);
    putWrite(*saver, {"t"}, nthId(4), nthId(2), "p", makeTask(nthId(2), true));
    for (const LogName log : {LogName{"t", "node:1"}, LogName{"t", "node"}}) {
        putSubgraph(*saver, log, 2, 3, {"asks"});
        putWrite(*saver, log, nthId(3), nthId(2), "p", makeTask(nthId(2), true));
    }
    CHECK(saver->prune({.keep_last = 1}) == 2 + 1 + 1);
    CHECK(listIds(*saver, {"t"}) == nthIds({4, 2}));
    CHECK(listIds(*saver, {"t", "node:1"}) == nthIds({3, 2}));
    CHECK(listIds(*saver, {"t", "node"}) == nthIds({3, 2}));
    // The answer is kept with the root's task; the subgraph's own record stays as it was.
    putWrite(*saver, {"t"}, nthId(4), nthId(2), "p", makeTaskRecord({.id = nthId(2), .state = TaskState::answered}));
    CHECK(saver->prune({.keep_last = 1}) == 1 + 2 + 1);
    CHECK(listIds(*saver, {"t"}) == nthIds({4}));
    CHECK(listIds(*saver, {"t", "node:1"}).empty());
    CHECK(listIds(*saver, {"t", "node"}) == nthIds({3}));
}

TEST_CASE_TEMPLATE_DEFINE("what visits from kept checkpoints continue from stays in the logs of subgraphs", Factory,
                          saver_prune_visits) {
    Factory factory;
    const auto saver = factory.make();
    // Each of the root's checkpoints visited "node", whose checkpoints visited the inner one.
    for (unsigned n = 1; n <= 5; ++n) {
        CommitRecordFields fields{.id = nthId(n), .parent = n > 1 ? nthId(n - 1) : CheckpointId(), .step = n};
        if (n != 5) fields.visits = {{"node", nthId(n)}};
        putOne(*saver, {"t"}, fields.parent, makeCommit(fields));
        for (const char* const ns : {"node", "node|inner:=key"}) {
            CommitRecordFields inner = fields;
            inner.root = nthId(n);
            inner.visits.clear();
            if (ns == std::string_view("node")) inner.visits = {{"inner:=key", nthId(n)}};
            putOne(*saver, {"t", ns}, inner.parent, makeCommit(inner));
        }
    }
    // 4 and 5 are kept, and the newest commit of each log: "node" had reached commit 4 for both.
    saver->prune({.thread_id = "t", .keep_last = 2});
    CHECK(listIds(*saver, {"t"}) == nthIds({5, 4}));
    CHECK(listIds(*saver, {"t", "node"}) == nthIds({5, 4}));
    saver->prune({.thread_id = "t", .keep_last = 1});
    CHECK(listIds(*saver, {"t"}) == nthIds({5}));
    CHECK(listIds(*saver, {"t", "node"}) == nthIds({5, 4}));
    CHECK(listIds(*saver, {"t", "node|inner:=key"}) == nthIds({5, 4}));
}

TEST_CASE_TEMPLATE_DEFINE("edits with which visits from kept checkpoints begin stay, and what leads to them", Factory,
                          saver_prune_edits) {
    Factory factory;
    const auto saver = factory.make();
    // The thread has gone on from checkpoint 3 to 4, and then from 3 to 5 and 6.
    for (unsigned n = 1; n <= 6; ++n) {
        const unsigned parent = n == 5 ? 3 : n - 1;
        CommitRecordFields fields{.id = nthId(n), .parent = parent > 0 ? nthId(parent) : CheckpointId(), .step = n};
        if (n == 3) fields.visits = {{"node", nthId(2)}};
        putOne(*saver, {"t"}, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(fields));
    }
    // An edit before the thread began, a visit, an edit at 3, one at 4, and a visit from there.
    CheckpointId head;
    const auto add = [&](unsigned n, unsigned root, std::optional<CheckpointId> around) {
        const CommitRecordFields fields{.id = nthId(n),
                                        .parent = head,
                                        .root = root > 0 ? nthId(root) : CheckpointId(),
                                        .step = n,
                                        .around = around};
        putOne(*saver, {"t", "node"}, head, makeCommit(fields));
        head = nthId(n);
    };
    add(1, 0, CheckpointId());
    add(2, 2, std::nullopt);
    add(3, 2, nthId(3));
    add(4, 2, nthId(4));
    add(5, 4, std::nullopt);
    saver->prune({.thread_id = "t", .keep_last = 1});
    CHECK(listIds(*saver, {"t"}) == nthIds({6, 5}));
    CHECK(listIds(*saver, {"t", "node"}) == nthIds({5, 3, 2, 1}));
}

TEST_CASE_TEMPLATE_DEFINE("threads that nobody uses are dropped whole", Factory, saver_prune_unused) {
    Factory factory;
    const auto saver = factory.make();
    putLine(*saver, {"old"}, 3);
    putSubgraph(*saver, {"old", "node"}, 2, 2);
    putWrite(*saver, {"old"}, nthId(3), nthId(1), "p", makeTask(nthId(1), false));
    putLine(*saver, {"left behind"}, 3);
    putSubgraph(*saver, {"left behind", "node:1"}, 2, 2, {"failed"});
    putLine(*saver, {"answered"}, 3);
    putWrite(*saver, {"answered"}, nthId(3), nthId(2), "p",
             makeTaskRecord({.id = nthId(2), .state = TaskState::answered}));
    putSubgraph(*saver, {"answered", "node"}, 2, 2);
    putWrite(*saver, {"answered", "node"}, nthId(2), nthId(1), "p", makeTask(nthId(1), true));

    putLine(*saver, {"asks"}, 3);
    putWrite(*saver, {"asks"}, nthId(3), nthId(2), "p", makeTask(nthId(2), true));
    putLine(*saver, {"asks below"}, 2);
    putOne(*saver, {"asks below"}, nthId(2), makeCommit({.id = nthId(3), .parent = nthId(2), .next = {"node"}}));
    putSubgraph(*saver, {"asks below", "node:1"}, 3, 2, {"asks"});
    putLine(*saver, {"due below"}, 3);
    putSubgraph(*saver, {"due below", "node"}, 2, 2, {"next"});
    putLine(*saver, {"young"}, 10);
    putLine(*saver, {"young below"}, 3);
    putSubgraph(*saver, {"young below", "node:1"}, 2, 10);
    putWrite(*saver, {"no commits"}, {}, nthId(1), "p", makeTask(nthId(1), true));

    const auto threads = [&] {
        std::vector<std::string> names;
        for (const auto& row : saver->list({.checkpoint_ns = "", .heads = true})) names.push_back(row.thread_id);
        std::sort(names.begin(), names.end());
        return names;
    };
    const std::vector<std::string> in_use{"asks", "asks below", "due below", "young", "young below"};
    const std::size_t rows = saver->list({}).size();
    CHECK(saver->prune({.threads_unused_since = nthId(3).time()}) == 0);
    CHECK(saver->prune({.thread_id = "asks", .threads_unused_since = nthId(10).time()}) == 0);
    CHECK(saver->prune({.thread_id = "nobody", .threads_unused_since = nthId(10).time()}) == 0);
    CHECK(saver->list({}).size() == rows);
    CHECK(saver->prune({.thread_id = "old", .threads_unused_since = nthId(10).time()}) == 5);
    CHECK(saver->list({.thread_id = "old", .with_writes = true}).empty());
    CHECK(threads().size() == 7);
    CHECK(saver->prune({.threads_unused_since = nthId(10).time()}) == 5 + 5);
    CHECK((threads() == in_use));
    CHECK(saver->list({}).size() == rows - 15);  // the others stay unchanged
    // A thread that was dropped may begin again, without old pending writes.
    putLine(*saver, {"old"}, 3);
    CHECK(writesOf(*saver, {"old"}, 1).empty());

    // With a rule for commits, that rule applies to the threads in use.
    CHECK(saver->prune({.keep_last = 4, .threads_unused_since = nthId(10).time()}) == 3 + 6 + 6);
    CHECK((threads() == in_use));
    CHECK(listIds(*saver, {"young"}) == nthIds({10, 9, 8, 7}));
    CHECK(listIds(*saver, {"asks"}) == nthIds({3, 2, 1}));
    // Once no question is open and nothing is due, they are dropped.
    putWrite(*saver, {"asks"}, nthId(3), nthId(2), "p", makeTask(nthId(2), false));
    putOne(*saver, {"asks below"}, nthId(3), makeCommit(4, 3));
    CHECK(saver->prune({.threads_unused_since = nthId(10).time()}) == 3 + 6);
    CHECK(saver->prune({.threads_unused_since = nthId(11).time()}) == 4 + (3 + 4));
    CHECK((threads() == std::vector<std::string>{"due below"}));
}

}  // namespace stategraph::testing
