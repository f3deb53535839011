// Puts of several threads in one statement: each is compared, and answered, by itself.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_join_helper.hpp"
#include "tests/support/shared_threads.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

namespace {

const PostgresSaverOptions one_statement{.join_puts = {.statements_max = 1}};

std::string named(int number) { return "thread " + std::to_string(number); }

std::vector<std::string> nothings(std::size_t count) { return std::vector<std::string>(count); }

}  // namespace

TEST_CASE("commits of many logs that are put at once are stored by few statements, each after its own head") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    constexpr int threads = 12;
    for (int i = 0; i < threads; ++i) {
        if (i % 3 != 0) putLine(*saver, {named(i)}, 1);
        if (i % 3 != 0) putLine(*saver, {named(i), "inner:1"}, 1);
    }
    Joining joining(schema, *saver);
    unsigned n = 1;
    // How many come in time is the machine's affair; that they are joined at all is not.
    for (int round = 0; round < 100 && (round < 3 || saver->joinedPuts() < threads); ++round, ++n) {
        std::vector<Joining::Call> calls;
        for (int i = 0; i < threads; ++i) {
            const unsigned before = i % 3 != 0 ? n : n - 1;  // a third of the threads begin with this
            for (const char* ns : {"", "inner:1"}) {
                calls.push_back([&saver, i, ns, before] {
                    putOne(*saver, {named(i), ns}, before > 0 ? nthId(before) : CheckpointId(),
                           makeCommit(before + 1, before, 0, named(i) + ns));
                });
            }
        }
        const auto trips_before = saver->roundTrips();
        const auto joined_before = saver->joinedPuts();
        CHECK(joining.together(calls) == nothings(calls.size()));
        const auto joined = saver->joinedPuts() - joined_before;
        // The first put, the others alone, and all that are joined in one or more.
        CHECK(saver->roundTrips() - trips_before <= 1 + (calls.size() - joined) + (joined + 1) / 2 + 2);
    }
    CHECK(saver->joinedPuts() >= threads);
    for (int i = 0; i < threads; ++i) {
        const unsigned count = i % 3 != 0 ? n : n - 1;
        for (const char* ns : {"", "inner:1"}) {
            std::vector<CheckpointId> wanted;
            for (unsigned at = count; at >= 1; --at) wanted.push_back(nthId(at));
            CHECK(listIds(*saver, {named(i), ns}) == wanted);
            const auto tuple = saver->getTuple({.log = {named(i), ns}});
            REQUIRE(tuple.has_value());
            CHECK(tuple->commits.size() == 1);
            CHECK(tuple->commits.back().bytes.view().find(named(i) + ns) != std::string_view::npos);
        }
    }
}

TEST_CASE("a put that is refused or fails in a joined statement says so by itself, and the others are stored") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    for (int i = 0; i < 6; ++i) putLine(*saver, {named(i)}, 2);
    Raw().run("ALTER TABLE " + schema.name() + ".commits ADD CHECK (position('refuse me'::bytea IN bytes) = 0)");
    Joining joining(schema, *saver);
    const auto putTo = [&](int thread, unsigned head, const std::string& text, unsigned n) {
        return [&saver, thread, head, text, n] {
            putOne(*saver, {named(thread)}, nthId(head), makeCommit(n, head, 0, text));
        };
    };
    for (unsigned n = 2; n < 5 || (n < 50 && saver->joinedPuts() < 4); ++n) {
        CAPTURE(n);
        const auto joined = saver->joinedPuts();
        // Another head, and a log that does not exist.
        auto said =
            joining.together({putTo(0, n, "good", n + 1), putTo(1, n - 1, "bad", n + 1), putTo(2, n, "good", n + 1),
                              putTo(9, n, "bad", n + 1), putTo(3, n, "good", n + 1)});
        CHECK(said[0] + said[2] + said[4] == "");
        POSTGRES_SAYS(said[1], "ConcurrentUpdateError: another run committed first");
        POSTGRES_SAYS(said[1], "thread 'thread 1'");
        POSTGRES_SAYS(said[3], "ConcurrentUpdateError");
        POSTGRES_SAYS(said[3], "thread 'thread 9'");
        CHECK(saver->joinedPuts() <= joined + 3);
        // What the server refuses takes the whole statement with it; then each is stored alone.
        said =
            joining.together({putTo(1, n, "good", n + 1), putTo(4, n, "refuse me", n + 1), putTo(5, n, "good", n + 1)});
        CHECK(said[0] + said[2] == "");
        POSTGRES_SAYS(said[1], "could not store a commit: new row for relation");
        POSTGRES_SAYS(said[1], "thread 'thread 4'");
        CHECK(joining.together({putTo(4, n, "good", n + 1)}) == nothings(1));
    }
    CHECK(saver->joinedPuts() > 0);
    for (int i = 0; i < 6; ++i) CHECK(headOf(*saver, {named(i)}) == headOf(*saver, {named(0)}));
    CHECK(headOf(*saver, {named(9)}).empty());
}

TEST_CASE("of several puts after one head of a log one is stored, also if they wait together") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    Joining joining(schema, *saver);
    for (unsigned n = 0; n < 4; ++n) {
        std::vector<Joining::Call> calls;
        for (unsigned writer = 1; writer <= 6; ++writer) {
            for (const char* thread : {"one", "two"}) {
                calls.push_back([&saver, n, writer, thread, head = headOf(*saver, {thread})] {
                    const auto commit =
                        makeCommit({.id = nthId(n + 1, writer), .parent = head, .step = static_cast<std::int64_t>(n)});
                    putOne(*saver, {thread}, head, commit);
                });
            }
        }
        const auto said = joining.together(calls);
        CHECK(std::ranges::count(said, "") == 2);
        for (const std::string& each : said) {
            if (!each.empty()) POSTGRES_SAYS(each, "ConcurrentUpdateError: another run committed first");
        }
    }
    for (const char* thread : {"one", "two"}) {
        std::set<std::string> ids;
        shared_threads::checkLine(*saver, thread, ids);
        CHECK(ids.size() == 4);
    }
}

TEST_CASE("what a thread waits for is in the index after joined puts as after single ones") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    Joining joining(schema, *saver);
    const auto wakes = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'800'000'000'000));
    const auto putAs = [&](const std::string& thread, unsigned n, ThreadOutlook outlook) {
        return [&saver, thread, n, outlook] {
            const TestCommit commit = makeCommit(n, n - 1);
            const CommitRow row = commit.row();
            saver->put({.log = {thread},
                        .expected_head = n > 1 ? nthId(n - 1) : CheckpointId(),
                        .commits = {&row, 1},
                        .writes = {},
                        .outlook = outlook});
        };
    };
    unsigned n = 1;
    for (int round = 0; round < 50 && (round < 2 || saver->joinedPuts() < 8); ++round, n += 2000) {
        // A second passes between two rounds, so that a status that stays unknown gets a newer place.
        const std::string prefix = std::to_string(round) + " ";
        for (const unsigned at : {1U, 2U, 1500U}) {
            CHECK(joining.together({putAs(prefix + "running", at == 1500 ? 3 : at, {}),
                                    putAs(prefix + "done", at == 1500 ? 3 : at, {Status::done, {}}),
                                    putAs(prefix + "asked", at == 1500 ? 3 : at, {Status::interrupted, {}}),
                                    putAs(prefix + "sleeps", at == 1500 ? 3 : at, {Status::sleeping, wakes})}) ==
                  nothings(4));
        }
        const auto open = saver->openThreads({.limit = 1000});
        REQUIRE(open.has_value());
        const auto statusOf = [&](const std::string& thread) -> std::string {
            for (const IndexedThread& each : *open) {
                if (each.place.thread_id == prefix + thread) return std::string(toString(each.outlook.status));
            }
            return "not open";
        };
        CHECK(statusOf("running") == toString(Status::in_flight));
        CHECK(statusOf("asked") == toString(Status::interrupted));
        CHECK(statusOf("sleeps") == toString(Status::sleeping));
        CHECK(statusOf("done") == "not open");
        const auto due = saver->dueThreads({.limit = 1000});
        REQUIRE(due.has_value());
        CHECK(std::ranges::count(*due, DueThread{wakes, prefix + "sleeps"}) == 1);
    }
    CHECK(saver->joinedPuts() >= 8);
    CHECK((*saver->countThreads(1000))[Status::done] > 0);
}

TEST_CASE("puts with sync and without are not joined, and each is committed as it says") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    const std::string noted = schema.name() + ".noted";
    Raw().run(
        "CREATE TABLE " + noted + " (is_sync text, is_on text); CREATE FUNCTION " + schema.name() +
        ".note() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO " + noted +
        " VALUES (position('synced'::bytea IN NEW.bytes) > 0, current_setting('synchronous_commit')); RETURN NULL; "
        "END $f$; CREATE CONSTRAINT TRIGGER note AFTER INSERT ON " +
        schema.name() + ".commits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + schema.name() +
        ".note()");
    Joining joining(schema, *saver);
    for (unsigned n = 1; n < 4 || (n < 50 && saver->joinedPuts() < 8); ++n) {
        std::vector<Joining::Call> calls;
        for (int i = 0; i < 8; ++i) {
            calls.push_back([&saver, i, n] {
                putOne(*saver, {named(i)}, n > 1 ? nthId(n - 1) : CheckpointId(),
                       makeCommit(n, n - 1, 0, i % 2 != 0 ? "synced" : "as it comes"), i % 2 != 0);
            });
        }
        CHECK(joining.together(calls) == nothings(8));
    }
    CHECK(saver->joinedPuts() >= 8);
    Raw raw;
    CHECK(raw.run("SELECT count(*) FROM " + noted + " WHERE is_sync = 'true' AND is_on <> 'on'") == "0");
    CHECK(raw.run("SELECT count(*) FROM " + noted + " WHERE is_sync = 'false' AND is_on <> 'off'") == "0");
    CHECK(raw.run("SELECT count(DISTINCT is_on) FROM " + noted) == "2");
}

TEST_CASE("a joined statement has no more puts and bytes than its limits say, and a large put goes alone") {
    const Schema schema;
    PostgresSaverOptions options = one_statement;
    options.join_puts.puts_max = 3;
    options.join_puts.bytes_max = 4'000;
    const auto saver = schema.open(options);
    const std::string sizes = schema.name() + ".sizes";
    Raw().run(
        "CREATE TABLE " + sizes + " (puts bigint, bytes bigint); CREATE FUNCTION " + schema.name() +
        ".size() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO " + sizes +
        " SELECT count(*), sum(length(bytes)) FROM added; RETURN NULL; END $f$; CREATE TRIGGER size AFTER INSERT ON " +
        schema.name() + ".commits REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION " + schema.name() +
        ".size()");
    Joining joining(schema, *saver);
    for (unsigned n = 1; n < 4 || (n < 50 && saver->joinedPuts() < 6); ++n) {
        std::vector<Joining::Call> calls;
        for (int i = 0; i < 10; ++i) {
            const std::size_t bytes = i < 6 ? 10 : i < 9 ? 2'500 : 20'000;
            calls.push_back([&saver, i, n, bytes] {
                putOne(*saver, {named(i)}, n > 1 ? nthId(n - 1) : CheckpointId(),
                       makeCommit(n, n - 1, 0, std::string(bytes, 'x')));
            });
        }
        CHECK(joining.together(calls) == nothings(10));
    }
    Raw raw;
    CHECK(saver->joinedPuts() >= 6);
    CHECK(raw.run("SELECT max(puts) <= 3 AND max(puts) > 1 FROM " + sizes) == "t");
    CHECK(raw.run("SELECT count(*) FROM " + sizes + " WHERE puts > 1 AND bytes > 4000") == "0");
    CHECK(raw.run("SELECT count(*) > 0 FROM " + sizes + " WHERE bytes > 20000") == "t");

    const auto alone = schema.open({.join_puts = {.puts_max = 1}});
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { putLine(*alone, {"alone " + std::to_string(i)}, 10); });
    for (auto& each : threads) each.join();
    CHECK(alone->joinedPuts() == 0);
    CHECK(alone->list({.thread_id = "alone 7"}).size() == 10);
}

TEST_CASE("a put that meets another writer's lock waits alone, and those that were joined with it do not") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    for (int i = 0; i < 5; ++i) putLine(*saver, {named(i)}, 1);
    Joining joining(schema, *saver);
    Raw holder;
    holder.run("BEGIN");
    holder.run("SELECT 1 FROM " + schema.name() + ".logs WHERE thread = '" + named(0) + "' FOR UPDATE");
    std::atomic<int> stored{0};
    std::atomic<bool> is_held_stored{false};
    unsigned n = 1;
    auto held = std::async(std::launch::async, [&] {
        putOne(*saver, {named(0)}, nthId(1), makeCommit(2, 1));
        is_held_stored = true;
    });
    for (; n < 4 || (n < 50 && saver->joinedPuts() < 4); ++n) {
        std::vector<Joining::Call> calls;
        for (int i = 1; i < 5; ++i)
            calls.push_back([&saver, i, n] { putOne(*saver, {named(i)}, nthId(n), makeCommit(n + 1, n)); });
        CHECK(joining.together(calls) == nothings(4));
    }
    CHECK_FALSE(is_held_stored);
    holder.run("COMMIT");
    held.get();
    CHECK(headOf(*saver, {named(0)}) == nthId(2));
    for (int i = 1; i < 5; ++i) CHECK(headOf(*saver, {named(i)}) == nthId(n));
}

TEST_CASE("puts of several commits are joined with others, and each is stored as a whole or not at all") {
    const Schema schema;
    const auto saver = schema.open(one_statement);
    for (int i = 0; i < 5; ++i) putLine(*saver, {named(i)}, 1);
    Joining joining(schema, *saver);
    const auto wakes = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'800'000'000'000));
    // Appends the commits n + 1 to n + count after `head`; the last one says that the thread sleeps.
    const auto append = [&](int thread, const char* ns, unsigned head, unsigned n, unsigned count) {
        return [&saver, &wakes, thread, ns, head, n, count] {
            std::vector<TestCommit> commits;
            std::vector<CommitRow> rows;
            for (unsigned at = n + 1; at <= n + count; ++at)
                commits.push_back(makeCommit(at, at - 1, 0, named(thread)));
            for (const TestCommit& commit : commits) rows.push_back(commit.row());
            saver->put({.log = {named(thread), ns},
                        .expected_head = head > 0 ? nthId(head) : CheckpointId(),
                        .commits = rows,
                        .writes = {},
                        .outlook = {Status::sleeping, wakes}});
        };
    };
    unsigned n = 1;
    for (int round = 0; round < 50 && (round < 3 || saver->joinedPuts() < 12); ++round, n += 3) {
        CAPTURE(round);
        const auto joined = saver->joinedPuts();
        const auto said = joining.together(
            {append(0, "", n, n, 3), append(1, "", n, n, 3), append(2, "", n - 1, n, 3),  // another head
             append(3, "", n, n, 3), append(4, "", n, n, 3), append(4, "inner:1", n - 1, n - 1, 3)});
        POSTGRES_SAYS(said[2], "ConcurrentUpdateError: another run committed first");
        CHECK(said[0] + said[1] + said[3] + said[4] + said[5] == "");
        CHECK(saver->joinedPuts() <= joined + 5);
        CHECK(joining.together({append(2, "", n, n, 3)}) == nothings(1));  // the statement of one put
    }
    CHECK(saver->joinedPuts() >= 12);
    for (int i = 0; i < 5; ++i) {
        CAPTURE(i);
        std::vector<CheckpointId> wanted;
        for (unsigned at = n; at >= 1; --at) wanted.push_back(nthId(at));
        CHECK(listIds(*saver, {named(i)}) == wanted);
        CHECK(saver->getTuple({.log = {named(i)}, .checkpoint_id = nthId(n - 1)})->next->id == nthId(n));
        std::set<std::string> ids;
        shared_threads::checkLine(*saver, named(i), ids);
        CHECK(ids.size() == n);
    }
    CHECK(headOf(*saver, {named(4), "inner:1"}) == nthId(n - 1));
    const auto due = saver->dueThreads({.limit = 1000});
    REQUIRE(due.has_value());
    CHECK(due->size() == 5);
    const auto newest = saver->newestThreads({.statuses = Statuses(Status::sleeping), .limit = 1000});
    REQUIRE(newest.has_value());
    REQUIRE(newest->size() == 5);
    for (const IndexedThread& each : *newest) CHECK(each.place.since == nthId(n));
}

TEST_CASE("join_puts refuses limits that cannot be") {
    const Schema schema;
    const auto open = [&](PostgresJoinOptions options) {
        return databaseError([&] { (void)schema.open({.join_puts = options}); });
    };
    POSTGRES_SAYS(open({.puts_max = 0}), "InvalidArgumentError: join_puts.puts_max is 0; it must be 1 to 1000");
    POSTGRES_SAYS(open({.puts_max = 1'001}), "join_puts.puts_max is 1001");
    POSTGRES_SAYS(open({.bytes_max = 0}), "join_puts.bytes_max is 0");
    POSTGRES_SAYS(open({.statements_max = 0}), "join_puts.statements_max is 0");
    CHECK(open({.puts_max = 1'000, .bytes_max = 1, .statements_max = 1'000}) == "");
    const auto openAhead = [&](std::size_t ahead) {
        return databaseError([&] { (void)schema.open({.commits_ahead = ahead}); });
    };
    POSTGRES_SAYS(openAhead(0), "InvalidArgumentError: commits_ahead is 0; it must be 1 to 1000");
    POSTGRES_SAYS(openAhead(1'001), "commits_ahead is 1001");
}
