#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/prune_rewrite.hpp>

#include "storage/saver/prune_rules.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/support/savers.hpp"

// What ThreadPrune wants to be rewritten, and random logs that savers prune accordingly.
namespace stategraph::testing {
namespace {

using checkpoint::LogLinks;
using checkpoint::LogPlan;
using checkpoint::ThreadPrune;

// The commits 1..count, each of which is read from the first.
struct Line {
    std::map<CheckpointId, std::string> rows;
    LogLinks links;
    std::vector<CheckpointId> asked;  // what a plan has read

    explicit Line(unsigned count) {
        for (unsigned n = 1; n <= count; ++n) {
            const TestCommit commit = makeAppend(n, n - 1, 1);
            rows.emplace(commit.id, commit.bytes);
            links.commits.push_back({commit.id, commit.parent, commit.base, {}, commit.bytes.size()});
        }
    }
    LogPlan plan(const PruneRequest& request, std::size_t bytes_max = ThreadPrune::rewrite_bytes_max) {
        asked.clear();
        const auto read = [this](std::string_view, CheckpointId id) {
            asked.push_back(id);
            return rows.at(id);
        };
        return ThreadPrune(request, bytes_max).plan({&links, 1}, read).front();
    }
    std::size_t bytes() const {
        std::size_t total = 0;
        for (const auto& [id, row] : rows) total += row.size();
        return total;
    }
};

std::vector<CheckpointId> idsTo(unsigned last) {
    std::vector<CheckpointId> ids;
    for (unsigned n = 1; n <= last; ++n) ids.push_back(nthId(n));
    return ids;
}

}  // namespace

TEST_CASE("a plan rewrites the oldest commit that is kept and reads no others than it is read from") {
    Line line(10);
    const LogPlan plan = line.plan({.keep_last = 3});
    CHECK(plan.dropped == idsTo(7));
    CHECK(idsOf(plan.rewritten) == nthIds({8}));
    std::sort(line.asked.begin(), line.asked.end());
    CHECK(line.asked == idsTo(8));
    const CheckpointTuple alone{.id = nthId(8), .head = nthId(8), .commits = plan.rewritten, .writes = {}, .next = {}};
    CHECK(Decoder(readChannels({"t"}, alone).at("list").bytes()).array() == 8);

    const LogPlan all = line.plan({.keep_last = 10});
    CHECK(all.dropped.empty());
    CHECK(all.rewritten.empty());
    CHECK(line.asked.empty());
    CHECK(line.plan({.keep_last = 1, .rewrite = Rewrite::never}).dropped.empty());
    CHECK(line.asked.empty());
    CHECK(ThreadPrune({.keep_last = 1}).plan({&line.links, 1}, {}).front().dropped.empty());
    CHECK(line.plan({.threads_unused_since = nthId(1).time()}).dropped.empty());
}

TEST_CASE("a log with a record that cannot be read is pruned as if nothing could be rewritten") {
    Line line(6);
    line.rows.at(nthId(2)).back() ^= 1;
    const LogPlan plan = line.plan({.keep_last = 1});
    CHECK(plan.dropped.empty());
    CHECK(plan.rewritten.empty());
    // An exception of the storage is passed on.
    const PruneRequest request{.keep_last = 1};
    CHECK_THROWS_AS(
        (void)ThreadPrune(request).plan(
            {&line.links, 1}, [](std::string_view, CheckpointId) -> std::string { throw SaverError("no disk"); }),
        SaverError);
}

TEST_CASE("a thread's rewriting is bounded in bytes") {
    Line line(6);
    CHECK(line.plan({.keep_last = 1}, line.bytes()).dropped == idsTo(5));
    CHECK(line.plan({.keep_last = 1}, line.bytes() - 1).dropped.empty());
    // All logs of a thread count together.
    const PruneRequest request{.keep_last = 1};
    ThreadPrune prune(request, line.bytes() + 1);
    const auto read = [&](std::string_view, CheckpointId id) { return line.rows.at(id); };
    std::vector<LogLinks> logs{line.links, line.links};
    logs[1].checkpoint_ns = "node:1:";
    const std::vector<LogPlan> plans = prune.plan(logs, read);
    CHECK(plans[0].dropped == idsTo(5));
    CHECK(plans[1].dropped.empty());
}

TEST_CASE("rewriting pays when a log has grown by as much as its last whole commit holds") {
    Line line(20);
    const PruneRequest request{.keep_last = 1, .rewrite = Rewrite::when_it_pays};
    CHECK(line.plan(request).dropped == idsTo(19));
    line.links.commits[0].bytes = line.bytes() - line.links.commits[0].bytes;  // as large as all others
    CHECK(line.plan(request).dropped == idsTo(19));
    ++line.links.commits[0].bytes;
    CHECK(line.plan(request).dropped.empty());
    CHECK(line.asked.empty());  // it did not have to look
    CHECK(line.plan({.keep_last = 1}).dropped == idsTo(19));
}

TEST_CASE("a memory saver without room to write branches whole keeps what they are read from") {
    const LogName log{"t"};
    const auto fill = [&](MemorySaver& saver) {
        putOne(saver, log, {}, makeAppend(1, 0, 1, std::string(20'000, 'x')));
        putOne(saver, log, nthId(1), makeAppend(2, 1, 1));
        putOne(saver, log, nthId(2), makeAppend(3, 1, 1));
    };
    MemorySaver small({.bytes_max = 30'000});
    fill(small);
    const auto before = valuesIn(small, log);
    CHECK(small.prune({.keep_last = 2}) == 0);
    CHECK(readsAsIn(small, log, before));
    CHECK(*small.storedBytes() < 30'000);
    MemorySaver large({.bytes_max = 60'000});
    fill(large);
    CHECK(large.prune({.keep_last = 2}) == 1);
    CHECK(*large.storedBytes() > 40'000);
    CHECK(*large.storedBytes() <= 60'000);
    CHECK(readsAsIn(large, log, before));
    large.deleteThread("t");
    CHECK(*large.storedBytes() == 0);
}

TEST_CASE("random logs that grow, fork and are pruned keep what is wanted, and it reads as it always did") {
    const auto first_seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << first_seed);
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        bytes::Random random(first_seed);
        for (int round = 0; round < 40; ++round) {
            const std::string thread_id = std::to_string(round);
            const LogName log{thread_id};
            std::map<CheckpointId, std::map<std::string, Value>> known;
            std::map<CheckpointId, CheckpointId> bases;
            std::vector<CheckpointId> present;  // oldest first
            CheckpointId open;
            unsigned last = 0;
            for (int step = 0; step < 40; ++step) {
                if (!random.chance(6) || present.empty()) {
                    ++last;
                    const CheckpointId head = present.empty() ? CheckpointId() : present.back();
                    const CheckpointId parent =
                        present.empty() || !random.chance(4) ? head : present[random.below(present.size())];
                    const auto numberOf = [](CheckpointId id) {
                        return id.empty() ? 0
                                          : static_cast<unsigned>((id.time() - nthId(0).time()) /
                                                                  std::chrono::milliseconds(1));
                    };
                    // A commit is whole, or is read as its parent is, whose base may no longer exist.
                    const CheckpointId base = parent.empty() ? nthId(last) : bases.at(parent);
                    putOne(*saver, log, head, makeAppend(last, numberOf(parent), numberOf(base)));
                    bases[nthId(last)] = base;
                    present.push_back(nthId(last));
                    known.emplace(nthId(last), readChannels(log, *saver->getTuple({.log = log})));
                    continue;
                }
                if (random.chance(3)) {
                    if (!open.empty()) putWrite(*saver, log, present.back(), open, "p", makeTask(open, false));
                    open = present[random.below(present.size())];
                    putWrite(*saver, log, present.back(), open, "p", makeTask(open, true));
                }
                const std::size_t keep = 1 + random.below(6);
                const auto rewrite = static_cast<Rewrite>(random.below(3));
                const std::size_t dropped =
                    saver->prune({.thread_id = thread_id, .keep_last = keep, .rewrite = rewrite});
                std::vector<CheckpointId> left = listIds(*saver, log);
                std::reverse(left.begin(), left.end());
                REQUIRE(left.size() + dropped == present.size());
                std::vector<CheckpointId> wanted;
                for (std::size_t i = 0; i < present.size(); ++i) {
                    if (i + keep >= present.size() || present[i] == open) wanted.push_back(present[i]);
                }
                if (rewrite == Rewrite::always) {
                    REQUIRE(left == wanted);
                } else {
                    REQUIRE(std::includes(left.begin(), left.end(), wanted.begin(), wanted.end()));
                }
                present = left;
                REQUIRE(readsAsIn(*saver, log, known));
            }
        }
    });
}

}  // namespace stategraph::testing
