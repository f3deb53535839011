#include "checkpoint/record.hpp"

#include <random>

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "checkpoint/record_frame.hpp"

namespace stategraph::testing {
namespace {

using namespace checkpoint;

const CheckpointId own = nthId(5);
const RowKey commit_key{"t", "ns", own};
const RowKey task_key{"t", "ns", own, "path"};

std::string textItem(std::string_view text) {
    std::string cbor;
    Encoder(cbor).text(text);
    return cbor;
}

const std::string value = textItem("a value");

std::string writesItem() {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.array(2);
    writeLoggedWrite(encoder, "foo", WriteKind::add);
    encoder.raw(value);
    writeLoggedWrite(encoder, "bar", WriteKind::clear);
    return cbor;
}

std::string operationsItem() {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.map(2);
    writeLoggedOp(encoder, "bar", LogOp::clear);
    writeLoggedOp(encoder, "foo", LogOp::append);
    encoder.array(1);
    encoder.raw(value);
    return cbor;
}

const std::string writes_item = writesItem();
const std::string operations_item = operationsItem();
const std::string metadata_item = [] {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.map(1);
    encoder.text("who");
    encoder.text("me");
    return cbor;
}();

CommitFields fullCommit() {
    return {.id = own,
            .parent = CheckpointId(nthId(3).high(), 7),
            .base = nthId(2),
            .step = -1,
            .source = Source::fork,
            .folds = 12,
            .took = LoggedTook{.superstep_us = 1234, .commit_us = 56},
            .attempts = 3,
            .ran = {Ran::Kind::one, "node"},
            .next = {"a", "b"},
            .edges = std::vector<std::string_view>{"a"},
            .joins = {{"a+b", {"a"}}, {"c+d", {}}},
            .deferred = {{"d", Deferral::waiting}, {"join e", Deferral::released}},
            .sends = {{"worker", value}, {"worker", value}},
            .parents = {{"", nthId(4)}, {"child", nthId(1)}},
            .graph = 0xFFFF'FFFF'FFFF'FFFFULL,
            .schema = 0,
            .metadata = metadata_item,
            .input = writes_item,
            .writes = writes_item,
            .operations = operations_item};
}

TaskFields fullTask() {
    return {.node = "worker",
            .to = {"x", "y"},
            .sends = {{"worker", value}},
            .error = "it failed",
            .writes = writes_item,
            .took = LoggedTaskTime{.start_us = -7, .took_us = 89},
            .attempts = 4,
            .answers = {{TaskId(1, 2), 0, value}},
            .failure = LoggedFailure{3, "the node failed"},
            .interrupts = {{TaskId(1, 2), 0, value}, {TaskId(~0ULL, ~0ULL), 3, value}}};
}

std::string record(const CommitFields& commit) {
    std::string bytes;
    writeCommit(commit, bytes);
    return bytes;
}
std::string record(const TaskFields& task) {
    std::string bytes;
    writeTask(own, task, bytes);
    return bytes;
}

void readAll(std::string_view bytes, bool is_task) {
    if (is_task) {
        readTask(task_key, bytes);
        hasOpenInterrupt(task_key, bytes);
    } else {
        readHeader(commit_key, bytes);
        const CommitFields commit = readCommit(commit_key, bytes);
        readOperations(commit.operations);
    }
}

// Whether reading gives CorruptCheckpointError, and one that names the row.
bool isCorrupt(const std::string& bytes, bool is_task) {
    try {
        readAll(bytes, is_task);
    } catch (const CorruptCheckpointError& error) {
        return error.message().find(own.toString()) != std::string::npos;
    }
    return false;
}

}  // namespace

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

TEST_CASE("times and attempts of other types than theirs are damage") {
    const auto commitWith = [](const std::string& name, const std::string& item) {
        std::string bytes;
        const std::size_t start = openFrame(bytes, format_version);
        Encoder out(bytes);
        out.array(2);
        out.map(2);
        out.text("step");
        out.integer(1);
        out.text(name);
        out.raw(item);
        out.map(0);
        closeFrame(own, bytes, start);
        return bytes;
    };
    const auto taskWith = [](const std::string& name, const std::string& item) {
        std::string bytes;
        const std::size_t start = openFrame(bytes, format_version);
        Encoder out(bytes);
        out.map(2);
        out.text("node");
        out.text("a");
        out.text(name);
        out.raw(item);
        closeFrame(own, bytes, start);
        return bytes;
    };
    using namespace std::string_literals;
    // text, -1, [], [1], [1, -1], [1, 2, 3], null, {}
    for (const std::string& item :
         {textItem("x"), "\x20"s, "\x80"s, "\x81\x01"s, "\x82\x01\x20"s, "\x83\x01\x02\x03"s, "\xf6"s, "\xa0"s}) {
        CAPTURE(item);
        CHECK(isCorrupt(commitWith("took", item), false));
        CHECK(isCorrupt(commitWith("attempts", item), false));
        CHECK(isCorrupt(taskWith("took", item), true));
        CHECK(isCorrupt(taskWith("attempts", item), true));
    }
    CHECK(readCommit(commit_key, commitWith("took", "\x05")).took->superstep_us == 5);
    CHECK_FALSE(readCommit(commit_key, commitWith("took", "\x05")).took->commit_us);
    CHECK(readCommit(commit_key, commitWith("took", "\x82\x05\x00"s)).took->commit_us == std::uint64_t{0});
    CHECK(readTask(task_key, taskWith("took", "\x82\x20\x07")).took->start_us == -1);
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

TEST_CASE("every flipped bit and every truncation of a record is found") {
    for (const bool is_task : {false, true}) {
        std::string bytes = is_task ? record(fullTask()) : record(fullCommit());
        REQUIRE_NOTHROW(readAll(bytes, is_task));
        unsigned missed = 0;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            for (unsigned bits = 1; bits < 256; ++bits) {
                bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ bits);
                missed += !isCorrupt(bytes, is_task);
                bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ bits);
            }
        }
        // Copies of the exact size, so that a read past the end is seen by a sanitizer.
        for (std::size_t size = 0; size < bytes.size(); ++size)
            missed += !isCorrupt(std::string(bytes.data(), size), is_task);
        missed += !isCorrupt(bytes + '\0', is_task);
        CHECK(missed == 0);
    }
}

TEST_CASE("a record under another id is found") {
    const std::string bytes = record(fullCommit());
    CHECK_THROWS_AS(readCommit({"t", "ns", nthId(6)}, bytes), CorruptCheckpointError);
    CHECK_THROWS_AS(readHeader({"t", "ns", nthId(6)}, bytes), CorruptCheckpointError);
}

TEST_CASE("a record of a newer format says so") {
    std::string bytes = record(fullCommit());
    bytes[0] = 4;
    try {
        readCommit(commit_key, bytes);
        FAIL("it was read");
    } catch (const CorruptCheckpointError& error) {
        CHECK(error.message().find("format 4 is newer than this library's 3") != std::string::npos);
        CHECK(error.message().find("thread 't', namespace 'ns'") != std::string::npos);
    }
}

TEST_CASE("random bytes never crash a reader") {
    const unsigned seed = std::random_device{}();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    const auto upTo = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
    unsigned other = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes(upTo(200), '\0');
        for (char& c : bytes) c = static_cast<char>(upTo(255));
        if (!bytes.empty()) bytes[0] = 1;
        other += !isCorrupt(bytes, round % 2 == 0);
    }
    CHECK(other == 0);

    // Past the checksum: parts of good records in a wrong order, sealed as a writer would.
    const std::vector<std::string> parts{value, writes_item, operations_item, metadata_item};
    unsigned survived = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string item = parts[upTo(3)];
        for (std::size_t n = upTo(3); n > 0; --n) item[upTo(item.size() - 1)] = static_cast<char>(upTo(255));
        item.resize(1 + upTo(item.size() - 1));
        CommitFields commit = fullCommit();
        TaskFields task = fullTask();
        switch (upTo(4)) {
            case 0:
                commit.operations = item;
                break;
            case 1:
                commit.metadata = item;
                break;
            case 2:
                commit.input = item;
                break;
            case 3:
                commit.sends[0].payload = item;
                break;
            default:
                task.interrupts[0].value = item;
                break;
        }
        for (const bool is_task : {false, true}) {
            try {
                readAll(is_task ? record(task) : record(commit), is_task);
                ++survived;
            } catch (const CorruptCheckpointError&) {
            } catch (const WrongTypeError&) {  // of readOperations: its caller names the row
            }
        }
    }
    CHECK(survived > 0);
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
