// NOT WITH: sanitize=thread
#include "src/checkpoint/record.hpp"

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/checkpoint/records.hpp"

namespace stategraph::testing {

using namespace checkpoint;
using namespace records;

TEST_CASE("a commit with every field is read back as it was written") {
    const std::string bytes = "earlier" + record(fullCommit());
    const CommitFields commit = readCommit(commit_key, std::string_view(bytes).substr(7));
    const CommitFields expected = fullCommit();
    CHECK(commit.id == expected.id);
    CHECK(commit.parent == expected.parent);
    CHECK(commit.base == expected.base);
    CHECK(commit.step == -1);
    CHECK((commit.source == Source::fork));
    CHECK(commit.folds == 12);
    REQUIRE(commit.took);
    CHECK(commit.took->superstep_us == 1234);
    CHECK(commit.took->commit_us == std::uint64_t{56});
    CHECK(commit.attempts == 3);
    CHECK(commit.ran.kind == Ran::Kind::one);
    CHECK(commit.ran.node == "node");
    CHECK(commit.next == expected.next);
    CHECK(commit.edges == expected.edges);
    REQUIRE(commit.joins.size() == 2);
    CHECK(commit.joins[0].key == "a+b");
    CHECK(commit.joins[0].arrived == expected.joins[0].arrived);
    CHECK(commit.joins[1].arrived.empty());
    REQUIRE(commit.deferred.size() == 2);
    CHECK(commit.deferred[0].state == Deferral::waiting);
    CHECK(commit.deferred[1].key == "join e");
    REQUIRE(commit.sends.size() == 2);
    CHECK(commit.sends[1].node == "worker");
    CHECK(commit.sends[1].payload == value);
    REQUIRE(commit.parents.size() == 2);
    CHECK(commit.parents[0].checkpoint_ns.empty());
    CHECK(commit.parents[1].id == nthId(1));
    CHECK(commit.graph == expected.graph);
    CHECK(commit.schema == std::uint64_t{0});
    CHECK(commit.metadata == metadata_item);
    CHECK(commit.input == writes_item);
    CHECK(commit.writes == writes_item);
    CHECK(commit.operations == operations_item);

    const CommitHeader header = readHeader(commit_key, std::string_view(bytes).substr(7));
    CHECK(header.parent == expected.parent);
    CHECK(header.base == expected.base);
    CHECK(header.step == -1);
    CHECK(header.metadata == metadata_item);
    CHECK(header.next == std::vector<std::string>{"__start__", "a", "b", "worker", "worker"});
}

TEST_CASE("a commit with nothing but a step is small and reads as the defaults") {
    const std::string bytes = record(CommitFields{.id = own, .step = 3});
    CHECK(bytes.size() < 24);
    const CommitFields commit = readCommit(commit_key, bytes);
    CHECK(commit.step == 3);
    CHECK(commit.parent.empty());
    CHECK(commit.base == own);
    CHECK((commit.source == Source::loop));
    CHECK(commit.folds == 1);
    CHECK_FALSE(commit.took);
    CHECK(commit.attempts == 1);
    CHECK(commit.ran.kind == Ran::Kind::unchanged);
    CHECK(commit.next.empty());
    CHECK_FALSE(commit.edges);
    CHECK_FALSE(commit.graph);
    CHECK_FALSE(commit.writes);
    CHECK_FALSE(commit.input);
    CHECK(readOperations(commit.operations).empty());
    const CommitFields several =
        readCommit(commit_key, record(CommitFields{.id = own, .ran = {Ran::Kind::several, {}}}));
    CHECK(several.ran.kind == Ran::Kind::several);
}

TEST_CASE("references to ids of any distance and low half survive") {
    for (const CheckpointId id :
         {CheckpointId(), nthId(4), own, CheckpointId(own.high(), 1), CheckpointId(0, own.low()),
          CheckpointId(own.high() + 1, own.low()), CheckpointId(~0ULL, ~0ULL)}) {
        CHECK(readCommit(commit_key, record(CommitFields{.id = own, .parent = id})).parent == id);
        const CheckpointId base = readCommit(commit_key, record(CommitFields{.id = own, .base = id})).base;
        CHECK(base == (id.empty() ? own : id));
    }
}

TEST_CASE("operations and writes are read back as they were written") {
    const auto operations = readOperations(operations_item);
    REQUIRE(operations.size() == 2);
    CHECK(operations[0].channel == "bar");
    CHECK(operations[0].op == LogOp::clear);
    CHECK(operations[0].value.empty());
    CHECK(operations[1].op == LogOp::append);
    CHECK(operations[1].value.size() == value.size() + 1);
    const auto writes = readWrites(writes_item);
    REQUIRE(writes.size() == 2);
    CHECK(writes[0].channel == "foo");
    CHECK(writes[0].kind == WriteKind::add);
    CHECK(writes[0].value == value);
    CHECK(writes[1].kind == WriteKind::clear);
    CHECK_THROWS_AS(readOperations(writes_item), WrongTypeError);
    CHECK_THROWS_AS(readWrites(operations_item), WrongTypeError);
}

TEST_CASE("a pending write with every field is read back as it was written") {
    const std::string bytes = record(fullTask());
    const TaskFields task = readTask(task_key, bytes);
    const TaskFields expected = fullTask();
    REQUIRE(task.took);
    CHECK(task.took->start_us == -7);
    CHECK(task.took->took_us == 89);
    CHECK(task.attempts == 4);
    CHECK(task.node == "worker");
    CHECK(task.to == expected.to);
    REQUIRE(task.sends.size() == 1);
    CHECK(task.sends[0].payload == value);
    CHECK(task.error == "it failed");
    CHECK(task.writes == writes_item);
    REQUIRE(task.answers.size() == 1);
    CHECK(task.answers[0].id == TaskId(1, 2));
    REQUIRE(task.failure);
    CHECK(task.failure->attempts == 3);
    CHECK(task.failure->text == "the node failed");
    REQUIRE(task.interrupts.size() == 2);
    CHECK(task.interrupts[1].id == TaskId(~0ULL, ~0ULL));
    CHECK(task.interrupts[1].index == 3);
    CHECK(task.interrupts[1].value == value);
    const std::string little = record(TaskFields{.node = "n"});
    CHECK(readTask(task_key, little).node == "n");
    CHECK_FALSE(readTask(task_key, little).writes);
}

TEST_CASE("keys of questions are stored where a question has one") {
    const LoggedInterrupt plain{TaskId(1, 2), 0, value};
    const LoggedInterrupt keyed{TaskId(3, 4), 0, value, "approve"};
    const std::string without = record(TaskFields{.node = "n", .interrupts = {plain}});
    CHECK(without.find("keys") == std::string::npos);
    const std::string with = record(TaskFields{.node = "n", .answers = {plain}, .interrupts = {plain, keyed}});
    const TaskFields read = readTask(task_key, with);
    REQUIRE(read.interrupts.size() == 2);
    CHECK(read.interrupts[0].key.empty());
    CHECK(read.interrupts[1].key == "approve");
    REQUIRE(checkpoint::openQuestions(read).size() == 1);
    CHECK(checkpoint::openQuestions(read)[0]->key == "approve");
}

TEST_CASE("an interrupt is open until it is answered or its task has finished") {
    const auto isOpen = [](TaskFields task) { return hasOpenInterrupt(task_key, record(task)); };
    const LoggedInterrupt first{TaskId(1, 2), 0, value};
    const LoggedInterrupt second{TaskId(1, 2), 1, value};
    CHECK_FALSE(isOpen({.node = "n"}));
    CHECK(isOpen({.node = "n", .interrupts = {first}}));
    CHECK(isOpen({.node = "n", .answers = {first}, .interrupts = {first, second}}));
    CHECK(isOpen({.node = "n", .answers = {first}, .interrupts = {second}}));
    CHECK_FALSE(isOpen({.node = "n", .answers = {second, first}, .interrupts = {first, second}}));
    CHECK_FALSE(isOpen({.node = "n", .writes = writes_item, .interrupts = {first}}));
}

TEST_CASE("more than eight parents are written as ids, and read with the namespaces that the log's own begins with") {
    std::string ns;
    std::vector<std::size_t> ends{0};
    for (int i = 0; i < 12; ++i) {
        ns += (i == 0 ? "n" : "|n") + std::to_string(i);
        ends.push_back(ns.size());
    }
    const auto write = [&](std::size_t count) {
        CommitFields fields{.id = own, .operations = operations_item};
        for (std::size_t i = 0; i < count; ++i)
            fields.parents.push_back({std::string_view(ns).substr(0, ends[i]), nthId(static_cast<int>(i) + 1)});
        std::string bytes;
        writeCommit(fields, bytes);
        return bytes;
    };
    const auto keyOf = [&](std::size_t parents) {
        return RowKey{"t", std::string_view(ns).substr(0, ends[parents]), own};
    };
    for (const std::size_t count : {1U, 8U, 9U, 12U}) {
        CAPTURE(count);
        const std::string bytes = write(count);
        const CommitFields read = readCommit(keyOf(count), bytes);
        REQUIRE(read.parents.size() == count);
        for (std::size_t i = 0; i < count; ++i) {
            CHECK(read.parents[i].checkpoint_ns == std::string_view(ns).substr(0, ends[i]));
            CHECK(read.parents[i].id == nthId(static_cast<int>(i) + 1));
        }
        CHECK(readLinks(keyOf(count), bytes).root == nthId(1));
        std::string again;
        writeCommit(read, again);
        CHECK(again == bytes);  // as a prune writes it
    }
    CHECK(write(9).size() < write(8).size());
    const std::string bytes = write(9);
    CHECK_THROWS_WITH_AS(readCommit(keyOf(8), bytes), doctest::Contains("less deeply"), CorruptCheckpointError);
    CHECK_THROWS_WITH_AS(readCommit(keyOf(10), bytes), doctest::Contains("more deeply"), CorruptCheckpointError);
    CHECK_THROWS_AS(readCommit({"t", "", own}, bytes), CorruptCheckpointError);
}

}  // namespace stategraph::testing
