#pragma once
#include <atomic>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/prune_rewrite.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Commits that a prune drops by name.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("commits that a prune names are dropped, also the newest, and everything else stays", Factory,
                          saver_prune_named) {
    Factory factory;
    const auto saver = factory.make();
    const std::vector<LogName> logs{{"t"}, {"t", "child"}, {"t", "other"}, {"u"}};
    for (const LogName& log : logs) putAppends(*saver, log, 1, 6, 1);
    for (const unsigned n : {3U, 4U, 6U}) putWrite(*saver, {"t"}, nthId(6), nthId(n), "p", makeTask(nthId(n), true));
    const auto before = valuesIn(*saver, {"t"});
    PruneRequest request{.thread_id = "t"};
    request.commits = {{"", nthIds({6, 5})}, {"child", nthIds({1, 2, 3, 4, 5, 6})}, {"unknown", nthIds({1})}};
    CHECK(saver->prune(request) == 8);
    CHECK(saver->prune(request) == 0);
    CHECK(listIds(*saver, {"t"}) == nthIds({4, 3, 2, 1}));
    CHECK(listIds(*saver, {"t", "child"}).empty());
    for (const LogName& log : {logs[2], logs[3]}) CHECK(listIds(*saver, log) == nthIds({6, 5, 4, 3, 2, 1}));
    CHECK(readsAsIn(*saver, {"t"}, before));
    CHECK(writesOf(*saver, {"t"}, 4).size() == 1);
    // The thread goes on from what is its newest commit now, and not from what was.
    CHECK_THROWS_AS(putOne(*saver, {"t"}, nthId(6), makeAppend(7, 6, 1)), ConcurrentUpdateError);
    putOne(*saver, {"t"}, nthId(4), makeAppend(7, 4, 1));
    CHECK(writesOf(*saver, {"t"}, 6).empty());
    CHECK(itemsAt(*saver, {"t"}) == 5);
    putAppends(*saver, {"t", "child"}, 1, 2, 1);

    const auto with_seven = valuesIn(*saver, {"t"});
    request.commits = {{"", nthIds({3})}};
    // One between others: what is read from it is written whole.
    CHECK(saver->prune(request) == (canRewrite<Factory>() ? 1 : 0));
    CHECK(readsAsIn(*saver, {"t"}, with_seven));
    request.keep_last = 1;
    CHECK_THROWS_AS(saver->prune(request), InvalidArgumentError);
    request.keep_last.reset();
    request.thread_id.reset();
    CHECK_THROWS_AS(saver->prune(request), InvalidArgumentError);
}

TEST_CASE_TEMPLATE_DEFINE("a writer that appends while the newest commit is dropped leaves nothing unreadable", Factory,
                          saver_prune_named_race) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    constexpr unsigned count = 60;
    putAppends(*saver, log, 1, 2, 1);
    std::atomic<bool> is_over = false;
    std::thread writer([&] {
        unsigned head = 2;
        for (unsigned n = 3; n < count; ++n) {
            const CheckpointId newest = headOf(*saver, log);
            for (head = n; head > 1 && nthId(head) != newest;) --head;
            try {
                putOne(*saver, log, newest, makeAppend(n, head, 1));
            } catch (const ConcurrentUpdateError&) {
            }
        }
        is_over = true;
    });
    while (!is_over) {
        const CheckpointId newest = headOf(*saver, log);
        if (newest <= nthId(1)) continue;
        PruneRequest request{.thread_id = "t"};
        request.commits = {{"", {newest}}};
        saver->prune(request);
    }
    writer.join();
    for (const CheckpointId id : listIds(*saver, log)) CHECK(itemsAt(*saver, log, id) > 0);
    const CheckpointId head = headOf(*saver, log);
    CHECK(head == listIds(*saver, log).front());
    putOne(*saver, log, head, makeCommit(count + 1, 0));
}

}  // namespace stategraph::testing
