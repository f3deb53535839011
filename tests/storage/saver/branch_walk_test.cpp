// NOT WITH: sanitize=thread
#include "storage/saver/branch_walk.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "tests/checkpoint/bytes.hpp"

// Which rows of a log lead to a checkpoint. A saver chooses them by headers that are read in part and not checked.
namespace sg = stategraph;
namespace cp = stategraph::checkpoint;
using sg::testing::nthId;
using sg::testing::nthIds;

namespace {

const sg::LogName log_name{"t", "ns"};
const std::string no_operations = "\xa0";

sg::RowKey keyOf(unsigned n) { return {log_name.thread_id, log_name.checkpoint_ns, nthId(n)}; }

std::string encoded(cp::CommitFields fields) {
    fields.operations = no_operations;
    std::string bytes;
    cp::writeCommit(fields, bytes);
    return bytes;
}

sg::StoredCommit commit(unsigned n, unsigned parent, std::int64_t step, unsigned base = 1) {
    return {nthId(n), encoded({.id = nthId(n),
                               .parent = parent == 0 ? sg::CheckpointId() : nthId(parent),
                               .base = nthId(base),
                               .step = step})};
}

/// Returns a commit with every member that a header can have.
cp::CommitFields fullFields(unsigned n, unsigned parent, unsigned base) {
    static const std::string list = "\x80";
    static const std::string map = "\xa0";
    cp::CommitFields fields{.id = nthId(n), .parent = nthId(parent), .base = nthId(base), .step = -7};
    fields.source = sg::Source::fork;
    fields.folds = 3;
    fields.ran = {cp::Ran::Kind::one, "node"};
    fields.next = {"a", "b"};
    fields.edges = {"c"};
    fields.joins = {{"join", {"x"}}};
    fields.deferred = {{"late", cp::Deferral::waiting}};
    fields.sends = {{.node = "worker", .payload = map}};
    fields.parents = {{"", nthId(1)}};
    fields.visits = {{"inner", nthId(1)}};
    fields.besides.has_all_visits = true;
    fields.graph = 1;
    fields.schema = 2;
    fields.metadata = map;
    fields.input = list;
    fields.writes = list;
    return fields;
}

std::vector<std::string> membersOf(std::string_view record) {
    sg::Decoder in(record.substr(cp::frame_size));
    in.array();
    std::vector<std::string> names;
    for (std::size_t count = in.map(); count > 0; --count) {
        names.emplace_back(in.text());
        in.skip();
    }
    return names;
}

cp::CommitWay wayOf(const sg::StoredCommit& commit) {
    return cp::readWay({log_name.thread_id, log_name.checkpoint_ns, commit.id}, commit.bytes);
}

/// Returns what a walk to the last row keeps of all rows, including that row, or nothing if it ends before.
std::vector<sg::CheckpointId> kept(const std::vector<sg::StoredCommit>& rows, std::size_t unseen = 1) {
    std::vector<sg::StoredCommit> commits(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(unseen));
    cp::ForwardWalk walk(log_name, wayOf(rows.back()), commits);
    for (std::size_t i = unseen; i < rows.size(); ++i) {
        if (!walk.take(rows[i].id, rows[i].bytes, commits)) return {};
        commits.push_back(rows[i]);
    }
    return sg::testing::idsOf(commits);
}

}  // namespace

TEST_CASE("base and step come before the parent in a header, so that reading may end there") {
    const std::string bytes = encoded(fullFields(9, 8, 2));
    const auto members = membersOf(bytes);
    REQUIRE(members.size() == 17);
    const auto in_order = [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    };
    CHECK(std::is_sorted(members.begin(), members.end(), in_order));
    const auto placeOf = [&](const char* name) {
        return std::find(members.begin(), members.end(), name) - members.begin();
    };
    CHECK(placeOf("base") < placeOf("parent"));
    CHECK(placeOf("step") < placeOf("parent"));
    CHECK(placeOf("parent") < static_cast<std::ptrdiff_t>(members.size()));

    const cp::CommitWay way = cp::readWay(keyOf(9), bytes);
    CHECK(way.parent == nthId(8));
    CHECK(way.base == nthId(2));
    CHECK(way.step == -7);
    const cp::CommitWay checked = cp::readCheckedWay(keyOf(9), bytes);
    CHECK(checked.parent == way.parent);
    CHECK(checked.base == way.base);
    CHECK(checked.step == way.step);
}

TEST_CASE("a commit that names no base is its own, and one without a parent has none") {
    const cp::CommitWay way = wayOf(commit(4, 0, 12, 4));
    CHECK(way.parent.empty());
    CHECK(way.base == nthId(4));
    CHECK(way.step == 12);
}

TEST_CASE("a whole header is checked, a part of one is not") {
    std::string bytes = encoded(fullFields(9, 8, 2));
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    CHECK(cp::readWay(keyOf(9), bytes).parent == nthId(8));
    CHECK_THROWS_AS(cp::readCheckedWay(keyOf(9), bytes), sg::CorruptCheckpointError);
    CHECK_THROWS_AS(cp::readWay(keyOf(9), ""), sg::CorruptCheckpointError);
    CHECK_THROWS_AS(cp::readWay(keyOf(9), bytes.substr(0, cp::frame_size)), sg::CorruptCheckpointError);
}

TEST_CASE("damaged headers give some way, or an error that names the record") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const std::string whole = encoded(fullFields(9, 8, 2));
    std::size_t refused = 0;
    const auto read = [&](const std::string& bytes) {
        CAPTURE(bytes::toHex(bytes));
        try {
            (void)cp::readWay(keyOf(9), bytes);
        } catch (const sg::CorruptCheckpointError& error) {
            CHECK(std::string(error.what()).find(nthId(9).toString()) != std::string::npos);
            ++refused;
        }
    };
    for (std::size_t size = 0; size < whole.size(); ++size) read(whole.substr(0, size));
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = whole;
        random.damage(bytes);
        read(bytes);
    }
    CHECK(refused > 0);
}

TEST_CASE("a forward walk keeps the rows that lead to the last one") {
    // 1 - 2 - 3 - 7 - 8 and, from 2, 4 - 5 - 6
    const std::vector<sg::StoredCommit> rows{commit(1, 0, 0), commit(2, 1, 1), commit(3, 2, 2), commit(4, 2, 2),
                                             commit(5, 4, 3), commit(6, 5, 4), commit(7, 6, 5), commit(8, 7, 6)};
    CHECK(kept(rows) == nthIds({1, 2, 4, 5, 6, 7, 8}));
    SUBCASE("those that were taken unseen stay if they are not after a fork") {
        CHECK(kept(rows, 4) == nthIds({1, 2, 3, 4, 5, 6, 7, 8}));
        CHECK(kept(rows, 8) == nthIds({1, 2, 3, 4, 5, 6, 7, 8}));
    }
    SUBCASE("several forks of one commit") {
        const std::vector<sg::StoredCommit> fan{commit(1, 0, 0), commit(2, 1, 1), commit(3, 1, 1), commit(4, 1, 1)};
        CHECK(kept(fan) == nthIds({1, 4}));
        CHECK(kept(fan, 3) == nthIds({1, 4}));
    }
    SUBCASE("a branch that was left and is continued ends the walk") {
        const std::vector<sg::StoredCommit> back{commit(1, 0, 0), commit(2, 1, 1), commit(3, 1, 1), commit(4, 2, 2)};
        CHECK(kept(back) == nthIds({}));
        CHECK(kept(back, 3) == nthIds({1, 2, 4}));  // it was not looked at before
    }
}

TEST_CASE("a forward walk ends where a header cannot be read, and where records have no step") {
    std::vector<sg::StoredCommit> rows{commit(1, 0, 0), commit(2, 1, 1), commit(3, 2, 2)};
    REQUIRE(kept(rows) == nthIds({1, 2, 3}));
    SUBCASE("the next one") { rows[1].bytes = rows[1].bytes.view().substr(0, cp::frame_size); }
    SUBCASE("the first one") { rows[0].bytes = rows[0].bytes.view().substr(0, cp::frame_size); }
    SUBCASE("the first is of a later step") { rows[0] = commit(1, 0, 3); }
    CHECK(kept(rows).empty());
    cp::ForwardWalk sealed(log_name, {.parent = nthId(1), .base = nthId(1), .step = {}}, {});
    std::vector<sg::StoredCommit> none;
    CHECK_FALSE(sealed.take(nthId(1), commit(1, 0, 0).bytes, none));
}

TEST_CASE("a forward walk reads at most as many rows of other branches as its own may have, and some") {
    const auto takenOf = [](unsigned steps) {
        std::vector<sg::StoredCommit> commits{commit(1, 0, 0)};
        cp::ForwardWalk walk(log_name, {.parent = nthId(1), .base = nthId(1), .step = steps}, commits);
        unsigned n = 2;
        for (; n < 10'000; ++n) {
            const auto next = commit(n, n - 1, n - 1);
            if (!walk.take(next.id, next.bytes, commits)) break;
            commits.push_back(next);
        }
        return n - 2;
    };
    CHECK(takenOf(1) == cp::unseen_rows_max + 2);
    CHECK(takenOf(500) == cp::unseen_rows_max + 1000);
    std::vector<sg::StoredCommit> commits{commit(1, 0, std::numeric_limits<std::int64_t>::min())};
    cp::ForwardWalk widest(log_name, {.parent = {}, .base = {}, .step = std::numeric_limits<std::int64_t>::max()},
                           commits);
    CHECK(widest.take(nthId(2), commit(2, 1, 1).bytes, commits));
}
