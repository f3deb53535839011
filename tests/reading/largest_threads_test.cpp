#include <stategraph/stats.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/support/savers.hpp"

namespace stategraph::testing {
namespace {

std::vector<std::string> namesOf(const std::vector<ThreadStats>& threads) {
    std::vector<std::string> names;
    for (const ThreadStats& thread : threads) names.push_back(thread.thread_id);
    return names;
}

}  // namespace

TEST_CASE("the largest threads come first, and the totals are those of all threads") {
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        putLine(*saver, {"small"}, 1);
        putLine(*saver, {"large"}, 5);
        putLine(*saver, {"middle"}, 3);
        putLine(*saver, {"middle", "inside"}, 1);
        const SaverStats largest = statsOfLargest(*saver, 2);
        REQUIRE(namesOf(largest.per_thread) == std::vector<std::string>{"large", "middle"});
        CHECK(largest.per_thread[1].namespaces == 2);
        CHECK(largest.per_thread[1].commits == 4);
        const SaverStats all = saver->stats();
        CHECK(largest.threads == 3);
        CHECK(largest.total.commits == all.total.commits);
        CHECK(largest.total.bytes() == all.total.bytes());
        CHECK(statsOfLargest(*saver, 0).per_thread.empty());
        CHECK(statsOfLargest(*saver, 0).total.bytes() == all.total.bytes());
    });
}

TEST_CASE("the largest of many threads are the first of all by size, and of equal size by name") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    MemorySaver saver;
    for (int i = 0; i < 200; ++i) {
        const std::string name = std::to_string(random.bits());
        putLine(saver, {name}, static_cast<unsigned>(1 + random.below(8)));
    }
    std::vector<ThreadStats> sorted = saver.stats().per_thread;
    std::ranges::sort(sorted, [](const ThreadStats& a, const ThreadStats& b) {
        return a.bytes() != b.bytes() ? a.bytes() > b.bytes() : a.thread_id < b.thread_id;
    });
    std::vector<std::string> names = namesOf(sorted);
    for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{50}, names.size(), names.size() + 1}) {
        CAPTURE(most);
        const std::vector<std::string> wanted(names.begin(), names.begin() + std::min(most, names.size()));
        CHECK(namesOf(statsOfLargest(saver, most).per_thread) == wanted);
    }
}

}  // namespace stategraph::testing
