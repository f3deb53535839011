#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/index.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// What an index of threads keeps of a thread besides its status, of a saver that keeps it.
namespace stategraph::testing {

inline std::optional<std::string> summaryOf(BaseCheckpointSaver& saver, const std::string& thread_id) {
    const auto newest = saver.newestThreads({.limit = 100, .with_summaries = true});
    REQUIRE(newest);
    const auto open = saver.openThreads({.limit = 100, .with_summaries = true});
    REQUIRE(open);
    const auto find = [&](const std::vector<IndexedThread>& threads) {
        return std::find_if(threads.begin(), threads.end(),
                            [&](const IndexedThread& thread) { return thread.place.thread_id == thread_id; });
    };
    const auto found = find(*newest);
    REQUIRE(found != newest->end());
    if (const auto named = find(*open); named != open->end()) CHECK(named->summary == found->summary);
    return found->summary;
}
inline void putSummary(BaseCheckpointSaver& saver, const LogName& log, unsigned n, const ThreadOutlook& outlook,
                       std::string_view summary) {
    const TestCommit commit = makeCommit(n, n - 1);
    const CommitRow row = commit.row();
    saver.put({.log = log,
               .expected_head = n > 1 ? nthId(n - 1) : CheckpointId(),
               .commits = {&row, 1},
               .writes = {},
               .outlook = outlook,
               .summary = summary});
}

TEST_CASE_TEMPLATE_DEFINE("an index of threads keeps the summary of the last put that knew the status", Factory,
                          saver_index_summaries) {
    Factory factory;
    auto saver = factory.make();
    if (!saver->countThreads(1)) return;
    putSummary(*saver, {"a"}, 1, says_finished, "\x80");
    if (!summaryOf(*saver, "a")) return;  // it keeps none
    const std::string large(PutRequest::summary_bytes_max / 2, '\xff');
    putSummary(*saver, {"b"}, 1, {Status::interrupted, {}}, large);
    putSummary(*saver, {"s"}, 1, sleepsFor(7), std::string_view("\0sleeps", 7));
    putIndexed(*saver, {"plain"}, 1, says_finished);
    putSummary(*saver, {"a", "child"}, 1, says_finished, "of another log");
    CHECK(summaryOf(*saver, "a") == "\x80");
    CHECK(summaryOf(*saver, "b") == large);
    CHECK(summaryOf(*saver, "s") == std::string("\0sleeps", 7));
    CHECK(summaryOf(*saver, "plain") == "");
    CHECK_FALSE(saver->newestThreads({})->front().summary);
    CHECK_FALSE(saver->openThreads({})->front().summary);
    CHECK(newestOf(*saver, Status::sleeping, 5).front().outlook == sleepsFor(7));

    // The same place with another summary, and with none.
    const auto tell = [&](std::string_view summary) {
        saver->put({.log = {"b"},
                    .expected_head = nthId(1),
                    .commits = {},
                    .writes = {},
                    .outlook = {Status::interrupted, {}},
                    .summary = summary});
    };
    tell("another");
    CHECK(summaryOf(*saver, "b") == "another");
    tell("");
    CHECK(summaryOf(*saver, "b") == "");
    tell("again");

    // Nothing is kept of a thread whose status is not known.
    putSummary(*saver, {"a"}, 2, {}, "unknown");
    CHECK(summaryOf(*saver, "a") == "");
    putWrite(*saver, {"s"}, nthId(1), nthId(1), "p", "bytes");
    CHECK(summaryOf(*saver, "s") == "");
    CHECK_THROWS_AS(tell(std::string(PutRequest::summary_bytes_max + 1, 'x')), InvalidArgumentError);
    if constexpr (CanReopen<Factory>) {
        saver.reset();
        saver = factory.reopen();
    }
    CHECK(summaryOf(*saver, "b") == "again");
    CHECK(summaryOf(*saver, "plain") == "");
    saver->deleteThread("b");
    putIndexed(*saver, {"b"}, 1, says_finished);
    CHECK(summaryOf(*saver, "b") == "");
}

}  // namespace stategraph::testing
