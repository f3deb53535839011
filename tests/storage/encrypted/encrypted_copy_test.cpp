#include <stategraph/encrypted_saver.hpp>

#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/support/encryption.hpp"
#include "tests/support/savers.hpp"

// Copies of encrypted threads: rows are bound to their thread, so a copy encrypts each row again.
using namespace encryption;

namespace stategraph::testing {
namespace {

constexpr unsigned commit_count = 100;  // fills several pages

void putThread(BaseCheckpointSaver& saver, std::string_view thread_id) {
    for (const std::string_view ns : {"", "child:1", "child:1|deep:2"}) {
        const LogName log{thread_id, ns};
        for (unsigned n = 1; n <= commit_count; ++n) {
            putOne(saver, log, n > 1 ? nthId(n - 1) : CheckpointId(),
                   makeCommit(n, n - 1, n > 10 ? n - n % 10 : 1, std::string(n, 'x')));
            if (n % 7 == 0) {
                putWrite(saver, log, nthId(n), nthId(n), "pull:a", makeTask(nthId(n), true));
                putWrite(saver, log, nthId(n), nthId(n), "pull:b", makeTask(nthId(n), false));
            }
        }
    }
}

bool areEqual(const std::vector<ListedCheckpoint>& a, const std::vector<ListedCheckpoint>& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(), [](const ListedCheckpoint& left, const ListedCheckpoint& right) {
            return left.checkpoint_ns == right.checkpoint_ns && left.id == right.id && left.bytes == right.bytes &&
                   std::equal(left.writes.begin(), left.writes.end(), right.writes.begin(), right.writes.end(),
                              [](const StoredWrite& x, const StoredWrite& y) {
                                  return x.path == y.path && x.bytes == y.bytes;
                              });
        });
}

std::vector<ListedCheckpoint> all(BaseCheckpointSaver& saver, const std::string& thread_id) {
    return saver.list({.thread_id = thread_id, .with_writes = true});
}

}  // namespace

TEST_CASE("a copy of a long encrypted thread has every row, sealed for the new thread with the current key") {
    savers::onEach([](savers::Store& store) {
        KeyTable keys{.seeds = {{"old", 1}, {"new", 2}}, .current = "old"};
        const std::shared_ptr<BaseCheckpointSaver> inner = store.open();
        EncryptedSaver saver(inner, keys.options());
        putThread(saver, "t");
        keys.current = "new";
        saver.copyThread("t", "a longer name");
        const auto copy = all(saver, "a longer name");
        CHECK(copy.size() == 3 * commit_count);
        CHECK(areEqual(copy, all(saver, "t")));
        for (const LogName log : {LogName{"a longer name"}, LogName{"a longer name", "child:1|deep:2"}}) {
            const auto tuple = saver.getTuple({.log = log});
            REQUIRE(tuple);
            CHECK(idsOf(tuple->commits) == nthIds({100}));
            CHECK(saver.getTuple({.log = log, .checkpoint_id = nthId(98)})->writes.size() == 2);
        }
        // The copy can be read with the new key alone, the original cannot.
        EncryptedSaver only_new(inner, ::key("new", 2));
        CHECK(areEqual(all(only_new, "a longer name"), copy));
        CHECK(has(errorOf([&] { all(only_new, "t"); }), "the key 'old', which find_key does not know"));
    });
}

TEST_CASE("a copy writes the root's log last, a page at a time, and syncs each log") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putThread(saver, "t");
    std::vector<std::string> puts;
    inner->before_put = [&](const PutRequest& request) {
        CHECK(request.commits.size() <= 32);
        puts.push_back(std::string(request.log.checkpoint_ns) + (request.sync ? " sync" : ""));
    };
    saver.copyThread("t", "u");
    std::vector<std::string> expected;
    for (const std::string ns : {"child:1|deep:2", "child:1", ""}) {
        for (int page = 0; page < 3; ++page) expected.push_back(ns);
        expected.push_back(ns + " sync");
    }
    CHECK(puts == expected);
}

TEST_CASE("a copy that fails on the way leaves no target") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putThread(saver, "t");
    const auto before = all(saver, "t");
    for (const int failing : {0, 1, 5, 8, 11}) {
        CAPTURE(failing);
        int puts = 0;
        inner->before_put = [&](const PutRequest&) {
            if (puts++ == failing) throw std::runtime_error("the disk is full");
        };
        CHECK(errorOf([&] { saver.copyThread("t", "u"); }) == "the disk is full");
        inner->before_put = nullptr;
        CHECK(puts == failing + 1);
        CHECK(all(saver, "u").empty());
    }
    CHECK(areEqual(all(saver, "t"), before));
    saver.copyThread("t", "u");
    CHECK(areEqual(all(saver, "u"), before));
}

TEST_CASE("a copy whose source was altered leaves no target") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putThread(saver, "t");
    inner->alter = [](const RowKey& key, std::string& row) {
        if (key.checkpoint_ns.empty() && key.id == nthId(50)) row.back() = static_cast<char>(row.back() ^ 1);
    };
    const std::string said = errorOf([&] { saver.copyThread("t", "u"); });
    CAPTURE(said);
    CHECK(has(said, RowKey{"t", "", nthId(50)}.toString()));
    inner->alter = nullptr;
    CHECK(all(saver, "u").empty());
}

TEST_CASE("a copy does not delete a thread that somebody else began under the target's name meanwhile") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putThread(saver, "t");
    int puts = 0;
    inner->before_put = [&](const PutRequest&) {
        if (puts++ == 6) putOne(saver, {"u"}, {}, makeCommit(500, 0));
    };
    CHECK(has(errorOf([&] { saver.copyThread("t", "u"); }), "ConcurrentUpdateError"));
    inner->before_put = nullptr;
    CHECK(headOf(saver, {"u"}) == nthId(500));
}

TEST_CASE("a copy notices that its source is pruned meanwhile, and not that it grows") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putThread(saver, "t");
    int puts = 0;
    inner->before_put = [&](const PutRequest&) {
        if (puts++ == 1) putOne(saver, {"t", "child:1|deep:2"}, nthId(100), makeCommit(101, 100));
    };
    saver.copyThread("t", "u");
    CHECK(headOf(saver, {"u", "child:1|deep:2"}) == nthId(100));
    puts = 0;
    inner->before_put = [&](const PutRequest&) {
        if (puts++ == 1) inner->prune({.thread_id = "t", .keep_last = 1});
    };
    CHECK(has(errorOf([&] { saver.copyThread("t", "v"); }), "'t' was pruned or deleted while it was copied"));
    inner->before_put = nullptr;
    CHECK(all(saver, "v").empty());
}

TEST_CASE("a copy to a thread with checkpoints, or to none, is refused as by other savers") {
    savers::onEach([](savers::Store& store) {
        EncryptedSaver saver(store.open(), ::key("k"));
        putLine(saver, {"t"}, 1);
        putLine(saver, {"only a child", "child:1"}, 1);
        CHECK_THROWS_AS(saver.copyThread("t", "t"), InvalidArgumentError);
        CHECK_THROWS_AS(saver.copyThread("t", ""), InvalidArgumentError);
        CHECK_THROWS_AS(saver.copyThread("t", "only a child"), InvalidArgumentError);
        CHECK_THROWS_AS(saver.copyThread("nobody", "t"), InvalidArgumentError);
        saver.copyThread("only a child", "u");
        CHECK(listIds(saver, {"u", "child:1"}) == nthIds({1}));
    });
}

}  // namespace stategraph::testing
