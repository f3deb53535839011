#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/async/later.hpp"
#include "tests/storage/sharded/movable_shards.hpp"
#include "tests/support/until.hpp"

// Asynchronous calls of a ShardedSaver: no thread waits for its shards, unless a slot moves.
using namespace graphs;
using namespace stategraph::testing;

namespace {

/// Movable shards that answer later.
class LaterShards final : public MovableShards {
public:
    sg::BaseCheckpointSaver& saver(std::size_t shard) override {
        if (during_open) during_open(shard);
        return later_.at(shard);
    }
    sg::BaseCheckpointSaver* opened(std::size_t shard) noexcept override {
        return is_open[shard] ? &later_.at(shard) : nullptr;
    }
    bool answersLater() const noexcept override { return true; }
    std::size_t commitsAhead() const noexcept override { return 4; }
    LaterSaver& later(std::size_t shard) { return later_.at(shard); }

    std::array<std::atomic<bool>, 2> is_open{true, true};
    std::function<void(std::size_t shard)> during_open;

private:
    std::shared_ptr<sg::BaseCheckpointSaver> part(std::size_t shard) {
        return {std::shared_ptr<void>(), &savers.at(shard)};
    }
    std::array<LaterSaver, 2> later_{LaterSaver(part(0)), LaterSaver(part(1))};
};

/// Completions that a test waits for.
struct Put final : sg::PutCompletion {
    std::atomic<int> calls{0};
    std::exception_ptr failure;
    void complete(std::exception_ptr why) noexcept override {
        failure = std::move(why);
        ++calls;
    }
    std::exception_ptr wait() const {
        patience::until([&] { return calls.load() != 0; });
        return failure;
    }
};
struct Read final : sg::TupleCompletion {
    std::atomic<int> calls{0};
    std::optional<sg::CheckpointTuple> tuple;
    std::exception_ptr failure;
    void complete(std::optional<sg::CheckpointTuple> found, std::exception_ptr why) noexcept override {
        tuple = std::move(found);
        failure = std::move(why);
        ++calls;
    }
    void wait() const {
        patience::until([&] { return calls.load() != 0; });
    }
};

}  // namespace

TEST_CASE(
    "awaited runs and blocking ones do the same through a ShardedSaver that answers later, without a thread each") {
    for (const auto durability : durabilities) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto shards = std::make_shared<LaterShards>();
            const auto saver = std::make_shared<sg::ShardedSaver>(shards);
            REQUIRE(saver->answersLater());
            CHECK(saver->commitsAhead() == 4);
            const App app = wide(saver);
            for (const std::string& name : {nameOn(0), nameOn(1)}) {
                const sg::RunConfig config{.thread_id = name, .durability = durability};
                const auto asked = driver.run(app, Update{sg::set(&State::foo, "x")}, config);
                REQUIRE(asked.what() == "");
                REQUIRE(asked.interrupts.size() == 1);
                shards->move(name);  // the answer is for the other shard, which the saver does not know
                const auto done = driver.run(app, sg::Command<State>{.resume = "yes"}, config);
                REQUIRE(done.what() == "");
                CHECK(done.values == State{"x", {"a", "b", "c", "answer yes", "end"}, 0});
            }
            CHECK(shards->savers[1].inner().list({.thread_id = nameOn(0)}).size() > 0);
            CHECK(shards->savers[0].inner().list({.thread_id = nameOn(0)}).empty());
            if (isAwaited(driver)) CHECK(shards->later(0).answered() + shards->later(1).answered() > 4);
        }
    }
}

TEST_CASE("a ShardedSaver answers later only if all of its shards do, and is as far ahead as the least of them") {
    const auto later = std::make_shared<LaterSaver>();
    const auto other = std::make_shared<LaterSaver>();
    other->ahead = 2;
    const auto make = [](std::vector<sg::NamedShard> shards) {
        return sg::ShardedSaver(std::make_shared<sg::FixedShards>(std::move(shards), sg::ThreadOrder::size_then_bytes));
    };
    CHECK(make({{"a", later}, {"b", other}}).answersLater());
    CHECK(make({{"a", later}, {"b", other}}).commitsAhead() == 2);
    auto mixed = make({{"a", later}, {"b", std::make_shared<sg::MemorySaver>()}});
    CHECK_FALSE(mixed.answersLater());
    const TestCommit commit = makeCommit(1, 0);
    const sg::CommitRow row = commit.row();
    Put put;  // it blocks then, as any saver that does not answer later
    mixed.asyncPut({.log = {"t"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}}, put);
    CHECK(put.calls == 1);
    CHECK(put.failure == nullptr);
    CHECK(mixed.getTuple({.log = {"t"}})->head == nthId(1));
}

TEST_CASE("an asynchronous put and read follow a slot that has moved, and nothing is stored twice") {
    const auto shards = std::make_shared<LaterShards>();
    sg::ShardedSaver saver(shards);
    const std::string name = nameOn(0);
    putLine(saver, {name}, 2);
    shards->move(name);
    Read read;
    const sg::TupleQuery query{.log = {name}};
    saver.asyncGetTuple(query, read);
    read.wait();
    REQUIRE(read.tuple.has_value());
    CHECK(read.tuple->head == nthId(2));
    CHECK(shards->reads == 2);
    // A put is stored, and then its answer is lost and its slot moves.
    shards->savers[1].after_put = [&] {
        shards->move(name);
        sg::ThreadMovedError error("the connection broke, and then the slot was elsewhere");
        error.setMayBeStored();
        throw error;
    };
    const TestCommit commit = makeCommit(3, 2);
    const sg::CommitRow row = commit.row();
    Put put;
    const sg::PutRequest request{.log = {name}, .expected_head = nthId(2), .commits = {&row, 1}, .writes = {}};
    saver.asyncPut(request, put);
    CHECK(put.wait() == nullptr);
    CHECK(listIds(saver, {name}) == nthIds({3, 2, 1}));
    CHECK(shards->savers[0].inner().list({.thread_id = name}).size() == 3);
    // Without that doubt the refusal of the same commit is another writer's.
    Put again;
    saver.asyncPut(request, again);
    REQUIRE(again.wait() != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(again.failure), sg::ConcurrentUpdateError);
}

TEST_CASE("asynchronous calls for a slot that is nowhere wait for as long as move_wait says, and then fail") {
    const auto shards = std::make_shared<LaterShards>();
    sg::ShardedSaver saver(shards, {.move_wait = 30ms});
    const std::string name = nameOn(0);
    shards->savers[0].take(sg::slotOf(name));
    Read read;
    const sg::TupleQuery query{.log = {name}};
    saver.asyncGetTuple(query, read);
    read.wait();
    CHECK_FALSE(read.tuple.has_value());
    REQUIRE(read.failure != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(read.failure), sg::ThreadMovedError);
}

TEST_CASE("while many calls wait for slots that move, calls for other threads are answered") {
    const auto shards = std::make_shared<LaterShards>();
    sg::ShardedSaver saver(shards, {.move_wait = std::chrono::milliseconds::max()});
    const std::string left = nameOn(0);
    const std::string right = nameOn(1);
    shards->savers[0].take(sg::slotOf(left));
    std::vector<Read> waiting(40);  // more than there are threads
    const sg::TupleQuery lost{.log = {left}};
    for (Read& read : waiting) saver.asyncGetTuple(lost, read);
    Read read;
    const sg::TupleQuery query{.log = {right}};
    saver.asyncGetTuple(query, read);
    read.wait();
    CHECK(read.failure == nullptr);
    for (const Read& each : waiting) CHECK(each.calls == 0);
    shards->savers[0].give(sg::slotOf(left));
    for (const Read& each : waiting) {
        each.wait();
        CHECK(each.failure == nullptr);
    }
}

TEST_CASE("the completion receives the shard's error with its name, also of a shard that cannot be opened") {
    const auto shards = std::make_shared<LaterShards>();
    sg::ShardedSaver saver(shards);
    const std::string right = nameOn(1);
    const auto failureOf = [&] {
        Read read;
        const sg::TupleQuery query{.log = {right}};
        saver.asyncGetTuple(query, read);
        read.wait();
        CHECK(read.calls == 1);
        try {
            if (read.failure) std::rethrow_exception(read.failure);
        } catch (const sg::SaverError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    shards->savers[1].is_down = true;
    CHECK(failureOf().find("shard 'right': the storage is gone") != std::string::npos);
    shards->savers[1].is_down = false;
    shards->is_open[1] = false;
    shards->during_open = [&](std::size_t shard) {
        if (shard == 1) throw sg::SaverError("nobody answers");
    };
    CHECK(failureOf().find("shard 'right': nobody answers") != std::string::npos);
    // A call that finds it closed opens it on a thread of its own.
    std::atomic<bool> is_elsewhere{false};
    shards->during_open = [&, here = std::this_thread::get_id()](std::size_t) {
        is_elsewhere = std::this_thread::get_id() != here;
    };
    CHECK(failureOf() == "");
    CHECK(is_elsewhere);
}
