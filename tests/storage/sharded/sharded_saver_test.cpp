// NOT WITH: sanitize=thread
#include <stategraph/sharded_saver.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/value/sha256.hpp"
#include "tests/storage/sharded/two_shards.hpp"

// Where threads go, and what a shard that is away does to the calls of the others.
namespace sg = stategraph;

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

std::vector<sg::NamedShard> inMemory(std::size_t count) {
    std::vector<sg::NamedShard> shards;
    for (std::size_t i = 0; i < count; ++i) shards.push_back({std::to_string(i), std::make_shared<sg::MemorySaver>()});
    return shards;
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

TEST_CASE("without a list of slots each shard has a range of them of one size") {
    const sg::ShardedSaver three(inMemory(3));
    std::map<std::size_t, std::set<std::size_t>> slots;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = "thread " + std::to_string(i);
        slots[three.shardOf(name)].insert(sg::slotOf(name));
    }
    REQUIRE(slots.size() == 3);
    CHECK(slots[0].size() == 342);
    CHECK(*slots[0].rbegin() == 341);
    CHECK(slots[1].size() == 341);
    CHECK(*slots[1].rbegin() == 682);
    CHECK(slots[2].size() == 341);
}

TEST_CASE("a list of slots says which shard has which thread") {
    std::vector<std::size_t> shard_of(sg::shard_slots, 1);
    shard_of[sg::slotOf("here")] = 0;
    const auto shards = inMemory(2);
    sg::ShardedSaver saver(shards, {.order = sg::ThreadOrder::size_then_bytes, .shard_of = shard_of});
    CHECK(saver.shardOf("here") == 0);
    CHECK(saver.shardOf("there") == 1);
    for (const char* const name : {"here", "there"}) putLine(saver, {name}, 1);
    CHECK(shards[0].saver->list({}).at(0).thread_id == "here");
    CHECK(shards[1].saver->list({}).at(0).thread_id == "there");
}

TEST_CASE("a call for one thread asks its shard alone, and the other one not at all") {
    const TwoShards on;
    const std::string left = nameOn(0);
    putLine(*on.saver, {left}, 3);
    CHECK(listIds(*on.saver, {left}) == nthIds({3, 2, 1}));
    CHECK(on.parts[0]->calls() == 4);
    CHECK(on.parts[1]->calls() == 0);
}

TEST_CASE("a list of shards whose savers have another order than was said fails, and does not skip threads") {
    const auto parts = inMemory(2);
    sg::ShardedSaver saver(parts, {.order = sg::ThreadOrder::bytes});
    sg::ShardedSaver right(parts, {.order = sg::ThreadOrder::size_then_bytes});
    for (int i = 0; i < 30; ++i) putLine(saver, {"t" + std::to_string(i)}, 1);
    CHECK(errorOf([&] { (void)saver.list({.heads = true}); }).find("ThreadOrder") != std::string::npos);
    CHECK(right.list({.heads = true}).size() == 30);
}

TEST_CASE("while a shard is down its threads fail with its name, and those of other shards continue") {
    TwoShards on;
    sg::ShardedSaver& saver = *on.saver;
    const std::string left = nameOn(0);
    const std::string right = nameOn(1);
    putLine(saver, {left}, 2);
    putLine(saver, {right}, 2);
    on.takeAway(1);
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
    on.parts[1]->disarm();
    CHECK(listIds(saver, {right}) == nthIds({2, 1}));
}

TEST_CASE("a copy from one shard to another has all namespaces and pending writes, and none if it is refused") {
    const TwoShards on;
    sg::ShardedSaver& saver = *on.saver;
    const std::string from = nameOn(0);
    const std::string to = nameOn(1);
    putLine(saver, {from}, 70, true);
    putLine(saver, {from, "child"}, 2);
    putWrite(saver, {from}, nthId(70), nthId(70), "p", "bytes");
    saver.copyThread(from, to);
    CHECK(listIds(saver, {to}) == listIds(saver, {from}));
    CHECK(listIds(saver, {to, "child"}) == nthIds({2, 1}));
    CHECK(writesOf(saver, {to}, 70).at(0).bytes == "bytes");
    CHECK(on.parts[1]->list({.thread_id = to}).size() == 72);
    CHECK_THROWS_AS(saver.copyThread(from, to), sg::InvalidArgumentError);
    CHECK(listIds(saver, {to, "child"}) == nthIds({2, 1}));
}

TEST_CASE("shards that cannot be are refused with what is wrong") {
    const auto memory = std::make_shared<sg::MemorySaver>();
    const auto make = [](std::vector<sg::NamedShard> shards, std::vector<std::size_t> shard_of = {}) {
        return errorOf([&] { sg::ShardedSaver(std::move(shards), {.shard_of = std::move(shard_of)}); });
    };
    CHECK(make({}).find("0 shards") != std::string::npos);
    CHECK(make(inMemory(sg::shard_slots + 1)).find("1025 shards; there must be 1 to 1024") != std::string::npos);
    CHECK(make(inMemory(sg::shard_slots)) == "");
    CHECK(make({{"a", nullptr}}).find("the shard 'a' has no saver") != std::string::npos);
    CHECK(make({{"a", memory}, {"a", memory}}).find("two shards are called 'a'") != std::string::npos);
    CHECK(make({{"a", memory}, {"b", memory}}).find("the shards 'a' and 'b' have the same saver") != std::string::npos);
    CHECK(make({{"a", memory}}, {0}).find("1 slots") != std::string::npos);
    CHECK(make({{"a", memory}}, std::vector<std::size_t>(sg::shard_slots, 1)).find("for 1 shards") !=
          std::string::npos);
}
