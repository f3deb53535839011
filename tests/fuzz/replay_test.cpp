#include <algorithm>

#include <doctest/doctest.h>

#include "tests/fault/rounds.hpp"
#include "tests/fuzz/replaying.hpp"
#include "tests/fuzz/targets.hpp"

namespace {

// The target as a function of a text.
template <int (*target)(const std::uint8_t*, std::size_t)>
int run(const std::string& bytes) {
    return target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

TEST_CASE("records of the fuzzers' corpus, and others like them, are read or refused") {
    fuzz::replay(run<fuzz::runRecord>, "fuzz/corpus/record", fault::rounds(60));
}
TEST_CASE("scenarios of the fuzzers' corpus, and others like them, run or are refused") {
    fuzz::replay(run<fuzz::runScenario>, "fuzz/corpus/scenario", fault::rounds(40));
}
TEST_CASE("texts of the fuzzers' corpus, and others like them, are read as partial JSON however they are split") {
    fuzz::replay(run<fuzz::runPartialJson>, "fuzz/corpus/partial_json", fault::rounds(400));
}
TEST_CASE("lines of the fuzzers' corpus, and others like them, are imported as they are or refused") {
    fuzz::replay(run<fuzz::runThreadLines>, "fuzz/corpus/thread_lines", fault::rounds(60));
}

TEST_CASE("the samples that the record target begins with are read to their end") {
    const auto samples = fuzz::recordSamples();
    REQUIRE(samples.size() > 8);
    const auto has = [&](const std::string& part) {
        return std::any_of(samples.begin(), samples.end(),
                           [&](const auto& sample) { return sample.name.find(part) != std::string::npos; });
    };
    CHECK(has("commit-"));
    CHECK(has("task-"));
    CHECK(has("log"));
    for (const auto& sample : samples) CHECK(run<fuzz::runRecord>(sample.bytes) == 0);
}
