#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// What savers outside the library give their rows to. The kit tests it too, by the savers that use it.
namespace stategraph::testing {
namespace {

using checkpoint::ThreadPlan;
using checkpoint::ThreadRows;

void addLine(ThreadRows& rows, std::string_view ns, unsigned count) {
    rows.addLog(ns);
    for (unsigned n = 1; n <= count; ++n) rows.addCommit(nthId(n), makeCommit(n, n - 1).bytes);
}

TEST_CASE("the rows of a thread say which commits a prune drops, log by log") {
    ThreadRows rows("t");
    addLine(rows, "", 4);
    rows.addWrite(nthId(1), "p", makeTask(nthId(1), true));  // a question, which keeps its checkpoint
    addLine(rows, "empty", 0);
    rows.addWrite(nthId(1), "p", makeTask(nthId(1), false));
    addLine(rows, "node", 2);
    const ThreadPlan plan = rows.plan({.keep_last = 2, .rewrite = Rewrite::never}, {});
    CHECK_FALSE(plan.drops_thread);
    CHECK(plan.dropped_commits == 1);
    REQUIRE(plan.logs.size() == 1);
    CHECK(plan.logs[0].checkpoint_ns == "");
    CHECK(plan.logs[0].dropped == nthIds({2}));
    CHECK_FALSE(plan.logs[0].is_whole);
    CHECK_THROWS_AS((void)rows.plan({}, {}), InvalidArgumentError);
}

TEST_CASE("the rows of a thread say whether it is unused, and then all of it is dropped") {
    ThreadRows rows("t");
    addLine(rows, "", 3);
    addLine(rows, "node", 2);
    const ThreadPlan unused = rows.plan({.threads_unused_since = nthId(9).time()}, {});
    CHECK(unused.drops_thread);
    CHECK(unused.dropped_commits == 5);
    CHECK(unused.logs.empty());
    const ThreadPlan used = rows.plan({.threads_unused_since = nthId(3).time()}, {});
    CHECK_FALSE(used.drops_thread);
    CHECK(used.dropped_commits == 0);
    CHECK_FALSE(ThreadRows("nobody").plan({.threads_unused_since = nthId(9).time()}, {}).drops_thread);
}

TEST_CASE("a prune of every thread notes the threads that cannot be read, and one of a named thread throws") {
    const std::vector<std::string> names{"a", "b", "c"};
    const auto next = [&](const std::optional<std::string>& last) -> std::optional<std::string> {
        const auto at = last ? std::ranges::upper_bound(names, *last) : names.begin();
        return at == names.end() ? std::nullopt : std::optional(*at);
    };
    std::vector<std::string> pruned;
    const auto prune = [&](const std::string& name) -> std::size_t {
        if (name == "b") throw CorruptCheckpointError("it is damaged");
        pruned.push_back(name);
        return 2;
    };
    std::vector<DamagedThread> damaged;
    CHECK(checkpoint::pruneThreads({.keep_last = 1, .damaged = &damaged}, next, prune) == 4);
    CHECK(pruned == std::vector<std::string>{"a", "c"});
    REQUIRE(damaged.size() == 1);
    CHECK(damaged[0].thread_id == "b");
    CHECK(checkpoint::pruneThreads({.keep_last = 1}, next, prune) == 4);
    CHECK_THROWS_AS((void)checkpoint::pruneThreads({.thread_id = "b", .keep_last = 1}, next, prune),
                    CorruptCheckpointError);
    CHECK(checkpoint::pruneThreads({.thread_id = "c", .keep_last = 1}, next, prune) == 2);
    CHECK_THROWS_AS((void)checkpoint::pruneThreads({}, next, prune), InvalidArgumentError);
}

}  // namespace
}  // namespace stategraph::testing
