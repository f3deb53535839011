#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/found.hpp"
#include "tests/fuzz/sample.hpp"

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

/// Returns initial inputs: records of every kind, as the library writes them.
std::vector<Sample> recordSamples();

/// Returns an exported thread, unchanged and changed.
std::vector<Sample> threadLinesSamples();

}  // namespace fuzz
