#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "tests/checkpoint/bytes.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/fuzz/targets.hpp"

// Runs the fuzzers' targets in the normal tests: with the corpus as it is, and with a few bytes of each file changed. A
// failure ends the process after printing its input.
namespace {

namespace fs = std::filesystem;

using Target = int (*)(const std::uint8_t*, std::size_t);

std::vector<fuzz::Sample> corpus(const std::string& target) {
    std::vector<fuzz::Sample> all;
    for (const auto& entry : fs::directory_iterator(fs::path(STATEGRAPH_TESTS_DIR) / "fuzz" / "corpus" / target)) {
        std::ifstream file(entry.path(), std::ios::binary);
        all.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return all;
}

int run(Target target, const std::string& bytes) {
    return target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string changed(std::string bytes, const std::string& other, bytes::Random& random) {
    for (std::size_t times = 1 + random.below(4); times > 0 && !bytes.empty(); --times) {
        const std::size_t at = random.below(bytes.size());
        const std::size_t size = random.below(std::min<std::size_t>(16, bytes.size() - at) + 1);
        switch (random.below(5)) {
            case 0:
                bytes[at] = static_cast<char>(random.bits());
                break;
            case 1:
                bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ 1U << random.below(8));
                break;
            case 2:
                bytes.erase(at, size);
                break;
            case 3:
                bytes.insert(at, bytes.substr(at, size));
                break;
            default:
                bytes.replace(at, size, other.substr(std::min(at, other.size()), size));
        }
    }
    return bytes;
}

void replay(Target target, const std::string& name, std::size_t mutations) {
    const std::uint64_t seed = bytes::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const auto files = corpus(name);
    REQUIRE(files.size() > 5);
    for (const auto& file : files) {
        CAPTURE(file.name);
        CHECK(run(target, file.bytes) == 0);
        for (std::size_t n = 0; n < mutations; ++n) {
            CAPTURE(n);
            fuzz::repeated_by =
                file.name + ", change " + std::to_string(n) + ": STATEGRAPH_TEST_SEED=" + std::to_string(seed);
            CHECK(run(target, changed(file.bytes, files[random.below(files.size())].bytes, random)) == 0);
        }
    }
}

}  // namespace

TEST_CASE("records of the fuzzers' corpus, and others like them, are read or refused") {
    replay(fuzz::runRecord, "record", fault::rounds(60));
}
TEST_CASE("scenarios of the fuzzers' corpus, and others like them, run or are refused") {
    replay(fuzz::runScenario, "scenario", fault::rounds(40));
}
TEST_CASE("texts of the fuzzers' corpus, and others like them, are read as partial JSON however they are split") {
    replay(fuzz::runPartialJson, "partial_json", fault::rounds(400));
}
TEST_CASE("lines of the fuzzers' corpus, and others like them, are imported as they are or refused") {
    replay(fuzz::runThreadLines, "thread_lines", fault::rounds(60));
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
    for (const auto& sample : samples) CHECK(run(fuzz::runRecord, sample.bytes) == 0);
}
