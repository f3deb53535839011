// Prunes while others write, and what deletions leave.
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;

TEST_CASE("a thread that is appended to while it is pruned stays one line, and is readable at every moment") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 3, true);
    std::atomic<bool> is_over{false};
    std::atomic<std::size_t> dropped{0};
    std::thread pruner([&] {
        while (!is_over) dropped += saver->prune({.thread_id = "t", .keep_last = 2, .rewrite = Rewrite::always});
    });
    constexpr unsigned last = 150;
    for (unsigned n = 4; n <= last; ++n) {
        putOne(*saver, {"t"}, nthId(n - 1), makeCommit(n, n - 1, 1, "value " + std::to_string(n)));
        const auto tuple = saver->getTuple({.log = {"t"}});
        REQUIRE(tuple);
        CHECK(tuple->head == nthId(n));
        CHECK(readChannels({"t"}, *tuple).at("channel") == Value("value " + std::to_string(n)));
    }
    patience::until([&] { return dropped > 0; });  // it may not have begun yet
    is_over = true;
    pruner.join();
    (void)saver->prune({.thread_id = "t", .keep_last = 2, .rewrite = Rewrite::always});
    CHECK(dropped > 0);
    CHECK(listIds(*saver, {"t"}) == nthIds({last, last - 1}));
    const std::string chain = "SELECT count(*) FROM " + schema.name() + ".commits c WHERE NOT EXISTS (SELECT FROM " +
                              schema.name() + ".commits p WHERE p.log = c.log AND p.id = c.prev)";
    CHECK(Raw().run(chain) == "1");  // only the first commit of the log has no parent
}

TEST_CASE("a commit to a thread that is dropped at this moment is stored and kept, or refused") {
    const Schema schema;
    const auto saver = schema.open();
    constexpr int rounds = 60;
    int kept = 0;
    for (int round = 0; round < rounds; ++round) {
        CAPTURE(round);
        const std::string thread = "t" + std::to_string(round);
        putLine(*saver, {thread}, 2);
        auto pruned = std::async(std::launch::async, [&] {
            return saver->prune({.thread_id = thread, .threads_unused_since = nthId(50).time()});
        });
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::microseconds(150 * (round % 20)));
        bool is_stored = true;
        try {
            putOne(*saver, {thread}, nthId(2), makeCommit(100, 2));
        } catch (const ConcurrentUpdateError&) {
            is_stored = false;
        }
        CHECK(pruned.get() == (is_stored ? 0 : 2));
        CHECK(listIds(*saver, {thread}).size() == (is_stored ? 3 : 0));
        CHECK(saver->list({.thread_id = thread, .heads = true}).size() == (is_stored ? 1 : 0));
        kept += is_stored;
    }
    MESSAGE(kept << " of " << rounds << " commits came first");
    CHECK(saver->countThreads(rounds)->open() == static_cast<std::size_t>(kept));
}

TEST_CASE("an append that a prune overtakes waits for it and is refused") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 2);
    // Executes the first half of what a prune does to a log that it removes.
    Raw prune;
    prune.run("BEGIN; INSERT INTO " + schema.name() + ".commits SELECT log, id, " +
              "'ffffffff-ffff-ffff-ffff-ffffffffffff', id, id, '' FROM " + schema.name() + ".commits WHERE id = '" +
              nthId(2).toString() + "'; DELETE FROM " + schema.name() + ".logs");
    auto append = std::async(std::launch::async,
                             [&] { return databaseError([&] { putOne(*saver, {"t"}, nthId(2), makeCommit(3, 2)); }); });
    Raw watcher;
    patience::until([&] {
        return watcher.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" +
                           schema.name() + "%'") != "0";
    });
    CHECK(append.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
    prune.run("COMMIT");
    POSTGRES_SAYS(append.get(), "ConcurrentUpdateError: another run committed first");
    CHECK(saver->list({}).empty());
}

namespace {

const LogName inner{"t", "child"};

// Lets no statement insert the commit with this id before it is let go. The statement has begun: it sees what was
// stored before.
class HeldInsert {
public:
    HeldInsert(const Schema& schema, CheckpointId id) : key_("hashtext('" + schema.name() + "')") {
        holder_.run("CREATE FUNCTION " + schema.name() + ".hold() RETURNS trigger LANGUAGE plpgsql AS " +
                    "$$BEGIN PERFORM pg_advisory_xact_lock_shared(" + key_ + "); RETURN NEW; END$$; CREATE TRIGGER " +
                    "hold BEFORE INSERT ON " + schema.name() + ".commits FOR EACH ROW WHEN (NEW.id = '" +
                    id.toString() + "') EXECUTE FUNCTION " + schema.name() + ".hold()");
        holder_.run("SELECT pg_advisory_lock(" + key_ + ")");
    }
    void awaitStatement() {
        patience::until([&] {
            return holder_.run(
                       "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = " + key_ +
                       "::bit(32)::bigint::oid") != "0";
        });
    }
    void letGo() { holder_.run("SELECT pg_advisory_unlock(" + key_ + ")"); }

private:
    Raw holder_;
    std::string key_;
};

}  // namespace

TEST_CASE("an append is refused if others append before it inserts, and a prune drops what it follows") {
    const Schema schema;
    const auto late = schema.open();
    const auto others = schema.open();
    putLine(*others, inner, 2);
    const TestCommit first = makeCommit(100, 2);
    const TestCommit second = makeCommit(101, 100);
    std::vector<CommitRow> commits{first.row()};
    std::vector<WriteRow> writes;
    const std::string record = makeTask(first.id, false);
    SUBCASE("a single commit") {}
    SUBCASE("several commits") { commits.push_back(second.row()); }
    SUBCASE("a commit with a pending write") { writes.push_back({first.id, "pull:a", record}); }
    HeldInsert held(schema, first.id);
    auto append = std::async(std::launch::async, [&] {
        return databaseError(
            [&] { late->put({.log = inner, .expected_head = nthId(2), .commits = commits, .writes = writes}); });
    });
    held.awaitStatement();
    putOne(*others, inner, nthId(2), makeCommit(3, 2));
    putOne(*others, inner, nthId(3), makeCommit(4, 3));
    CHECK(others->prune({.thread_id = "t", .keep_last = 1}) == 3);
    held.letGo();
    POSTGRES_SAYS(append.get(), "ConcurrentUpdateError: another run committed first");
    CHECK(listIds(*others, inner) == nthIds({4}));
    CHECK(Raw().run("SELECT count(*) FROM " + schema.name() + ".writes") == "0");
    putOne(*late, inner, nthId(4), makeCommit(102, 4));
}

TEST_CASE("what deleting and pruning leave is removed when no statement can add to it any more") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"deleted"}, 3);
    putLine(*saver, {"unused"}, 3);
    putLine(*saver, {"kept"}, 3);
    Raw raw;
    const auto rows = [&](const std::string& table) {
        return raw.run("SELECT count(*) FROM " + schema.name() + table);
    };
    saver->deleteThread("deleted");
    CHECK(rows(".commits") == "6");
    CHECK(saver->prune({.thread_id = "unused", .threads_unused_since = nthId(50).time()}) == 3);
    CHECK(rows(".commits") == "4");  // including the row that blocks an append
    // An append that began earlier may have added a row to the deleted log.
    raw.run("INSERT INTO " + schema.name() + ".commits SELECT min(log), '" + nthId(3).toString() + "', '" +
            nthId(4).toString() + "', '" + nthId(3).toString() + "', '" + nthId(3).toString() + "', '' FROM " +
            schema.name() + ".dead_logs");
    CHECK(saver->prune({.keep_last = 3}) == 0);
    CHECK(rows(".commits") == "5");
    raw.run("UPDATE " + schema.name() + ".dead_logs SET since = now() - interval '3 hours'");
    CHECK(saver->prune({.keep_last = 3}) == 0);
    CHECK(rows(".commits") == "3");
    CHECK(rows(".dead_logs") == "0");
    CHECK(listIds(*saver, {"kept"}) == nthIds({3, 2, 1}));
}

TEST_CASE("what many rows of a deleted thread took is freed, a part at a time") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 1);
    saver->deleteThread("t");
    Raw raw;
    // Rows that a cancelled statement leaves.
    raw.run("INSERT INTO " + schema.name() + ".commits SELECT log, lpad(to_hex(n), 32, '0')::uuid, " +
            "lpad(to_hex(n + 1), 32, '0')::uuid, lpad('0', 32, '0')::uuid, lpad('0', 32, '0')::uuid, '' FROM " +
            schema.name() + ".dead_logs, generate_series(0, 4999) AS n");
    raw.run("UPDATE " + schema.name() + ".dead_logs SET since = now() - interval '3 hours'");
    CHECK(saver->prune({.keep_last = 3}) == 0);
    CHECK(raw.run("SELECT count(*) FROM " + schema.name() + ".commits") == "0");
    CHECK(raw.run("SELECT count(*) FROM " + schema.name() + ".dead_logs") == "0");
}
