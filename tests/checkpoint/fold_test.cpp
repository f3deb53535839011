// NOT WITH: sanitize=thread
#include "src/checkpoint/fold.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>
#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>
#include <stategraph/value.hpp>

#include "src/checkpoint/materialise.hpp"
#include "tests/checkpoint/bytes.hpp"

// Reads a checkpoint from commits that the test creates.
namespace sg = stategraph;
namespace cp = stategraph::checkpoint;
using sg::testing::nthId;

namespace {

struct Op {
    const char* channel;
    cp::LogOp op;
    sg::Value value = {};
};

std::string encode(const std::vector<Op>& ops) {
    std::string cbor;
    sg::Encoder out(cbor);
    out.map(ops.size());
    for (const Op& op : ops) {
        cp::writeLoggedOp(out, op.channel, op.op);
        if (op.op != cp::LogOp::clear) out.raw(op.value.bytes());
    }
    return cbor;
}

/// A log that is being built: commit n has a parent (0: none), and a base (0: itself).
class Log {
public:
    cp::CommitFields fields = {};  // further ones, for the next commit

    void commit(unsigned n, unsigned parent, unsigned base, const std::vector<Op>& ops) {
        raw(n, parent, base, encode(ops));
    }
    void raw(unsigned n, unsigned parent, unsigned base, std::string_view operations) {
        fields.id = nthId(n);
        fields.parent = parent == 0 ? sg::CheckpointId() : nthId(parent);
        fields.base = nthId(base == 0 ? n : base);
        fields.step = n;
        fields.operations = operations;
        std::string bytes;
        cp::writeCommit(fields, bytes);
        rows_.push_back({fields.id, std::move(bytes)});
        fields = {};
    }
    void damage(unsigned n) {
        for (auto& row : rows_) {
            if (row.id != nthId(n)) continue;
            std::string bytes(row.bytes);
            bytes.back() = static_cast<char>(bytes.back() ^ 1);
            row.bytes = std::move(bytes);
        }
    }
    /// Returns the tuple of a checkpoint, with the rows between two others of the log, including both.
    sg::CheckpointTuple tuple(unsigned id, unsigned first, unsigned last) const {
        sg::CheckpointTuple tuple;
        tuple.id = nthId(id);
        tuple.head = rows_.back().id;
        for (const auto& row : rows_) {
            if (row.id >= nthId(first) && row.id <= nthId(last)) tuple.commits.push_back(row);
        }
        return tuple;
    }
    cp::Folded fold(unsigned id, unsigned first = 1) const { return cp::fold({"t", "ns"}, tuple(id, first, id)); }

private:
    std::vector<sg::StoredCommit> rows_;
};

std::string valueOf(const cp::Folded& folded, std::string_view channel) {
    const auto* found = folded.find(channel);
    return found == nullptr ? "absent" : sg::cborToJson(cp::materialise(found->pieces));
}

std::string whyNot(const sg::CheckpointTuple& tuple) {
    try {
        cp::fold({"t", "ns"}, tuple);
    } catch (const sg::CorruptCheckpointError& error) {
        return error.message();
    }
    return "it can be read";
}

bool names(const std::string& why, unsigned n) {
    return why.find("(thread 't', namespace 'ns', checkpoint " + nthId(n).toString() + ")") != std::string::npos;
}

using Strings = std::vector<std::string>;
using Entries = std::map<std::string, int>;

// 1 ← 2 ← 4 (a branch) and 2 ← 3 ← 5
Log branched() {
    Log log;
    log.commit(1, 0, 0, {{"list", cp::LogOp::set, Strings{"1"}}, {"last", cp::LogOp::set, 1}});
    log.commit(2, 1, 1, {{"list", cp::LogOp::append, Strings{"2"}}});
    log.commit(3, 2, 1, {{"list", cp::LogOp::append, Strings{"3"}}, {"last", cp::LogOp::set, 3}});
    log.commit(4, 2, 1, {{"list", cp::LogOp::append, Strings{"4"}}});
    log.commit(5, 3, 1, {{"list", cp::LogOp::append, Strings{"5", "5"}}});
    return log;
}

}  // namespace

TEST_CASE("a checkpoint is the fold of the operations on the way to it; other branches in between do not count") {
    // quirk 7
    const Log log = branched();
    CHECK(valueOf(log.fold(1), "list") == R"(["1"])");
    CHECK(valueOf(log.fold(3), "list") == R"(["1","2","3"])");
    CHECK(valueOf(log.fold(4), "list") == R"(["1","2","4"])");
    CHECK(valueOf(log.fold(4), "last") == "1");
    CHECK(valueOf(log.fold(5), "list") == R"(["1","2","3","5","5"])");
    CHECK(valueOf(log.fold(5), "last") == "3");
    CHECK(valueOf(log.fold(5), "other") == "absent");
    CHECK(log.fold(5).commit.parent == nthId(3));
}

TEST_CASE("a base holds everything: nothing before it is read, not even if it is there or damaged") {
    Log log = branched();
    log.commit(6, 5, 0, {{"list", cp::LogOp::set, Strings{"all"}}});
    log.commit(7, 6, 6, {{"list", cp::LogOp::append, Strings{"7"}}});
    CHECK(valueOf(log.fold(7, 6), "list") == R"(["all","7"])");
    CHECK(valueOf(log.fold(7, 1), "list") == R"(["all","7"])");
    CHECK(valueOf(log.fold(7, 1), "last") == "absent");
    log.damage(5);
    CHECK(valueOf(log.fold(7, 1), "list") == R"(["all","7"])");
}

TEST_CASE("every operation folds: set, append, put, edit, clear") {
    Log log;
    using Edit = std::tuple<int, std::string>;
    log.commit(1, 0, 0, {{"list", cp::LogOp::append, Strings{"a", "b"}}, {"map", cp::LogOp::put, Entries{{"k", 1}}}});
    log.commit(2, 1, 1,
               {{"list", cp::LogOp::edit, std::vector<Edit>{{0, "A"}, {2, "c"}}},
                {"map", cp::LogOp::put, Entries{{"j", 2}, {"k", 3}}}});
    log.commit(3, 2, 1, {{"list", cp::LogOp::clear}, {"map", cp::LogOp::set, Entries{}}});
    log.commit(4, 3, 1, {{"list", cp::LogOp::append, Strings{"new"}}});
    CHECK(valueOf(log.fold(2), "list") == R"(["A","b","c"])");
    CHECK(valueOf(log.fold(2), "map") == R"({"j":2,"k":3})");
    CHECK(valueOf(log.fold(3), "list") == "absent");
    CHECK(valueOf(log.fold(3), "map") == "{}");
    CHECK(valueOf(log.fold(4), "list") == R"(["new"])");
}

TEST_CASE("joins, deferred edges, the node that ran last and the fingerprints fold too") {
    Log log;
    log.fields.joins = {{"a+b:c", {"a"}}, {"x+y:z", {"x"}}};
    log.fields.deferred = {{"d", cp::Deferral::waiting}, {"e", cp::Deferral::waiting}};
    log.fields.ran = {cp::Ran::Kind::one, "a"};
    log.fields.graph = 7;
    log.fields.schema = 8;
    log.commit(1, 0, 0, {});
    log.fields.joins = {{"a+b:c", {"a", "b"}}, {"x+y:z", {}}};
    log.fields.deferred = {{"d", cp::Deferral::released}, {"e", cp::Deferral::gone}};
    log.fields.graph = 9;
    log.commit(2, 1, 1, {});
    log.fields.ran = {cp::Ran::Kind::several, {}};
    log.commit(3, 2, 1, {});
    const cp::Folded second = log.fold(2);
    REQUIRE(second.joins.size() == 1);
    CHECK(second.joins[0].key == "a+b:c");
    CHECK(second.joins[0].arrived == std::vector<std::string_view>{"a", "b"});
    CHECK(second.joins[0].step == 2);
    REQUIRE(second.deferred.size() == 1);
    CHECK(second.deferred[0].key == "d");
    CHECK((second.deferred[0].state == cp::Deferral::released));
    CHECK((second.ran.kind == cp::FoldedRan::Kind::one));
    CHECK(second.ran.node == "a");
    CHECK(second.graph == 9);
    CHECK(second.schema == 8);
    CHECK((log.fold(3).ran.kind == cp::FoldedRan::Kind::several));
    CHECK(log.fold(3).joins.size() == 1);
}

TEST_CASE("a row that is missing is named: the checkpoint's own, one on the way, the base") {
    const Log log = branched();
    CHECK(names(whyNot(log.tuple(5, 1, 4)), 5));
    CHECK(names(whyNot(log.tuple(5, 3, 5)), 2));
    CHECK(names(whyNot(log.tuple(5, 2, 5)), 1));
    CHECK(names(whyNot(log.tuple(5, 6, 9)), 5));
    auto hole = log.tuple(5, 1, 5);
    hole.commits.erase(hole.commits.begin() + 2);
    CHECK(names(whyNot(hole), 3));
}

TEST_CASE("a base that is no ancestor is an error, not a read of half a state") {
    Log log;
    log.commit(1, 0, 0, {{"list", cp::LogOp::set, Strings{"1"}}});
    log.commit(2, 0, 1, {{"list", cp::LogOp::set, Strings{"2"}}});
    log.commit(3, 2, 1, {{"list", cp::LogOp::append, Strings{"3"}}});
    CHECK(whyNot(log.tuple(2, 1, 2)) != "it can be read");
    CHECK(whyNot(log.tuple(3, 1, 3)) != "it can be read");
}

TEST_CASE("parents that form a cycle, or lie in the future, end as an error") {
    Log log;
    log.commit(1, 2, 5, {});
    log.commit(2, 1, 5, {});
    log.commit(3, 3, 5, {});
    CHECK(whyNot(log.tuple(2, 1, 3)) != "it can be read");
    CHECK(whyNot(log.tuple(3, 1, 3)) != "it can be read");
}

TEST_CASE("a damaged record on the way is named, one of another branch is not read") {
    Log log = branched();
    log.damage(4);
    CHECK(valueOf(log.fold(5), "list") == R"(["1","2","3","5","5"])");
    CHECK(names(whyNot(log.tuple(4, 1, 4)), 4));
    log.damage(2);
    CHECK(names(whyNot(log.tuple(5, 1, 5)), 2));
}

TEST_CASE("operations that are none are an error that names their record") {
    const auto one = [](auto write) {
        std::string cbor;
        sg::Encoder out(cbor);
        write(out);
        return cbor;
    };
    const std::vector<std::string> hostile = {
        one([](sg::Encoder& out) { out.text("no map"); }),
        one([](sg::Encoder& out) { out.null(); }),
        one([](sg::Encoder& out) {
            out.map(1);
            out.text("v");
            out.text("no pair");
        }),
        one([](sg::Encoder& out) {
            out.map(1);
            out.text("v");
            out.array(2);
            out.text("?");
            out.null();
        }),
        one([](sg::Encoder& out) {
            out.map(1);
            out.text("v");
            out.array(1);
            out.text("=");
        }),
        one([](sg::Encoder& out) {
            out.map(1);
            out.text("v");
            out.array(2);
            out.text("-");
            out.null();
        }),
        one([](sg::Encoder& out) {
            out.map(1);
            out.unsignedInteger(1);
            out.array(1);
            out.text("-");
        }),
    };
    for (const auto& operations : hostile) {
        Log log;
        log.commit(1, 0, 0, {});
        log.raw(2, 1, 1, operations);
        CHECK(names(whyNot(log.tuple(2, 1, 2)), 2));
    }
}

namespace {

// Returns the values of a checkpoint's channels, in either form.
template <class Channels>
std::map<std::string, std::string> valuesOf(const Channels& channels) {
    std::map<std::string, std::string> values;
    for (const auto& channel : channels) values.emplace(channel.name, sg::cborToJson(cp::materialise(channel.pieces)));
    return values;
}

}  // namespace

TEST_CASE("what a checkpoint was read from gives its ancestors as folding each of them does, or nothing") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    bytes::Random random(seed);
    std::size_t given = 0;
    std::size_t refused = 0;
    for (int round = 0; round < 60; ++round) {
        Log log;
        const auto count = static_cast<unsigned>(2 + random.below(14));
        std::vector<unsigned> bases(count + 1);
        for (unsigned n = 1; n <= count; ++n) {
            const unsigned parent = n == 1             ? 0
                                    : random.chance(4) ? static_cast<unsigned>(1 + random.below(n - 1))
                                                       : n - 1;
            const bool is_whole = n == 1 || random.chance(6);
            bases[n] = is_whole ? n : bases[parent];
            std::vector<Op> ops;
            if (is_whole || random.chance(4)) ops.push_back({"last", cp::LogOp::set, n});
            if (is_whole || random.chance(5)) {
                ops.push_back({"list", cp::LogOp::set, Strings{std::to_string(n)}});
            } else if (random.chance(6)) {
                ops.push_back({"list", cp::LogOp::clear});
            } else {
                ops.push_back({"list", cp::LogOp::append, Strings{std::to_string(n)}});
            }
            if (random.chance(3)) ops.push_back({"more", cp::LogOp::append, Strings{"m"}});
            log.commit(n, parent, is_whole ? 0 : bases[n], ops);
        }
        for (unsigned newest = 1; newest <= count; ++newest) {
            cp::Lineage built({"t", "ns"}, log.tuple(newest, bases[newest], newest));
            cp::Lineage lineage = std::move(built);
            for (unsigned n = 1; n <= count; ++n) {
                const auto channels = lineage.channelsOf(nthId(n));
                REQUIRE((n != newest || channels));
                REQUIRE((n <= newest || !channels));
                ++(channels ? given : refused);
                if (channels) CHECK(valuesOf(*channels) == valuesOf(log.fold(n).channels));
            }
        }
    }
    CHECK(given > 500);
    CHECK(refused > 500);
}

TEST_CASE("an ancestor is not read from commits that end before its own base") {
    Log log;
    log.commit(1, 0, 0, {{"list", cp::LogOp::set, Strings{"1"}}});
    log.commit(2, 1, 1, {{"list", cp::LogOp::append, Strings{"2"}}});
    log.commit(3, 2, 1, {{"list", cp::LogOp::append, Strings{"3"}}});
    log.commit(4, 3, 2,
               {{"list", cp::LogOp::append, Strings{"4"}}});  // says that it needs none before 2, which is not whole
    cp::Lineage lineage({"t", "ns"}, log.tuple(4, 1, 4));
    CHECK(valuesOf(*lineage.channelsOf(nthId(4))) == valuesOf(log.fold(4).channels));
    CHECK_FALSE(lineage.channelsOf(nthId(3)));
    CHECK_FALSE(lineage.channelsOf(nthId(2)));
}
