// NOT WITH: sanitize=thread
#include <stategraph/error.hpp>

#include <string>

#include <doctest/doctest.h>

namespace sg = stategraph;

// Comparisons of codes are in double parentheses, because doctest would otherwise print them with the library's
// toString.
TEST_CASE("what() is the message when nothing is known about where") {
    const sg::InvalidUpdateError error("two values for channel 'x'");
    CHECK(std::string(error.what()) == "two values for channel 'x'");
    CHECK(error.message() == "two values for channel 'x'");
    CHECK((error.code() == sg::Errc::invalid_update));
}

TEST_CASE("what() names the known fields of the context and no others") {
    const sg::InvalidArgumentError some("no", {.thread_id = "t", .channel = "c"});
    CHECK(std::string(some.what()) == "no [thread 't', channel 'c']");
    const sg::InvalidArgumentError all(
        "no",
        {.thread_id = "t", .checkpoint_ns = "sub", .checkpoint_id = "0190", .node = "x", .channel = "c", .step = 3});
    CHECK(std::string(all.what()) ==
          "no [thread 't', namespace 'sub', checkpoint 0190, step 3, node 'x', channel 'c']");
    CHECK(all.message() == "no");
    const sg::InvalidArgumentError step("no", {.step = -1});
    CHECK(std::string(step.what()) == "no [step -1]");
}

TEST_CASE("context grows on the way up and what is known stays") {
    sg::WrongTypeError error("bad", {.node = "inner"});
    error.addContext({.node = "outer", .channel = "c"});
    error.addContext({.thread_id = "1", .step = 0});
    error.addContext({.step = 7});
    CHECK(std::string(error.what()) == "bad [thread '1', step 0, node 'inner', channel 'c']");
    CHECK(error.context().step == 0);
}

TEST_CASE("an invalid graph lists every fault") {
    const sg::InvalidGraphError one({"node 'a' is not reachable"});
    CHECK(std::string(one.what()) == "invalid graph: node 'a' is not reachable");
    const sg::InvalidGraphError two({"fault A", "fault B"});
    CHECK(std::string(two.what()) == "invalid graph, 2 faults: fault A; fault B");
    CHECK(two.faults() == std::vector<std::string>{"fault A", "fault B"});
}

TEST_CASE("a node's error keeps the original exception and its text") {
    const auto original = std::make_exception_ptr(std::runtime_error("disk on fire"));
    const sg::NodeError error("node 'a' failed: disk on fire", original, "00ff", {.node = "a"});
    CHECK(error.reason() == "disk on fire");
    CHECK(error.taskId() == "00ff");
    CHECK((error.code() == sg::Errc::node_failed));
    CHECK_THROWS_AS(std::rethrow_exception(error.original()), std::runtime_error);
    CHECK(std::string(error.what()) == "node 'a' failed: disk on fire [node 'a']");
}

TEST_CASE("a byte of value 0 in a message or a name does not end what() early") {
    const std::string thread("t\0x", 3);
    sg::Error error(sg::Errc::invalid_argument, std::string("'\0' is no number; give one", 26), {.thread_id = thread});
    CHECK(std::string(error.what()) == "'\\0' is no number; give one [thread 't\\0x']");
    CHECK(error.message().size() == 26);
    error.addContext({.node = std::string("\0\0", 2)});
    CHECK(std::string(error.what()).ends_with("node '\\0\\0']"));
    error.addOthers({std::make_exception_ptr(sg::SaverError(std::string("a\0b", 3)))});
    CHECK(std::string(error.what()).ends_with("and: a\\0b"));
}

TEST_CASE("any exception has a description") {
    CHECK(sg::detail::describe(std::make_exception_ptr(std::logic_error("why"))) == "why");
    CHECK(sg::detail::describe(std::make_exception_ptr(42)) == "unknown exception");
    CHECK(sg::detail::describe(nullptr) == "unknown exception");
}

TEST_CASE("every kind is caught as Error and has a name of its own") {
    CHECK_THROWS_AS(throw sg::SaverError("x"), sg::Error);
    CHECK(std::string(sg::toString(sg::Errc::recursion_limit)) == "GRAPH_RECURSION_LIMIT");
    CHECK(std::string(sg::toString(sg::Errc::invalid_update)) == "INVALID_CONCURRENT_GRAPH_UPDATE");
    CHECK(std::string(sg::toString(sg::Errc::missing_checkpointer)) == "MISSING_CHECKPOINTER");
    CHECK(std::string(sg::toString(sg::Errc::corrupt_checkpoint)) == "CORRUPT_CHECKPOINT");
    CHECK(std::string(sg::toString(sg::Errc::store_failed)) == "STORE_FAILED");
    CHECK(std::string(sg::toString(sg::Errc::corrupt_store)) == "CORRUPT_STORE");
    CHECK(std::string(sg::toString(sg::Errc::missing_store)) == "MISSING_STORE");
    CHECK((sg::GraphRecursionError("x").code() == sg::Errc::recursion_limit));
    CHECK((sg::ConcurrentUpdateError("x").code() == sg::Errc::concurrent_update));
    CHECK((sg::EmptyInputError("x").code() == sg::Errc::empty_input));
    CHECK((sg::MissingCheckpointerError("x").code() == sg::Errc::missing_checkpointer));
    CHECK((sg::StoreError("x").code() == sg::Errc::store_failed));
    CHECK((sg::CorruptStoreError("x").code() == sg::Errc::corrupt_store));
    CHECK((sg::StoreChangedError("x").code() == sg::Errc::store_changed));
    CHECK(std::string(sg::toString(sg::Errc::store_changed)) == "STORE_CHANGED");
    CHECK((sg::MissingStoreError("x").code() == sg::Errc::missing_store));
    CHECK((sg::LeaseLostError("x").code() == sg::Errc::lease_lost));
    CHECK(std::string(sg::toString(sg::Errc::lease_lost)) == "LEASE_LOST");
    CHECK_THROWS_AS(throw sg::LeaseLostError("x"), sg::ConcurrentUpdateError);
}
