#pragma once
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// A prune that rewrites kept commits as a whole, so that the commits they were read from can be dropped.
namespace stategraph::testing {

/// False for a factory with `static constexpr bool seals_records = true`: only the outer saver can read its records, so
/// its prunes behave as with Rewrite::never.
template <typename Factory>
constexpr bool canRewrite() {
    if constexpr (requires { Factory::seals_records; }) {
        return !Factory::seals_records;
    } else {
        return true;
    }
}

/// Appends the commit's number and `more` to "list", and sets "last" to the number.
inline TestCommit makeAppend(unsigned n, unsigned parent, unsigned base, std::string_view more = {}) {
    const std::string number = std::to_string(n);
    return makeCommit(
        {.id = nthId(n),
         .parent = parent ? nthId(parent) : CheckpointId(),
         .base = nthId(base),
         .step = n,
         .changes = {
             {.channel = "list", .kind = ChannelChange::Kind::append, .value = Value(number + std::string(more))},
             {.channel = "last", .value = Value(number)}}});
}

/// Puts the commits `from`..`to`, one after another, read from `base`.
inline void putAppends(BaseCheckpointSaver& saver, const LogName& log, unsigned from, unsigned to, unsigned base,
                       std::string_view more = {}) {
    for (unsigned n = from; n <= to; ++n)
        putOne(saver, log, n > 1 ? nthId(n - 1) : CheckpointId(), makeAppend(n, n - 1, base, more));
}

/// The values of every checkpoint of a log.
inline std::map<CheckpointId, std::map<std::string, Value>> valuesIn(BaseCheckpointSaver& saver, const LogName& log) {
    std::map<CheckpointId, std::map<std::string, Value>> values;
    for (const CheckpointId id : listIds(saver, log)) {
        const auto tuple = saver.getTuple({.log = log, .checkpoint_id = id});
        REQUIRE(tuple);
        values.emplace(id, readChannels(log, *tuple));
    }
    return values;
}

/// The number of items in "list" at that commit; none: at the head.
inline std::size_t itemsAt(BaseCheckpointSaver& saver, const LogName& log, CheckpointId id = {}) {
    const auto tuple = saver.getTuple({.log = log, .checkpoint_id = id});
    REQUIRE(tuple);
    const Value list = readChannels(log, *tuple).at("list");
    return Decoder(list.bytes()).array();
}

/// Whether every remaining checkpoint reads as before.
inline bool readsAsIn(BaseCheckpointSaver& saver, const LogName& log,
                      const std::map<CheckpointId, std::map<std::string, Value>>& before) {
    for (const auto& [id, values] : valuesIn(saver, log)) {
        if (!before.contains(id) || before.at(id) != values) return false;
    }
    return true;
}

TEST_CASE_TEMPLATE_DEFINE("a prune leaves as many checkpoints as are requested, and they read as before", Factory,
                          saver_prune_exactly) {
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putAppends(*saver, log, 1, 100, 1);
    putWrite(*saver, log, nthId(100), nthId(100), "p", makeTask(nthId(100), false));
    const auto before = valuesIn(*saver, log);
    CHECK(saver->prune({.keep_last = 5, .rewrite = Rewrite::never}) == 0);
    if constexpr (!canRewrite<Factory>()) {
        CHECK(saver->prune({.keep_last = 5}) == 0);
        CHECK(listIds(*saver, log).size() == 100);
        return;
    }
    CHECK(saver->prune({.thread_id = "t", .keep_last = 5}) == 95);
    CHECK(listIds(*saver, log) == nthIds({100, 99, 98, 97, 96}));
    CHECK(readsAsIn(*saver, log, before));
    CHECK(idsOf(saver->getTuple({.log = log, .checkpoint_id = nthId(98)})->commits) == nthIds({96, 97, 98}));
    CHECK(readLinks({"t", "", nthId(96)},
                    saver->getTuple({.log = log, .checkpoint_id = nthId(96)})->commits.front().bytes)
              .parent == nthId(95));
    // The same by age. Nothing is read from what was dropped, so the next prune need not keep it.
    CHECK(saver->prune({.keep_last = 5}) == 0);
    CHECK(saver->prune({.older_than = nthId(99).time()}) == 3);
    CHECK(listIds(*saver, log) == nthIds({100, 99}));
    CHECK(readsAsIn(*saver, log, before));
    CHECK(saver->prune({.keep_last = 1}) == 1);
    CHECK(listIds(*saver, log) == nthIds({100}));
    CHECK(readsAsIn(*saver, log, before));
    CHECK(writesOf(*saver, log, 100).size() == 1);
    CHECK(saver->prune({.keep_last = 1}) == 0);
    // The thread continues.
    putAppends(*saver, log, 101, 110, 100);
    CHECK(itemsAt(*saver, log) == 110);
    saver->copyThread("t", "copy");
    CHECK(saver->prune({.thread_id = "copy", .keep_last = 2}) == 9);
    CHECK(readsAsIn(*saver, {"copy"}, valuesIn(*saver, log)));
    CHECK(saver->prune({.thread_id = "t", .keep_last = 1}) == 10);
    CHECK(itemsAt(*saver, log) == 110);
}

TEST_CASE_TEMPLATE_DEFINE("branches and old open interrupts outlive what they were read from", Factory,
                          saver_prune_branches) {
    if constexpr (!canRewrite<Factory>()) return;
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "node"}}) {
        putAppends(*saver, log, 1, 10, 1);
        // From 5 follows 11 - 13 - 15, and from 7 follows 12 - 14.
        unsigned head = 10;
        for (const auto& [n, parent] :
             std::vector<std::pair<unsigned, unsigned>>{{11, 5}, {12, 7}, {13, 11}, {14, 12}, {15, 13}}) {
            putOne(*saver, log, nthId(head), makeAppend(n, parent, 1));
            head = n;
        }
    }
    const LogName log{"t"};
    putWrite(*saver, log, nthId(15), nthId(3), "p", makeTask(nthId(3), true));
    const auto before = valuesIn(*saver, log);
    CHECK(saver->prune({.keep_last = 2}) == 12 + 13);
    CHECK(listIds(*saver, log) == nthIds({15, 14, 3}));
    CHECK(listIds(*saver, {"t", "node"}) == nthIds({15, 14}));
    CHECK(readsAsIn(*saver, log, before));
    CHECK(readsAsIn(*saver, {"t", "node"}, before));
    CHECK(writesOf(*saver, log, 3).size() == 1);
    // A fork of the old commit.
    putOne(*saver, log, nthId(15), makeAppend(16, 3, 3));
    CHECK(itemsAt(*saver, log) == 4);
    const auto after = valuesIn(*saver, log);
    putWrite(*saver, log, nthId(16), nthId(3), "p", makeTask(nthId(3), false));
    CHECK(saver->prune({.thread_id = "t", .keep_last = 1}) == 3 + 1);
    CHECK(listIds(*saver, log) == nthIds({16}));
    CHECK(readsAsIn(*saver, log, after));
}

TEST_CASE_TEMPLATE_DEFINE("a reader of a checkpoint before it was written whole may continue from it", Factory,
                          saver_prune_writers) {
    if constexpr (!canRewrite<Factory>()) return;
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    putAppends(*saver, log, 1, 6, 1);
    CHECK(saver->prune({.keep_last = 3}) == 3);
    // All of them state that they are read from 1.
    putOne(*saver, log, nthId(6), makeAppend(7, 6, 1));
    putOne(*saver, log, nthId(7), makeAppend(8, 4, 1));
    CHECK_THROWS_AS(putOne(*saver, log, nthId(8), makeAppend(9, 3, 1)), ConcurrentUpdateError);
    putOne(*saver, log, nthId(8), makeAppend(9, 5, 1));
    const std::map<unsigned, std::size_t> sizes{{4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 5}, {9, 6}};
    for (const auto& [n, size] : sizes) {
        CHECK(itemsAt(*saver, log, nthId(n)) == size);
    }
    const auto before = valuesIn(*saver, log);
    CHECK(saver->prune({.keep_last = 2}) == 4);
    CHECK(listIds(*saver, log) == nthIds({9, 8}));
    CHECK(readsAsIn(*saver, log, before));
}

TEST_CASE_TEMPLATE_DEFINE("rewriting only where it pays is cheap however often one prunes", Factory, saver_prune_pays) {
    if constexpr (!canRewrite<Factory>()) return;
    Factory factory;
    const auto saver = factory.make();
    const LogName log{"t"};
    std::size_t put_bytes = 0;
    std::size_t rewritten_bytes = 0;
    std::size_t most = 0;
    unsigned base = 1;
    const PruneRequest request{.keep_last = 1, .rewrite = Rewrite::when_it_pays};
    for (unsigned round = 0; round < 64; ++round) {
        std::map<CheckpointId, std::string> before;
        for (unsigned n = round * 10 + 1; n <= round * 10 + 10; ++n) {
            const TestCommit commit = makeAppend(n, n - 1, base, std::string(100, 'x'));
            putOne(*saver, log, n > 1 ? nthId(n - 1) : CheckpointId(), commit);
            put_bytes += commit.bytes.size();
        }
        for (const auto& row : saver->list({.thread_id = "t"})) before.emplace(row.id, row.bytes);
        saver->prune(request);
        std::size_t bytes = 0;
        const auto left = saver->list({.thread_id = "t"});
        for (const auto& row : left) {
            bytes += row.bytes.size();
            if (before.at(row.id) != row.bytes) rewritten_bytes += row.bytes.size();
        }
        most = std::max(most, left.size());
        CHECK(bytes <= put_bytes);
        base = static_cast<unsigned>((left.back().id.time() - nthId(0).time()) / std::chrono::milliseconds(1));
        CHECK(itemsAt(*saver, log) == round * 10 + 10);
    }
    CHECK(rewritten_bytes > 0);
    CHECK(rewritten_bytes < 2 * put_bytes);
    CHECK(most < 640);
    // Two branches that each hold most of the content: rewriting both would take more space than it frees.
    const LogName forked{"forked"};
    putAppends(*saver, forked, 1, 20, 1, std::string(300, 'x'));
    putOne(*saver, forked, nthId(20), makeAppend(21, 19, 1));
    PruneRequest both = request;
    both.keep_last = 2;
    CHECK(saver->prune(both) == 0);
    both.rewrite = Rewrite::always;
    both.thread_id = "forked";
    CHECK(saver->prune(both) == 19);
}

}  // namespace stategraph::testing
