// NOT WITH: sanitize=thread
#include <stategraph/sharded_saver.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/value/sha256.hpp"
#include "tests/storage/sharded/movable_shards.hpp"
#include "tests/support/enough_time.hpp"

// The contract over several savers, where threads go, and what is done when a slot has moved. Shards on PostgreSQL:
namespace sg = stategraph;

using namespace std::chrono_literals;
using namespace stategraph::testing;

namespace {

std::string errorOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const sg::Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a thread's slot is the first ten bits of the SHA-256 of its id") {
    // sha256("abc") begins with ba78, that of "" with e3b0.
    CHECK(sg::detail::sha256("abc")[31] == 0xad);
    CHECK(sg::slotOf("abc") == (0xba78U >> 6U));
    CHECK(sg::slotOf("") == (0xe3b0U >> 6U));
    // The lengths at which the padding needs a block of its own: these are sha256sum's.
    CHECK(sg::slotOf(std::string(55, 'a')) == (0x9f43U >> 6U));
    CHECK(sg::slotOf(std::string(56, 'a')) == (0xb354U >> 6U));
    CHECK(sg::slotOf(std::string(64, 'a')) == (0xffe0U >> 6U));
    CHECK(sg::slotOf(std::string(1000, 'x')) == (0x44f8U >> 6U));
    std::map<std::size_t, int> counts;
    for (int i = 0; i < 20'000; ++i) ++counts[sg::slotOf("thread " + std::to_string(i))];
    CHECK(counts.size() == sg::shard_slots);
    CHECK(counts.rbegin()->first == sg::shard_slots - 1);
}

TEST_CASE("a map that is made evenly gives each shard a range of slots of one size") {
    const sg::ShardMap three = sg::ShardMap::evenly(3);
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t shard : three.shard_of) ++counts[shard];
    CHECK(counts == std::map<std::size_t, std::size_t>{{0, 342}, {1, 341}, {2, 341}});
    CHECK(std::is_sorted(three.shard_of.begin(), three.shard_of.end()));
    CHECK(sg::ShardMap::evenly(sg::shard_slots).shard_of.back() == sg::shard_slots - 1);
    CHECK_THROWS_AS((void)sg::ShardMap::evenly(0), sg::InvalidArgumentError);
    CHECK_THROWS_AS((void)sg::ShardMap::evenly(sg::shard_slots + 1), sg::InvalidArgumentError);
}

TEST_CASE("a call for one thread asks its shard alone, and the other one not at all") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards);
    const std::string left = nameOn(0);
    putLine(saver, {left}, 3);
    CHECK(listIds(saver, {left}) == nthIds({3, 2, 1}));
    CHECK(shards->savers[0].calls == 4);
    CHECK(shards->savers[1].calls == 0);
    CHECK(shards->reads == 1);
}

TEST_CASE("a writer whose map is old reads it again, and its put goes to the slot's new shard") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards);
    const std::string name = nameOn(0);
    putLine(saver, {name}, 2);
    shards->move(name);
    putOne(saver, {name}, nthId(2), makeCommit(3, 2));
    CHECK(listIds(saver, {name}) == nthIds({3, 2, 1}));
    CHECK(shards->savers[1].inner().list({.thread_id = name}).size() == 3);
    CHECK(shards->reads == 2);
    CHECK(saver.map().version == 2);
}

TEST_CASE("a put whose answer was lost before its slot moved is found in the new shard, and not stored twice") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards);
    const std::string name = nameOn(0);
    putLine(saver, {name}, 2);
    const auto loseTheAnswer = [&](std::size_t shard, bool is_moved) {
        shards->savers[shard].after_put = [&shards, &name, is_moved] {
            if (is_moved) shards->move(name);
            sg::ThreadMovedError error("the connection broke, and then the slot was elsewhere");
            error.setMayBeStored();
            throw error;
        };
    };
    loseTheAnswer(0, true);
    putOne(saver, {name}, nthId(2), makeCommit(3, 2));
    CHECK(listIds(saver, {name}) == nthIds({3, 2, 1}));
    loseTheAnswer(1, false);
    putWrite(saver, {name}, nthId(3), nthId(3), "p", "bytes");
    CHECK(writesOf(saver, {name}, 3).size() == 1);
    // Without that doubt the refusal of a second commit is the other writer's.
    CHECK_THROWS_AS(putOne(saver, {name}, nthId(2), makeCommit(3, 2)), sg::ConcurrentUpdateError);
}

TEST_CASE("a call for a slot that is nowhere waits for as long as move_wait says, and then fails") {
    const auto shards = std::make_shared<MovableShards>();
    const std::string name = nameOn(0);
    shards->savers[0].take(sg::slotOf(name));
    CHECK(withEnoughTime(30ms, [&](std::chrono::milliseconds time) {
        const int reads_before = shards->reads;
        sg::ShardedSaver saver(shards, {.move_wait = time});
        CHECK_THROWS_AS(putLine(saver, {name}, 1), sg::ThreadMovedError);
        return shards->reads >= reads_before + 2;
    }));
    // Somebody gives it back while a call waits.
    const int before = shards->reads;
    shards->during_read = [&] {
        if (shards->reads == before + 2) shards->savers[0].give(sg::slotOf(name));
    };
    sg::ShardedSaver patient(shards, {.move_wait = std::chrono::milliseconds::max()});
    CHECK_NOTHROW(putLine(patient, {name}, 1));
}

TEST_CASE("a list that a move overtakes is made again, so that no thread is missing and none is there twice") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards);
    const std::string left = nameOn(0);
    const std::string right = nameOn(1);
    putLine(saver, {left}, 1);
    putLine(saver, {right}, 1);
    for (const std::string& name : {left, right, left}) {
        bool is_moved = false;
        shards->during_read = [&] {  // after the shards were asked
            if (!std::exchange(is_moved, true)) shards->move(name);
        };
        const auto rows = saver.list({.heads = true});
        CHECK(is_moved);
        REQUIRE(rows.size() == 2);
        CHECK(std::set<std::string>{rows[0].thread_id, rows[1].thread_id} == std::set<std::string>{left, right});
    }
}

TEST_CASE("a list during which slots never stop moving fails after move_wait, and does not leave threads out") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards, {.move_wait = 30ms});
    const std::string left = nameOn(0);
    putLine(saver, {left}, 1);
    putLine(saver, {nameOn(1)}, 1);
    shards->during_read = [&] { shards->move(left); };
    CHECK_THROWS_AS(saver.list({.heads = true}), sg::ThreadMovedError);
    CHECK(shards->reads >= 10);
    shards->during_read = nullptr;
    CHECK(saver.list({.heads = true}).size() == 2);
}

TEST_CASE("a list of shards whose savers have another order than was said fails, and does not skip threads") {
    std::vector<sg::NamedShard> parts{{"a", std::make_shared<sg::MemorySaver>()},
                                      {"b", std::make_shared<sg::MemorySaver>()}};
    sg::ShardedSaver saver(std::make_shared<sg::FixedShards>(parts, sg::ThreadOrder::bytes));
    sg::ShardedSaver right(std::make_shared<sg::FixedShards>(parts, sg::ThreadOrder::size_then_bytes));
    for (int i = 0; i < 30; ++i) putLine(saver, {"t" + std::to_string(i)}, 1);
    CHECK(errorOf([&] { (void)saver.list({.heads = true}); }).find("ThreadOrder") != std::string::npos);
    CHECK(right.list({.heads = true}).size() == 30);
}

TEST_CASE("while a shard is down its threads fail with its name, and those of other shards continue") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards);
    const std::string left = nameOn(0);
    const std::string right = nameOn(1);
    putLine(saver, {left}, 2);
    putLine(saver, {right}, 2);
    shards->savers[1].is_down = true;
    const std::string said = errorOf([&] { putOne(saver, {right}, nthId(2), makeCommit(3, 2)); });
    CAPTURE(said);
    CHECK(said.find("shard 'right': the storage is gone") != std::string::npos);
    CHECK_NOTHROW(putOne(saver, {left}, nthId(2), makeCommit(3, 2)));
    CHECK(saver.getTuple({.log = {left}})->head == nthId(3));
    CHECK(saver.list({.thread_ids = {left}}).size() == 3);
    CHECK(errorOf([&] { (void)saver.list({}); }).find("shard 'right'") != std::string::npos);
    // A prune does what it can, and says what it could not.
    CHECK(errorOf([&] { (void)saver.prune({.keep_last = 1}); }).find("shard 'right'") != std::string::npos);
    CHECK(listIds(saver, {left}) == nthIds({3}));
    shards->savers[1].is_down = false;
    CHECK(listIds(saver, {right}) == nthIds({2, 1}));
}

TEST_CASE("a copy from one shard to another has all namespaces and pending writes, and none if it is refused") {
    const auto shards = std::make_shared<MovableShards>();
    sg::ShardedSaver saver(shards);
    const std::string from = nameOn(0);
    const std::string to = nameOn(1);
    putLine(saver, {from}, 70, true);
    putLine(saver, {from, "child"}, 2);
    putWrite(saver, {from}, nthId(70), nthId(70), "p", "bytes");
    saver.copyThread(from, to);
    CHECK(listIds(saver, {to}) == listIds(saver, {from}));
    CHECK(listIds(saver, {to, "child"}) == nthIds({2, 1}));
    CHECK(writesOf(saver, {to}, 70).at(0).bytes == "bytes");
    CHECK(shards->savers[1].inner().list({.thread_id = to}).size() == 72);
    CHECK_THROWS_AS(saver.copyThread(from, to), sg::InvalidArgumentError);
    CHECK(listIds(saver, {to, "child"}) == nthIds({2, 1}));
}

TEST_CASE("shards that cannot be are refused with what is wrong") {
    const auto memory = std::make_shared<sg::MemorySaver>();
    const auto make = [](std::vector<sg::NamedShard> shards, std::optional<sg::ShardMap> map = {}) {
        return errorOf([&] { sg::FixedShards(std::move(shards), sg::ThreadOrder::bytes, std::move(map)); });
    };
    CHECK(make({}).find("no shards") != std::string::npos);
    CHECK(make({{"a", nullptr}}).find("the shard 'a' has no saver") != std::string::npos);
    CHECK(make({{"a", memory}, {"a", memory}}).find("two shards are called 'a'") != std::string::npos);
    CHECK(make({{"a", memory}, {"b", memory}}).find("the shards 'a' and 'b' have the same saver") != std::string::npos);
    CHECK(make({{"a", memory}}, sg::ShardMap{.version = 1, .shard_of = {0}}).find("1 slots") != std::string::npos);
    CHECK(make({{"a", memory}}, sg::ShardMap::evenly(2)).find("for 1 shards") != std::string::npos);
    CHECK_THROWS_AS(sg::ShardedSaver(nullptr), sg::InvalidArgumentError);
    const auto shards = std::make_shared<MovableShards>();
    CHECK_THROWS_AS(sg::ShardedSaver(shards, {.move_wait = -1ms}), sg::InvalidArgumentError);
}
