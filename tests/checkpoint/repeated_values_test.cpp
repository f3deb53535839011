// NOT WITH: sanitize=thread
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/repeated_values.hpp"

#include "tests/support/seed.hpp"

// Operations that refer to what their parent's input writes, and writes that refer to operations.
namespace stategraph::checkpoint {
namespace {

using testing::nthId;

const LogName log{"t", ""};
const std::string large(40, 'x');

std::string textOf(const std::string& text) {
    std::string cbor;
    Encoder(cbor).text(text);
    return cbor;
}
std::string listOf(const std::vector<std::string>& items) {
    std::string cbor;
    Encoder out(cbor);
    out.array(items.size());
    for (const auto& item : items) out.text(item);
    return cbor;
}

struct Write {
    std::string channel;
    WriteKind kind;
    std::string value;
};
std::string writesOf(const std::vector<Write>& writes) {
    std::string cbor;
    Encoder out(cbor);
    out.array(writes.size());
    for (const Write& write : writes) {
        writeLoggedWrite(out, write.channel, write.kind);
        out.raw(write.value);
    }
    return cbor;
}

struct Op {
    std::string channel;
    LogOp op;
    std::string value;
};
std::string entriesOf(const std::vector<Op>& ops) {
    std::string cbor;
    Encoder out(cbor);
    for (const Op& op : ops) {
        writeLoggedOp(out, op.channel, op.op);
        if (op.op != LogOp::clear) out.raw(op.value);
    }
    return cbor;
}
std::vector<LoggedOp> readEntries(const std::string& entries, std::size_t count, std::string& map) {
    Encoder out(map);
    out.map(count);
    out.raw(entries);
    return readOperations(map);
}

void checkSame(const std::vector<LoggedOp>& read, const std::vector<Op>& ops) {
    REQUIRE(read.size() == ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
        CHECK(read[i].channel == ops[i].channel);
        CHECK((read[i].op == ops[i].op));
        CHECK(read[i].value == ops[i].value);
    }
}

TEST_CASE("an operation loses the value that the input has, and gets it back") {
    const std::vector<Op> ops = {{"a", LogOp::append, listOf({large})},
                                 {"b", LogOp::set, textOf(large + "b")},
                                 {"c", LogOp::put, textOf(large + "c")},
                                 {"d", LogOp::clear, {}},
                                 {"e", LogOp::set, textOf("another " + large)}};
    const std::string input = writesOf({{"a", WriteKind::add, ops[0].value},
                                        {"b", WriteKind::set, ops[1].value},
                                        {"c", WriteKind::write, ops[2].value},
                                        {"e", WriteKind::set, textOf("one " + large)}});
    std::string entries = entriesOf(ops);
    const std::size_t size = entries.size();
    REQUIRE(nameInputValues(entries, input));
    CHECK(entries.size() == size - ops[0].value.size() - ops[1].value.size() - ops[2].value.size() - 3);
    std::string map;
    std::vector<LoggedOp> read = readEntries(entries, ops.size(), map);
    CHECK(read[0].is_as_input);
    CHECK(read[0].value.empty());
    CHECK(!read[4].is_as_input);
    takeInputValues(read, input);
    checkSame(read, ops);
}

TEST_CASE("small values, edits, and values that are written twice or to another channel stay") {
    const auto stays = [](const Op& op, const std::string& input) {
        std::string entries = entriesOf({op});
        const std::string before = entries;
        CHECK(!nameInputValues(entries, input));
        CHECK(entries == before);
    };
    const Op set{"a", LogOp::set, textOf(large)};
    stays({"a", LogOp::set, textOf("small")}, writesOf({{"a", WriteKind::set, textOf("small")}}));
    stays({"a", LogOp::edit, listOf({large})}, writesOf({{"a", WriteKind::add, listOf({large})}}));
    stays(set, writesOf({{"a", WriteKind::set, set.value}, {"a", WriteKind::set, set.value}}));
    stays(set, writesOf({{"b", WriteKind::set, set.value}}));
    stays(set, writesOf({}));
    stays(set, "");
}

TEST_CASE("writes lose the values that the operations have, and the whole list where those are all") {
    const std::string one = listOf({large});
    const std::string two = listOf({large, "2"});
    const std::string entries =
        entriesOf({{"a", LogOp::append, one}, {"b", LogOp::append, two}, {"z", LogOp::clear, {}}});
    std::string out;
    REQUIRE(nameLoggedValues(writesOf({{"b", WriteKind::add, two}, {"a", WriteKind::write, one}}), entries, out));
    CHECK(out == "");
    // One of two writes is not in the operations, or is not a plain write.
    for (const auto kind : {WriteKind::set, WriteKind::overwrite}) {
        const std::string other = kind == WriteKind::set ? listOf({large, "other"}) : two;
        REQUIRE(nameLoggedValues(writesOf({{"a", WriteKind::add, one}, {"b", kind, other}}), entries, out));
        std::string map;
        const std::vector<LoggedOp> operations = readEntries(entries, 3, map);
        CommitFields commit;
        commit.writes = out;
        const std::vector<LoggedWrite> read = readCommitWrites(commit, operations);
        REQUIRE(read.size() == 2);
        CHECK(read[0].as_logged);
        CHECK(read[0].value == one);
        CHECK(read[1].value == other);
        CHECK((read[1].kind == kind));
    }
    // One of two operations is named. Without a list both would count as written.
    REQUIRE(nameLoggedValues(writesOf({{"a", WriteKind::add, one}}), entries, out));
    CHECK(out == std::string("\x81\x81\x61"
                             "a"));
    std::vector<Write> many(40, {"a", WriteKind::add, one});
    CHECK(!nameLoggedValues(writesOf(many), entries, out));
}

// Returns the sizes of the items of a sequence, `each` of which make one part.
std::vector<std::uint32_t> sizesOf(std::string_view bytes, int each) {
    std::vector<std::uint32_t> sizes;
    for (Decoder in(bytes); !in.atEnd();) {
        const std::size_t before = in.rest().size();
        for (int i = 0; i < each; ++i) in.skip();
        sizes.push_back(static_cast<std::uint32_t>(before - in.rest().size()));
    }
    return sizes;
}

TEST_CASE("writes lose the same values if the sizes of their parts are known, and sizes that do not fit are not used") {
    const std::uint64_t seed = tests::seed();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 500; ++round) {
        std::vector<Op> ops;
        std::vector<Write> writes;
        for (std::size_t i = 0, count = random() % 10; i < count; ++i) {
            const std::string name(1 + random() % 30, static_cast<char>('a' + i));
            const auto op = std::array{LogOp::set, LogOp::append, LogOp::put, LogOp::edit, LogOp::clear}[random() % 5];
            const std::string value = listOf(std::vector<std::string>(random() % 4, std::string(random() % 60, 'v')));
            if (random() % 4 != 0) ops.push_back({name, op, op == LogOp::clear ? "" : value});
            constexpr std::array kinds{WriteKind::add, WriteKind::set, WriteKind::overwrite, WriteKind::clear};
            for (std::size_t times = random() % 3; times > 0; --times) {
                const WriteKind kind = kinds[random() % kinds.size()];
                writes.push_back({name, kind, kind == WriteKind::clear ? "" : value});
            }
        }
        std::shuffle(writes.begin(), writes.end(), random);
        const std::string list = writesOf(writes);
        const std::string entries = entriesOf(ops);
        std::vector<std::uint32_t> of_writes = sizesOf(std::string_view(list).substr(1), 1);
        const std::vector<std::uint32_t> of_entries = sizesOf(entries, 2);
        std::string expected;
        std::string found;
        REQUIRE(nameLoggedValues(list, entries, expected));
        REQUIRE(nameLoggedValues(list, entries, {of_writes, of_entries}, found));
        CHECK(found == expected);
        of_writes.push_back(1);
        REQUIRE(nameLoggedValues(list, entries, {of_writes, of_entries}, found));
        CHECK(found == expected);
    }
}

TEST_CASE("random operations are read as they were, whatever the input has of them") {
    const std::uint64_t seed = tests::seed();
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<Op> ops;
        std::vector<Write> writes;
        for (std::size_t i = 0, count = random() % 6; i < count; ++i) {
            const std::string name(1, static_cast<char>('a' + i));
            const auto op = std::array{LogOp::set, LogOp::append, LogOp::put, LogOp::edit, LogOp::clear}[random() % 5];
            const std::string value = listOf(std::vector<std::string>(random() % 4, std::string(random() % 60, 'v')));
            ops.push_back({name, op, op == LogOp::clear ? "" : value});
            for (std::size_t times = random() % 3; times > 0; --times)
                writes.push_back({name, random() % 2 == 0 ? WriteKind::add : WriteKind::overwrite, value});
        }
        std::shuffle(writes.begin(), writes.end(), random);
        const std::string input = writesOf(writes);
        std::string entries = entriesOf(ops);
        nameInputValues(entries, input);
        std::string map;
        std::vector<LoggedOp> read = readEntries(entries, ops.size(), map);
        takeInputValues(read, input);
        checkSame(read, ops);
    }
}

// The commit of an input, and the commit that took the input.
struct Chain {
    std::string value = listOf({large});
    std::string input = writesOf({{"a", WriteKind::add, value}});
    CommitFields first{.id = nthId(1), .base = nthId(1), .step = -1, .source = Source::input, .input = input};
    std::string entries = entriesOf({{"a", LogOp::append, value}});
    std::string operations;
    CommitFields second{.id = nthId(2), .parent = nthId(1), .base = nthId(1), .step = 0};

    CheckpointTuple tuple() {
        second.besides.names_input = nameInputValues(entries, input);
        Encoder(operations).map(1);
        second.operations = operations += entries;
        CheckpointTuple read{.id = nthId(2), .head = nthId(2), .commits = {}, .writes = {}, .next = {}};
        for (const CommitFields* commit : {&first, &second}) {
            std::string record;
            writeCommit(*commit, record);
            read.commits.push_back({commit->id, record});
        }
        return read;
    }
};

TEST_CASE("a fold takes the value from the parent's input, and a record of it is of format 3") {
    Chain chain;
    const CheckpointTuple tuple = chain.tuple();
    CHECK(tuple.commits[0].bytes.view()[0] == 1);
    CHECK(tuple.commits[1].bytes.view()[0] == 3);
    CHECK(tuple.commits[1].bytes.view().find(large) == std::string::npos);
    const Folded folded = fold(log, tuple);
    REQUIRE(folded.channels.size() == 1);
    CHECK(folded.channels.front().pieces.front().value == chain.value);
    Lineage lineage(log, tuple);
    REQUIRE(lineage.channelsOf(nthId(2)));
    CHECK(lineage.channelsOf(nthId(2))->front().pieces.front().value == chain.value);
    CHECK(lineage.channelsOf(nthId(1))->empty());
}

TEST_CASE("a record whose parent has no such input is refused by name") {
    const auto refused = [](Chain& chain, auto change) {
        CheckpointTuple tuple = chain.tuple();
        change(chain, tuple);
        CHECK_THROWS_WITH_AS(fold(log, tuple), doctest::Contains(nthId(2).toString().c_str()), CorruptCheckpointError);
    };
    const auto rewrite = [](CheckpointTuple& tuple, std::size_t at, const CommitFields& commit) {
        std::string bytes;
        writeCommit(commit, bytes);
        tuple.commits[at].bytes = std::move(bytes);
    };
    Chain no_input;
    refused(no_input, [&](Chain& chain, CheckpointTuple& tuple) {
        chain.first.input.reset();
        rewrite(tuple, 0, chain.first);
    });
    Chain other_channel;
    refused(other_channel, [&](Chain& chain, CheckpointTuple& tuple) {
        const std::string input = writesOf({{"b", WriteKind::add, chain.value}});
        chain.first.input = input;
        rewrite(tuple, 0, chain.first);
    });
    Chain its_own_base;
    refused(its_own_base, [&](Chain& chain, CheckpointTuple& tuple) {
        chain.second.base = nthId(2);
        rewrite(tuple, 1, chain.second);
    });
}

}  // namespace
}  // namespace stategraph::checkpoint
