#include <stategraph/memory_saver.hpp>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/testing/saver_contract.hpp>

namespace {

struct MemoryFactory {
    std::unique_ptr<stategraph::BaseCheckpointSaver> make() { return std::make_unique<stategraph::MemorySaver>(); }
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(MemoryFactory);

namespace stategraph::testing {

TEST_CASE("the memory saver keeps rows of every size as they were") {
    MemorySaver saver;
    std::vector<TestCommit> commits;
    for (unsigned n = 1; n <= 300; ++n) {
        const std::size_t size = n % 7 == 0 ? 70'000 + n : n % 5 == 0 ? 65'536 - 40 + n % 80 : n;
        commits.push_back(makeCommit(n, n - 1, 0, std::string(size, static_cast<char>('a' + n % 26))));
        putOne(saver, {"t"}, n > 1 ? nthId(n - 1) : CheckpointId(), commits.back());
    }
    for (const auto& commit : commits) {
        const auto tuple = saver.getTuple({.log = {"t"}, .checkpoint_id = commit.id});
        REQUIRE(tuple);
        CHECK(tuple->commits.at(0).bytes == commit.bytes);
    }
    CHECK(saver.prune({.keep_last = 100}) == 200);
    CHECK(saver.list({}).at(99).bytes == commits[200].bytes);
}

TEST_CASE("the memory saver takes over a large row's string and leaves it where it cannot store it") {
    const auto rowOf = [](const TestCommit& commit, std::string& buffer) {
        return CommitRow{commit.id, commit.parent, commit.base, buffer, &buffer};
    };
    MemorySaver saver({.bytes_max = 1'000'000});
    const auto put = [&](CheckpointId head, const CommitRow& row) {
        saver.put({.log = {"t"}, .expected_head = head, .commits = {&row, 1}, .writes = {}});
    };
    const TestCommit first = makeCommit(11, 0, 0, std::string(200'000, 'a'));
    std::string buffer = first.bytes;
    const char* const place = buffer.data();
    CHECK_THROWS_AS(put(nthId(7), rowOf(first, buffer)), ConcurrentUpdateError);
    CHECK(buffer == first.bytes);
    put({}, rowOf(first, buffer));
    CHECK(buffer.empty());
    CHECK(buffer.data() != place);

    const TestCommit too_large = makeCommit(12, 11, 0, std::string(900'000, 'b'));
    buffer = too_large.bytes;
    CHECK_THROWS_AS(put(nthId(11), rowOf(too_large, buffer)), SaverError);
    CHECK(buffer == too_large.bytes);

    // The saver does not share a row whose buffer is much larger than the row, nor a small row, nor a part of a buffer.
    const TestCommit second = makeCommit(12, 11, 0, std::string(100'000, 'c'));
    buffer.assign(second.bytes);
    put(nthId(11), rowOf(second, buffer));
    CHECK(buffer == second.bytes);
    const TestCommit third = makeCommit(13, 12, 0, std::string(1'000, 'd'));
    std::string small = third.bytes;
    put(nthId(12), rowOf(third, small));
    CHECK(small == third.bytes);
    const TestCommit fourth = makeCommit(14, 13, 0, std::string(100'000, 'e'));
    std::string elsewhere(fourth.bytes.size(), 'x');
    CommitRow row = rowOf(fourth, elsewhere);
    row.bytes = fourth.bytes;
    put(nthId(13), row);
    CHECK(elsewhere == std::string(fourth.bytes.size(), 'x'));

    // A copy is independent, and outlives its original.
    saver.copyThread("t", "copy");
    const auto checkRows = [&](const char* thread) {
        for (const TestCommit* commit : {&first, &second, &third, &fourth}) {
            const auto tuple = saver.getTuple({.log = {thread}, .checkpoint_id = commit->id});
            REQUIRE(tuple);
            CHECK(tuple->commits.back().bytes == commit->bytes);
        }
    };
    checkRows("t");
    saver.deleteThread("t");
    checkRows("copy");
}

TEST_CASE("the memory saver finds every thread while others come and go") {
    MemorySaver saver;
    const auto name = [](unsigned n) { return "thread " + std::to_string(n); };
    const auto isThere = [&](unsigned n) { return n % 3 != 0 || n % 7 == 0; };
    for (unsigned n = 0; n < 20'000; ++n) {
        putLine(saver, {name(n)}, 1);
        if (n % 3 == 0) saver.deleteThread(name(n));
        if (n % 21 == 0) putLine(saver, {name(n)}, 1);
    }
    unsigned wrong = 0;
    std::size_t count = 0;
    for (unsigned n = 0; n < 20'000; ++n) {
        wrong += saver.getTuple({.log = {name(n)}}).has_value() != isThere(n);
        count += isThere(n);
    }
    CHECK(wrong == 0);
    CHECK(saver.list({}).size() == count);
}

TEST_CASE("the memory saver's size goes with what it stores") {
    MemorySaver saver;
    const auto size = [&] { return saver.storedBytes().value(); };
    const std::uint64_t empty = size();
    const std::string text(10'000, 'x');
    for (unsigned n = 1; n <= 100; ++n) {
        putOne(saver, {"t", "child"}, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1, 0, text));
    }
    const std::uint64_t commits = size();
    CHECK(commits > empty + 1'000'000);
    CHECK(commits < empty + 1'200'000);
    const std::string task = makeTask(nthId(1), false);
    for (int i = 0; i < 3; ++i) putWrite(saver, {"t", "child"}, nthId(100), nthId(1), "p", task);
    CHECK(size() > commits + task.size());
    CHECK(size() < commits + task.size() + 300);
    saver.copyThread("t", "copy");
    CHECK(size() > 2'000'000);
    saver.deleteThread("copy");
    CHECK(size() < commits + 2000);
    CHECK(saver.prune({.keep_last = 10}) == 90);
    CHECK(size() < empty + 200'000);
    saver.deleteThread("t");
    CHECK(size() < empty + 2000);
}

TEST_CASE("the memory saver says which head it has when it refuses") {
    MemorySaver saver;
    putLine(saver, {"t", "child"}, 2);
    try {
        putOne(saver, {"t", "child"}, nthId(1), makeCommit(3, 1));
        FAIL("it was stored");
    } catch (const ConcurrentUpdateError& error) {
        CHECK(error.message().find(nthId(2).toString()) != std::string::npos);
        CHECK(error.context().thread_id == "t");
        CHECK(error.context().checkpoint_ns == "child");
    }
}

}  // namespace stategraph::testing
