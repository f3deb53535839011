#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

// The targets of the fuzzers for what products read. Each accepts any bytes, returns 0, and throws nothing; a failure
// ends the process. cmake/Fuzz.cmake makes a fuzzer of each; replay_test.cpp runs them in the normal tests.
namespace fuzz {

using Target = int (*)(std::string_view bytes);

/// A text that readJson reads: the same again when it is written and read, and no other value of parseJson.
int runJson(std::string_view bytes);
/// A JSON Schema, a line with `---`, and a value that is checked by it.
int runSchema(std::string_view bytes);
/// A byte that says how the rest is split, and server-sent events.
int runSse(std::string_view bytes);
/// A message of an MCP server, or a batch.
int runMcp(std::string_view bytes);
/// A workflow from JSON, which is run.
int runWorkflowJson(std::string_view bytes);
/// A request's target, a line's end, and its body, which is also read as a chat's.
int runRequest(std::string_view bytes);

}  // namespace fuzz
