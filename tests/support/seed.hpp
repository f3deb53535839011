#pragma once
#include <cstdlib>
#include <random>
#include <string_view>

#ifndef STATEGRAPH_TEST_NIGHTLY
#define STATEGRAPH_TEST_NIGHTLY 0
#endif

namespace tests {

/// The seed of a test with random data, which the test prints. It is STATEGRAPH_TEST_SEED if that is set. Otherwise it
/// depends on the number of commits alone (STATEGRAPH_TEST_TURN, of scripts/test.sh): each commit tries other data, and
/// what has passed passes again. `--nightly`, and STATEGRAPH_TEST_SEED=random, try other data each time.
inline unsigned seed() {
    const char* const given = std::getenv("STATEGRAPH_TEST_SEED");
    const bool is_random = given != nullptr ? std::string_view(given) == "random" : STATEGRAPH_TEST_NIGHTLY == 1;
    if (is_random) return std::random_device()();
    if (given != nullptr) return static_cast<unsigned>(std::strtoul(given, nullptr, 10));
    const char* const turn = std::getenv("STATEGRAPH_TEST_TURN");
    const auto commits = turn != nullptr ? static_cast<unsigned>(std::strtoul(turn, nullptr, 10)) : 0U;
    return 0x9E37'79B9U * (commits + 1);
}

}  // namespace tests
