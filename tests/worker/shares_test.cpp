#include "worker/shares.hpp"

#include <numeric>
#include <vector>

#include <doctest/doctest.h>

namespace sg = stategraph;
using sg::workers::Shares;

namespace {

std::vector<std::size_t> sumOf(Shares& shares, std::size_t free, int times, std::size_t queues) {
    std::vector<std::size_t> sum(queues, 0);
    for (int i = 0; i < times; ++i) {
        const auto most = shares.divide(free, std::vector<std::size_t>(queues, 0), std::vector<bool>(queues, false));
        for (std::size_t q = 0; q < queues; ++q) sum[q] += most[q];
    }
    return sum;
}

}  // namespace

TEST_CASE("free slots are divided by weights, also where a share is less than one slot") {
    const std::vector<sg::WorkerQueue> queues{{.name = "a", .weight = 6}, {.name = "b", .weight = 3}, {.name = "c"}};
    Shares shares(queues);
    CHECK(shares.divide(10, std::vector<std::size_t>(3, 0), std::vector<bool>(3, false)) ==
          std::vector<std::size_t>{6, 3, 1});
    CHECK(sumOf(shares, 1, 100, 3) == std::vector<std::size_t>{60, 30, 10});
}

TEST_CASE("what a queue cannot take, by its limit or because it is empty, others take") {
    const std::vector<sg::WorkerQueue> queues{{.name = "a", .weight = 9, .limit = 3}, {.name = "b"}};
    Shares shares(queues);
    CHECK(shares.divide(10, std::vector<std::size_t>{1, 0}, std::vector<bool>{false, false}) ==
          std::vector<std::size_t>{2, 8});
    CHECK(shares.divide(4, std::vector<std::size_t>{3, 0}, std::vector<bool>{false, false}) ==
          std::vector<std::size_t>{0, 4});
    CHECK(shares.divide(4, std::vector<std::size_t>{0, 0}, std::vector<bool>{false, true}) ==
          std::vector<std::size_t>{3, 0});
    CHECK(shares.divide(4, std::vector<std::size_t>{0, 0}, std::vector<bool>{true, true}) ==
          std::vector<std::size_t>{0, 0});
    // A queue that was empty must not receive all slots when it has work again.
    for (int i = 0; i < 50; ++i) (void)shares.divide(1, std::vector<std::size_t>{0, 0}, std::vector<bool>{false, true});
    const auto most = shares.divide(10, std::vector<std::size_t>{0, 0}, std::vector<bool>{false, false});
    CHECK(most[0] == 3);
    CHECK(most[1] == 7);
}
