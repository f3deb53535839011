#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// What outlives the saver, and the sizes that it reports.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("everything is there after reopening, and heads still guard it", Factory, saver_reopen) {
    if constexpr (CanReopen<Factory>) {
        Factory factory;
        {
            const auto saver = factory.make();
            putLine(*saver, {"t"}, 3, true);
            putLine(*saver, {"t", "child"}, 2);
            putLine(*saver, {"gone"}, 2);
            putWrite(*saver, {"t"}, nthId(3), nthId(3), "p", "bytes");
            saver->deleteThread("gone");
        }
        const auto saver = factory.reopen();
        CHECK(listIds(*saver, {"t"}) == nthIds({3, 2, 1}));
        CHECK(listIds(*saver, {"t", "child"}) == nthIds({2, 1}));
        CHECK(saver->list({.thread_id = "gone"}).empty());
        const auto tuple = saver->getTuple({.log = {"t"}});
        REQUIRE(tuple);
        CHECK(idsOf(tuple->commits) == nthIds({1, 2, 3}));
        CHECK(tuple->writes.size() == 1);
        CHECK_THROWS_AS(putOne(*saver, {"t"}, nthId(2), makeCommit(4, 2)), ConcurrentUpdateError);
        CHECK_THROWS_AS(putOne(*saver, {"gone"}, nthId(2), makeCommit(4, 2)), ConcurrentUpdateError);
        CHECK_NOTHROW(putOne(*saver, {"t"}, nthId(3), makeCommit(4, 3)));
    }
}

TEST_CASE_TEMPLATE_DEFINE("after a crash between pending writes and their commit both states can be read", Factory,
                          saver_crash) {
    if constexpr (CanReopen<Factory>) {
        Factory factory;
        const std::string finished = makeTask(nthId(2), false);
        {
            const auto saver = factory.make();
            putLine(*saver, {"t"}, 2, true);
            const WriteRow row{nthId(2), "a", finished, ""};
            saver->putWrites({"t"}, nthId(2), {&row, 1}, true);
        }
        {
            const auto saver = factory.reopen();
            const auto before = saver->getTuple({.log = {"t"}});
            REQUIRE(before);
            CHECK(before->id == nthId(2));
            CHECK_FALSE(before->next);
            REQUIRE(before->writes.size() == 1);
            CHECK(before->writes[0].bytes == finished);
            // Writers that expect the row see it, and so do those that do not.
            const WriteRow again{nthId(2), "a", "other", ""};
            CHECK_THROWS_AS(saver->putWrites({"t"}, nthId(2), {&again, 1}), ConcurrentUpdateError);
            const WriteRow next{nthId(2), "a", finished, finished};
            CHECK_NOTHROW(saver->putWrites({"t"}, nthId(2), {&next, 1}));
            putOne(*saver, {"t"}, nthId(2), makeCommit(3, 2, 1, "after"), true);
        }
        const auto saver = factory.reopen();
        const auto after = saver->getTuple({.log = {"t"}});
        REQUIRE(after);
        CHECK(after->id == nthId(3));
        CHECK(after->writes.empty());
        CHECK(readChannels({"t"}, *after).at("channel") == Value("after"));
        const auto before = saver->getTuple({.log = {"t"}, .checkpoint_id = nthId(2)});
        REQUIRE(before);
        CHECK(before->writes.size() == 1);
        CHECK(readChannels({"t"}, *before).at("channel") == Value("value"));
    }
}

TEST_CASE_TEMPLATE_DEFINE(
    "a saver that reports its size reports at least what it stores, and less or no more after deleting", Factory,
    saver_stored_bytes) {
    constexpr std::uint64_t some = 64 * 1024;  // what bookkeeping may take, including that of a deletion
    Factory factory;
    const auto saver = factory.make();
    const auto empty = saver->storedBytes();
    std::mt19937 random(1);
    std::string noise(100'000, '\0');
    const auto makeNoise = [&] {
        for (char& byte : noise) byte = static_cast<char>(random());  // random, so that no compression helps
        return std::string_view(noise);
    };
    for (unsigned n = 1; n <= 10; ++n) {
        putOne(*saver, {"t"}, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1, 0, makeNoise()));
        putWrite(*saver, {"t"}, nthId(n), nthId(n), "p", makeTask(nthId(n), false));
    }
    const auto full = saver->storedBytes();
    CHECK(empty.has_value() == full.has_value());
    CHECK(saver->prune({.keep_last = 2}) == 8);
    const auto pruned = saver->storedBytes();
    saver->deleteThread("t");
    const auto deleted = saver->storedBytes();
    CHECK(saver->list({}).empty());
    if (!full) return;
    REQUIRE(pruned);
    REQUIRE(deleted);
    CHECK(*full >= *empty + 1'000'000);
    CHECK(*pruned >= *empty + 200'000);
    CHECK(*pruned <= *full + some);
    CHECK(*deleted <= *pruned + some);
}

TEST_CASE_TEMPLATE_DEFINE("a graph's description is kept by its fingerprint, the last one that was given, or none is",
                          Factory, saver_graphs) {
    Factory factory;
    auto saver = factory.make();
    CHECK(!saver->getGraph({1, 2}));
    saver->putGraph({1, 2}, std::string_view("\xa0", 1));
    if (!saver->getGraph({1, 2})) return;  // a saver may keep no descriptions
    saver->putGraph({1, 3}, "\xf6");
    saver->putGraph({1, 2}, std::string(1, '\0') + "other");
    putLine(*saver, {"t"}, 2);
    saver->deleteThread("t");
    if constexpr (CanReopen<Factory>) {
        saver.reset();
        saver = factory.reopen();
    }
    CHECK(saver->getGraph({1, 2}) == std::string(1, '\0') + "other");
    CHECK(saver->getGraph({1, 3}) == std::string("\xf6"));
    CHECK(!saver->getGraph({3, 1}));
    CHECK(saver->list({}).empty());
}

}  // namespace stategraph::testing
