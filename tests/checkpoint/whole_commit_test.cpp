// NOT WITH: sanitize=thread
#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"
#include "src/checkpoint/record_frame.hpp"

// A commit that is rewritten with everything from which it was read.
namespace stategraph::checkpoint {
namespace {

using testing::nthId;

const LogName log{"t", "ns"};

std::string cborOf(const Value& value) { return std::string(value.bytes()); }

struct Op {
    std::string_view channel;
    LogOp op;
    std::string value;
};
std::string operationsOf(const std::vector<Op>& ops) {
    std::string cbor;
    Encoder out(cbor);
    out.map(ops.size());
    for (const Op& op : ops) {
        writeLoggedOp(out, op.channel, op.op);
        if (op.op != LogOp::clear) out.raw(op.value);
    }
    return cbor;
}
std::string listOf(const std::vector<std::string>& items) {
    std::string cbor;
    Encoder out(cbor);
    out.array(items.size());
    for (const auto& item : items) out.text(item);
    return cbor;
}
std::string recordOf(const CommitFields& fields) {
    std::string record;
    writeCommit(fields, record);
    return record;
}

// Two commits: the first contains what the second does not.
struct Chain {
    std::string first_ops = operationsOf({{"a", LogOp::append, listOf({"1"})},
                                          {"b", LogOp::set, cborOf(Value(7))},
                                          {"cc", LogOp::set, cborOf(Value(8))}});
    std::string second_ops = operationsOf(
        {{"a", LogOp::append, listOf({"2", "3"})}, {"cc", LogOp::clear, {}}, {"d", LogOp::set, cborOf(Value("d"))}});
    std::string metadata;
    std::string writes = std::string(
        "\x81\x82\x61"
        "a"
        "\x61"
        "-",
        6);  // [["a", "-"]]
    std::string payload = cborOf(Value("payload"));
    CommitFields first;
    CommitFields second;

    Chain() {
        Encoder out(metadata);
        out.map(1);
        out.text("user");
        out.text("me");
        first = {.id = nthId(1),
                 .base = nthId(1),
                 .step = -1,
                 .source = Source::input,
                 .ran = {Ran::Kind::one, "n"},
                 .next = {"x"},
                 .joins = {{"join:p+q:r", {"p"}}, {"join:s+t:u", {"s"}}},
                 .deferred = {{"late", Deferral::waiting}, {"off", Deferral::waiting}},
                 .graph = 11,
                 .schema = 12,
                 .operations = first_ops};
        second = {.id = nthId(2),
                  .parent = nthId(1),
                  .base = nthId(1),
                  .step = 4,
                  .folds = 3,
                  .next = {"y", "z"},
                  .edges = std::vector<std::string_view>{"y"},
                  .joins = {{"join:s+t:u", {}}},
                  .deferred = {{"off", Deferral::gone}},
                  .sends = {{"worker", payload}},
                  .parents = {{"", nthId(9)}},
                  .metadata = metadata,
                  .input = writes,
                  .writes = writes,
                  .operations = second_ops};
    }
    CheckpointTuple tuple() const {
        return {.id = nthId(2),
                .head = nthId(2),
                .commits = {{nthId(1), recordOf(first)}, {nthId(2), recordOf(second)}},
                .writes = {},
                .next = {}};
    }
};

Folded readAlone(const std::string& record) {
    return fold(log, {.id = nthId(2), .head = nthId(2), .commits = {{nthId(2), record}}, .writes = {}, .next = {}});
}

}  // namespace

TEST_CASE("a commit written whole says by itself what it said with those before it") {
    const Chain chain;
    const Folded before = fold(log, chain.tuple());
    const std::string record = wholeCommit(log, chain.tuple());
    const Folded after = readAlone(record);
    const RecordLinks links = readLinks({"t", "ns", nthId(2)}, record);
    CHECK(links.base == nthId(2));
    CHECK(links.parent == nthId(1));
    CHECK(links.root == nthId(9));

    REQUIRE(after.channels.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(after.channels[i].name == before.channels[i].name);
        CHECK(materialise(after.channels[i].pieces) == materialise(before.channels[i].pieces));
    }
    REQUIRE(after.joins.size() == 1);
    CHECK(after.joins[0].key == "join:p+q:r");
    CHECK((after.joins[0].arrived == std::vector<std::string_view>{"p"}));
    REQUIRE(after.deferred.size() == 1);
    CHECK(after.deferred[0].key == "late");
    CHECK((after.deferred[0].state == Deferral::waiting));
    CHECK((after.ran.kind == FoldedRan::Kind::one));
    CHECK(after.ran.node == "n");
    CHECK(after.graph == 11);
    CHECK(after.schema == 12);
    const CommitFields& commit = after.commit;
    CHECK(commit.step == 4);
    CHECK((commit.source == Source::loop));
    CHECK(commit.folds == 3);
    CHECK((commit.next == chain.second.next));
    CHECK((commit.edges == chain.second.edges));
    REQUIRE(commit.sends.size() == 1);
    CHECK(commit.sends[0].payload == chain.payload);
    CHECK(commit.metadata == chain.metadata);
    CHECK((commit.input == chain.second.input));
    CHECK_FALSE(commit.writes.has_value());  // of a task whose checkpoint goes
    // Rewriting it again changes nothing, and the order of a map's keys is that of the format.
    CheckpointTuple alone{.id = nthId(2), .head = nthId(2), .commits = {{nthId(2), record}}, .writes = {}, .next = {}};
    CHECK(wholeCommit(log, alone) == record);
}

TEST_CASE("a checkpoint is read from the newest whole commit, whatever base those above it name") {
    Chain chain;
    const std::string whole = wholeCommit(log, chain.tuple());
    const std::string ops = operationsOf({{"a", LogOp::append, listOf({"4"})}});
    const std::string third =
        recordOf({.id = nthId(3), .parent = nthId(2), .base = nthId(1), .step = 5, .operations = ops});
    const Folded folded = fold(log, {.id = nthId(3),
                                     .head = nthId(3),
                                     .commits = {{nthId(2), whole}, {nthId(3), third}},
                                     .writes = {},
                                     .next = {}});
    CHECK(folded.commit.base == nthId(2));
    CHECK(materialise(folded.find("a")->pieces) == listOf({"1", "2", "3", "4"}));
    CHECK_THROWS_AS(
        fold(log, {.id = nthId(3), .head = nthId(3), .commits = {{nthId(3), third}}, .writes = {}, .next = {}}),
        CorruptCheckpointError);
}

TEST_CASE("a commit is not written whole if it cannot be read, or says what this version does not know") {
    Chain chain;
    CheckpointTuple missing = chain.tuple();
    missing.commits.erase(missing.commits.begin());
    CHECK_THROWS_AS(wholeCommit(log, missing), CorruptCheckpointError);
    CheckpointTuple damaged = chain.tuple();
    std::string flipped(damaged.commits[0].bytes);
    flipped.back() = static_cast<char>(flipped.back() ^ 1);
    damaged.commits[0].bytes = std::move(flipped);
    CHECK_THROWS_AS(wholeCommit(log, damaged), CorruptCheckpointError);

    // Only the program knows from where the index counts.
    const std::string edited = operationsOf({{"a", LogOp::edit, std::string("\x81\x81\x00", 3)}});
    chain.second.operations = edited;
    CHECK_THROWS_AS(wholeCommit(log, chain.tuple()), CorruptCheckpointError);
    const std::string set = operationsOf({{"a", LogOp::set, listOf({"1", "2"})}});
    chain.first.operations = set;
    CHECK(materialise(readAlone(wholeCommit(log, chain.tuple())).find("a")->pieces) == listOf({"2"}));
    chain.first.operations = edited;
    const std::string twice = wholeCommit(log, chain.tuple());
    const Folded edits = readAlone(twice);
    REQUIRE(edits.find("a")->pieces.size() == 1);
    CHECK((edits.find("a")->pieces[0].op == LogOp::edit));
    CHECK(edits.find("a")->pieces[0].value == std::string("\x82\x81\x00\x81\x00", 5));
    chain.first.operations = chain.first_ops;

    const std::string mixed = operationsOf({{"a", LogOp::put, std::string("\xA1\x01\x02", 3)}});
    chain.second.operations = mixed;
    CHECK_THROWS_AS(wholeCommit(log, chain.tuple()), CorruptCheckpointError);

    // A field of a later minor version: the commit can be read, but is not rewritten without that field.
    std::string later;
    const std::size_t start = openFrame(later, format_version);
    Encoder out(later);
    out.array(2);
    out.map(2);
    out.text("step");
    out.unsignedInteger(1);
    out.text("future");
    out.boolean(true);
    out.map(0);
    closeFrame(nthId(1), later, start);
    const CheckpointTuple of_later{
        .id = nthId(1), .head = nthId(1), .commits = {{nthId(1), later}}, .writes = {}, .next = {}};
    CHECK(fold(log, of_later).commit.step == 1);
    CHECK_THROWS_AS(wholeCommit(log, of_later), CorruptCheckpointError);
}

}  // namespace stategraph::checkpoint
