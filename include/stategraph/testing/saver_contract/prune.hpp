#pragma once
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Which commits of a log a prune drops and which it keeps.
namespace stategraph::testing {

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
    CHECK(saver->prune({.older_than = nthId(4).time()}) == 3);
    CHECK(listIds(*saver, {"u"}) == nthIds({5, 4}));
    CHECK(saver->prune({.older_than = nthId(9).time()}) == 3);
    CHECK(saver->prune({.keep_last = 1}) == 0);
    for (const auto& log : logs) {
        CHECK(listIds(*saver, log) == nthIds({5}));
        const auto tuple = saver->getTuple({.log = log});
        REQUIRE(tuple);
        CHECK(tuple->writes.size() == 1);
        CHECK_FALSE(saver->getTuple({.log = log, .checkpoint_id = nthId(2)}));
        putOne(*saver, log, nthId(5), makeCommit(6, 5));
    }
    // The pending writes of a dropped checkpoint were dropped with it.
    saver->copyThread("u", "copy");
    saver->deleteThread("copy");
    CHECK(saver->list({.thread_id = "u", .with_writes = true}).size() == 2);
}

TEST_CASE_TEMPLATE_DEFINE("pruning without rewriting keeps what kept checkpoints are read from, and open interrupts",
                          Factory, saver_prune_needs) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    // 1 - 2 - 3 - 6 - 8, with the branch 4 - 5 from 3 and the branch 7 from 2; 8 is read from 3, 5 from 4.
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
    CHECK(saver->prune({.keep_last = 1, .rewrite = Rewrite::never}) == 3);
    CHECK(listIds(*saver, log) == nthIds({8, 6, 5, 4, 3}));
    CHECK(idsOf(saver->getTuple({.log = log})->commits) == nthIds({3, 4, 5, 6, 8}));
    const auto waiting = saver->getTuple({.log = log, .checkpoint_id = nthId(5)});
    REQUIRE(waiting);
    CHECK(idsOf(waiting->commits) == nthIds({4, 5}));
    CHECK(waiting->writes.size() == 1);

    // Once the question is answered, the branch may be dropped.
    putWrite(*saver, log, head, nthId(5), "p", makeTask(nthId(5), false));
    CHECK(saver->prune({.keep_last = 1, .rewrite = Rewrite::never}) == 2);
    CHECK(listIds(*saver, log) == nthIds({8, 6, 3}));
    CHECK_NOTHROW(putOne(*saver, log, head, makeCommit(9, 8, 3)));
    CHECK(idsOf(saver->getTuple({.log = log})->commits) == nthIds({3, 6, 8, 9}));
}

TEST_CASE_TEMPLATE_DEFINE("an old checkpoint with two open interrupts is kept with all its pending writes", Factory,
                          saver_prune_interrupts) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putLine(*saver, log, 5);
    for (const char* const path : {"a", "b"}) putWrite(*saver, log, nthId(5), nthId(2), path, makeTask(nthId(2), true));
    putWrite(*saver, log, nthId(5), nthId(2), "c", makeTask(nthId(2), false));
    CHECK(saver->prune({.thread_id = "t", .keep_last = 1}) == 3);
    CHECK(listIds(*saver, log) == nthIds({5, 2}));
    const auto writes = writesOf(*saver, log, 2);
    REQUIRE(writes.size() == 3);
    CHECK(writes[0].bytes == makeTask(nthId(2), true));
    CHECK(writes[1].bytes == makeTask(nthId(2), true));
    // One answer is not enough, and a failure is not a question.
    putWrite(*saver, log, nthId(5), nthId(2), "a", makeTaskRecord({.id = nthId(2), .state = TaskState::answered}));
    CHECK(saver->prune({.older_than = nthId(9).time()}) == 0);
    putWrite(*saver, log, nthId(5), nthId(2), "b", makeTaskRecord({.id = nthId(2), .state = TaskState::failed}));
    CHECK(saver->prune({.keep_last = 1}) == 1);
    CHECK(listIds(*saver, log) == nthIds({5}));
}

}  // namespace stategraph::testing
