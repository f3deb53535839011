#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The targets of the fuzzers. Each target accepts any bytes, returns 0, and throws nothing. A failure ends the process,
// which is how libFuzzer notices it. tests/fuzz/fuzz_*.cpp are libFuzzer's entries; tests/fuzz/replay_test.cpp runs the
// same targets with the corpus.
namespace fuzz {

/// Reads the bytes of a thread: a log of records, each with two bytes of length before it except the last.
int runRecord(const std::uint8_t* data, std::size_t size);

/// The JSON text of a conformance scenario.
int runScenario(const std::uint8_t* data, std::size_t size);

/// Reads a byte that says how, and a text for PartialJson.
int runPartialJson(const std::uint8_t* data, std::size_t size);

/// Imports what exportThread writes, or any other text.
int runThreadLines(const std::uint8_t* data, std::size_t size);

struct Sample {
    std::string name;
    std::string bytes;
};
/// Returns initial inputs: records of every kind, as the library writes them.
std::vector<Sample> recordSamples();

/// Returns an exported thread, unchanged and changed.
std::vector<Sample> threadLinesSamples();

/// Ends the process, and prints why.
[[noreturn]] void found(const std::string& why);

/// What `found` prints after that, so that the failure can be repeated; empty if there is nothing.
inline std::string repeated_by;

}  // namespace fuzz
