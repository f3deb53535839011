#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/checkpoint/bytes.hpp"
#include "tests/fuzz/found.hpp"
#include "tests/fuzz/sample.hpp"

// Runs targets of fuzzers in the normal tests: with their corpus as it is, and with a few bytes of each file changed. A
// failure ends the process after printing its input.
namespace fuzz {

/// Returns the files of tests/FOLDER, by name.
inline std::vector<Sample> corpus(const std::string& folder) {
    std::vector<Sample> all;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(STATEGRAPH_TESTS_DIR) / folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        all.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return all;
}

/// Returns the bytes with a few changes, also with bytes of the other text.
inline std::string changed(std::string bytes, const std::string& other, bytes::Random& random) {
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

/// Runs a target, which is called with a text and returns 0, on the files of tests/FOLDER, and on each of them with
/// changes, that many times.
template <class Target>
void replay(Target target, const std::string& folder, std::size_t mutations) {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const auto files = corpus(folder);
    REQUIRE(files.size() > 5);
    for (const auto& file : files) {
        CAPTURE(file.name);
        CHECK(target(file.bytes) == 0);
        for (std::size_t n = 0; n < mutations; ++n) {
            CAPTURE(n);
            repeated_by =
                file.name + ", change " + std::to_string(n) + ": STATEGRAPH_TEST_SEED=" + std::to_string(seed);
            CHECK(target(changed(file.bytes, files[random.below(files.size())].bytes, random)) == 0);
        }
    }
}

}  // namespace fuzz
