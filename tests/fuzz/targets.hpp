#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What is fuzzed. Each target takes any bytes, returns 0, and lets nothing out: what should not happen ends the
// process, which is how libFuzzer is told. tests/fuzz/fuzz_*.cpp are libFuzzer's entries, tests/fuzz/replay_test.cpp
// the same targets over the corpus.
namespace fuzz {

/// The bytes of a thread: a log of records, each with two bytes of length before it, the last one without.
int runRecord(const std::uint8_t* data, std::size_t size);

/// The JSON text of a conformance scenario.
int runScenario(const std::uint8_t* data, std::size_t size);

/// A byte that says how, and a text that PartialJson reads.
int runPartialJson(const std::uint8_t* data, std::size_t size);

/// What exportThread writes, or anything else: importThread reads it.
int runThreadLines(const std::uint8_t* data, std::size_t size);

struct Sample {
    std::string name;
    std::string bytes;
};
/// Inputs to begin with: records of every kind, as the library writes them.
std::vector<Sample> recordSamples();

/// An exported thread, as it is and changed.
std::vector<Sample> threadLinesSamples();

/// Ends the process, saying why.
[[noreturn]] void found(const std::string& why);

/// What `found` prints after that, so that it can be repeated; empty: nothing.
inline std::string repeated_by;

}  // namespace fuzz
