#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/async/later.hpp"
#include "tests/storage/sharded/two_shards.hpp"
#include "tests/support/until.hpp"

// Asynchronous calls of a ShardedSaver: no thread waits for its shards.
using namespace graphs;
using namespace stategraph::testing;

namespace {

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
            const auto left = std::make_shared<LaterSaver>();
            const auto right = std::make_shared<LaterSaver>();
            const TwoShards on(left, right);
            REQUIRE(on.saver->answersLater());
            const App app = wide(on.saver);
            for (const std::string& name : {nameOn(0), nameOn(1)}) {
                const sg::RunConfig config{.thread_id = name, .durability = durability};
                const auto asked = driver.run(app, Update{sg::set(&State::foo, "x")}, config);
                REQUIRE(asked.what() == "");
                REQUIRE(asked.interrupts.size() == 1);
                const auto done = driver.run(app, sg::Command<State>{.resume = "yes"}, config);
                REQUIRE(done.what() == "");
                CHECK(done.values == State{"x", {"a", "b", "c", "answer yes", "end"}, 0});
            }
            for (std::size_t shard = 0; shard < 2; ++shard) {
                CHECK(on.parts[shard]->list({.thread_id = nameOn(shard)}).size() > 0);
                CHECK(on.parts[shard]->list({.thread_id = nameOn(1 - shard)}).empty());
            }
            if (isAwaited(driver)) CHECK(left->answered() + right->answered() > 4);
        }
    }
}

TEST_CASE("a ShardedSaver answers later only if all of its shards do, and is as far ahead as the least of them") {
    const auto later = std::make_shared<LaterSaver>();
    const auto other = std::make_shared<LaterSaver>();
    other->ahead = 2;
    const auto make = [](std::vector<sg::NamedShard> shards) {
        return sg::ShardedSaver(std::move(shards), {.order = sg::ThreadOrder::size_then_bytes});
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

TEST_CASE("completions receive the shard's error with its name, and errors of the request as they are") {
    TwoShards on(std::make_shared<LaterSaver>(), std::make_shared<LaterSaver>());
    const std::string left = nameOn(0);
    const std::string right = nameOn(1);
    putLine(*on.saver, {left}, 2);
    on.takeAway(1);
    const auto said = [](const std::exception_ptr& failure) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const sg::SaverError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    Read read;
    const sg::TupleQuery query{.log = {right}};
    on.saver->asyncGetTuple(query, read);
    read.wait();
    CHECK(said(read.failure).find("shard 'right': the storage is gone") != std::string::npos);
    const TestCommit commit = makeCommit(1, 0);
    const sg::CommitRow row = commit.row();
    Put put;
    const sg::PutRequest request{.log = {right}, .expected_head = {}, .commits = {&row, 1}, .writes = {}};
    on.saver->asyncPut(request, put);
    CHECK(said(put.wait()).find("shard 'right': the storage is gone") != std::string::npos);
    Put second;
    const sg::PutRequest again{.log = {left}, .expected_head = {}, .commits = {&row, 1}, .writes = {}};
    on.saver->asyncPut(again, second);
    REQUIRE(second.wait() != nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(second.failure), sg::ConcurrentUpdateError);
}
