// What products read of strangers: the fuzzers' corpus, and other texts like it.
#include <doctest/doctest.h>

#include "tests/fault/rounds.hpp"
#include "tests/fuzz/replaying.hpp"
#include "tests/fuzz_products/json_target.hpp"
#include "tests/fuzz_products/mcp_target.hpp"
#include "tests/fuzz_products/request_target.hpp"
#include "tests/fuzz_products/schema_target.hpp"
#include "tests/fuzz_products/sse_target.hpp"
#include "tests/fuzz_products/workflow_json_target.hpp"

TEST_CASE("texts like JSON are read as the same whoever reads them, or are refused") {
    fuzz::replay(fuzz::runJson, "fuzz_products/corpus/json", fault::rounds(400));
}
TEST_CASE("schemas and values of strangers are checked or refused") {
    fuzz::replay(fuzz::runSchema, "fuzz_products/corpus/schema", fault::rounds(200));
}
TEST_CASE("server-sent events are the same however they are split") {
    fuzz::replay(fuzz::runSse, "fuzz_products/corpus/sse", fault::rounds(400));
}
TEST_CASE("messages of MCP servers are read, or are told as unreadable") {
    fuzz::replay(fuzz::runMcp, "fuzz_products/corpus/mcp", fault::rounds(400));
}
TEST_CASE("workflows of strangers run within their limits or are refused") {
    fuzz::replay(fuzz::runWorkflowJson, "fuzz_products/corpus/workflow_json", fault::rounds(40));
}
TEST_CASE("targets and bodies of requests are read or refused") {
    fuzz::replay(fuzz::runRequest, "fuzz_products/corpus/request", fault::rounds(400));
}
