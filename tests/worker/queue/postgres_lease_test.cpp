// Puts under a lease: the statement that stores the rows also checks the epoch.
#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/leased_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/shared_threads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using helpers::awaitLines;
using helpers::given;
using helpers::Helper;

namespace {

/// Gives a thread to a worker, as a claim does.
void lease(const Schema& schema, const std::string& thread, std::int64_t epoch) {
    const std::string work = schema.name() + ".work";
    Raw raw;
    raw.run("INSERT INTO " + work + " (thread, queue, graph, state) VALUES ('" + thread +
            "', 'q', 'g', 1) ON CONFLICT DO NOTHING");
    raw.run("WITH c AS MATERIALIZED (SELECT thread FROM " + work + " WHERE thread = '" + thread +
            "' FOR UPDATE) UPDATE " + work + " w SET due = now() + interval '1 hour', epoch = " +
            std::to_string(epoch) + " FROM c WHERE w.thread = c.thread");
}

std::string workOf(const Schema& schema, const std::string& column, const std::string& thread = "t") {
    return Raw().run("SELECT " + column + " FROM " + schema.name() + ".work WHERE thread = '" + thread + "'");
}

/// Returns when a statement on the schema waits for a lock or the call has ended.
void awaitLock(const Schema& schema, const std::future<std::string>& call) {
    Raw raw;
    const std::string waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" + schema.name() + "%'";
    patience::until([&] {
        return !(raw.run(waiting) == "0" && call.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
    });
}

constexpr const char* lost = "LeaseLostError: the lease with epoch 1 on the thread is lost, so nothing was stored";

}  // namespace

TEST_CASE("every kind of put under a lease is stored with one round trip, and without the lease not at all") {
    const Schema schema;
    const std::shared_ptr<PostgresSaver> base = schema.open({.prepared_statements = false});
    LeasedSaver saver(base);
    std::uint64_t last = 0;
    const auto trips = [&] { return base->roundTrips() - std::exchange(last, base->roundTrips()); };
    const LogName inner{"t", "inner:1"};
    const TestCommit three = makeCommit(3, 2);
    const TestCommit four = makeCommit(4, 3);
    const CommitRow two_rows[] = {three.row(), four.row()};
    const auto putTwo = [&] {
        saver.put({.log = {"t"}, .expected_head = nthId(2), .commits = two_rows, .writes = {}});
    };

    lease(schema, "t", 1);
    saver.hold("t", {.epoch = 1});
    (void)trips();
    putOne(saver, {"t"}, {}, makeCommit(1, 0));
    CHECK(trips() == 1);
    putOne(saver, {"t"}, nthId(1), makeCommit(2, 1));
    CHECK(trips() == 1);
    putTwo();
    CHECK(trips() == 1);
    putOne(saver, inner, {}, makeCommit(1, 0));
    CHECK(trips() == 1);
    putOne(saver, inner, nthId(1), makeCommit(2, 1), true);
    CHECK(trips() == 1);
    putWrite(saver, {"t"}, nthId(4), nthId(4), "task", "bytes");
    CHECK(trips() == 1);

    lease(schema, "t", 2);
    POSTGRES_SAYS(databaseError([&] { putOne(saver, {"t"}, nthId(4), makeCommit(5, 4)); }), lost);
    POSTGRES_SAYS(databaseError([&] { putOne(saver, inner, nthId(2), makeCommit(3, 2)); }), lost);
    POSTGRES_SAYS(databaseError([&] { putWrite(saver, {"t"}, nthId(4), nthId(4), "task", "other"); }), lost);
    POSTGRES_SAYS(databaseError([&] { putOne(saver, {"t", "inner:2"}, {}, makeCommit(1, 0)); }), lost);
    POSTGRES_SAYS(databaseError([&] { putTwo(); }), lost);
    POSTGRES_SAYS(databaseError([&] { saver.deleteThread("t"); }), lost);
    CHECK(listIds(saver, {"t"}) == nthIds({4, 3, 2, 1}));
    CHECK(listIds(saver, inner) == nthIds({2, 1}));
    CHECK(listIds(saver, {"t", "inner:2"}).empty());
    CHECK(writesOf(saver, {"t"}, 4).at(0).bytes == "bytes");
    const std::string said = databaseError([&] { putOne(saver, {"t"}, nthId(4), makeCommit(5, 4)); });
    POSTGRES_SAYS(said, "End the run: its new owner continues it");
    POSTGRES_SAYS(said, "thread 't'");

    // While the lease is valid, another writer's commit causes a different error.
    saver.hold("t", {.epoch = 2});
    POSTGRES_SAYS(databaseError([&] { putOne(saver, {"t"}, nthId(3), makeCommit(5, 3)); }),
                  "ConcurrentUpdateError: another run committed first");
    putOne(saver, {"t"}, nthId(4), makeCommit(5, 4));
    saver.deleteThread("t");
    CHECK(listIds(saver, {"t"}).empty());
    CHECK(workOf(schema, "count(*)") == "0");
}

TEST_CASE("a leased saver refuses threads that it has no lease on, and asks nobody") {
    const Schema schema;
    const std::shared_ptr<PostgresSaver> base = schema.open();
    LeasedSaver saver(base);
    lease(schema, "t", 1);
    const auto before = base->roundTrips();
    POSTGRES_SAYS(databaseError([&] { putOne(saver, {"t"}, {}, makeCommit(1, 0)); }),
                  "LeaseLostError: this process has no lease on the thread");
    saver.hold("t", {.epoch = 1});
    saver.drop("t", 3);  // the epoch of another claim
    CHECK(saver.held() == 1);
    saver.drop("t", 1);
    CHECK(saver.held() == 0);
    POSTGRES_SAYS(databaseError([&] { saver.deleteThread("t"); }), "has no lease on the thread");
    CHECK(base->roundTrips() == before);
    CHECK_THROWS_AS(LeasedSaver(nullptr), InvalidArgumentError);
}

TEST_CASE("the own log of a thread that was new when it was claimed is read without asking, until it is put to") {
    const Schema schema;
    const std::shared_ptr<PostgresSaver> base = schema.open();
    LeasedSaver saver(base);
    lease(schema, "t", 1);
    saver.holdNew("t", {.epoch = 1});
    const auto before = base->roundTrips();
    CHECK_FALSE(saver.getTuple({.log = {"t"}}).has_value());
    CHECK(base->roundTrips() == before);
    CHECK_FALSE(saver.getTuple({.log = {"t", "inner:1"}}).has_value());
    CHECK(base->roundTrips() > before);
    putOne(saver, {"t", "inner:1"}, {}, makeCommit(1, 0));
    CHECK(saver.getTuple({.log = {"t", "inner:1"}})->head == nthId(1));
    // A put that is refused because another writer was first also ends it.
    putOne(*base, {"t"}, {}, makeCommit(1, 0));
    CHECK_FALSE(saver.getTuple({.log = {"t"}}).has_value());
    CHECK_THROWS_AS(putOne(saver, {"t"}, {}, makeCommit(2, 0)), ConcurrentUpdateError);
    CHECK(saver.getTuple({.log = {"t"}})->head == nthId(1));
    putOne(saver, {"t"}, nthId(1), makeCommit(2, 1));
    CHECK(saver.getTuple({.log = {"t"}})->head == nthId(2));
    // A copy, and a claim without that promise.
    lease(schema, "copy", 1);
    saver.holdNew("copy", {.epoch = 1});
    saver.copyThread("t", "copy");
    CHECK(saver.getTuple({.log = {"copy"}})->head == nthId(2));
    saver.holdNew("t", {.epoch = 1});
    saver.hold("t", {.epoch = 1});
    CHECK(saver.getTuple({.log = {"t"}})->head == nthId(2));
}

TEST_CASE("an input is taken with the first commits of the thread's own log, or neither is stored") {
    const Schema schema;
    LeasedSaver saver(schema.open());
    lease(schema, "t", 1);
    const std::string inputs = schema.name() + ".inputs";
    Raw raw;
    raw.run("INSERT INTO " + inputs + " (thread, key, input) VALUES ('t', NULL, 'one'), ('t', 'k', 'two')");
    raw.run("UPDATE " + schema.name() + ".work SET state = 0, inputs = 2");
    saver.hold("t", {.epoch = 1, .takes = 1});
    putOne(saver, {"t", "inner:1"}, {}, makeCommit(1, 0));
    CHECK_FALSE(saver.hasTaken("t"));
    CHECK(workOf(schema, "state") == "0");
    // Refused because the head has changed, so the input stays.
    CHECK_THROWS_AS(putOne(saver, {"t"}, nthId(5), makeCommit(6, 5)), ConcurrentUpdateError);
    CHECK_FALSE(saver.hasTaken("t"));
    CHECK(raw.run("SELECT count(*) FROM " + inputs + " WHERE taken IS NULL") == "2");
    putOne(saver, {"t"}, {}, makeCommit(1, 0));
    CHECK(saver.hasTaken("t"));
    CHECK(workOf(schema, "state") == "1");
    CHECK(workOf(schema, "inputs") == "1");
    CHECK(raw.run("SELECT count(*) FROM " + inputs) == "1");
    putOne(saver, {"t"}, nthId(1), makeCommit(2, 1));

    // An input with a key leaves its key.
    saver.hold("t", {.epoch = 1, .takes = 2});
    putOne(saver, {"t"}, nthId(2), makeCommit(3, 2));
    CHECK(raw.run("SELECT key FROM " + inputs + " WHERE taken IS NOT NULL AND input IS NULL") == "\\x6b");
    CHECK(workOf(schema, "inputs") == "0");

    // An input that was already taken is not taken twice.
    saver.hold("t", {.epoch = 1, .takes = 2});
    POSTGRES_SAYS(databaseError([&] { putOne(saver, {"t"}, nthId(3), makeCommit(4, 3)); }),
                  "ConcurrentUpdateError: input 2 of the queue was withdrawn or taken meanwhile");
    CHECK(listIds(saver, {"t"}) == nthIds({3, 2, 1}));
    CHECK(workOf(schema, "inputs") == "0");
}

TEST_CASE("a put that waits for a claim is refused when the claim has ended, and a claim passes over a put under way") {
    const Schema schema;
    const std::string work = schema.name() + ".work";
    LeasedSaver saver(schema.open());
    lease(schema, "t", 1);
    saver.hold("t", {.epoch = 1});
    putLine(saver, {"t"}, 2);
    for (const bool is_append : {true, false}) {
        CAPTURE(is_append);
        lease(schema, "t", 1);
        Raw claimer;
        claimer.run("BEGIN");
        claimer.run("WITH c AS (SELECT thread FROM " + work + " FOR UPDATE SKIP LOCKED) UPDATE " + work +
                    " w SET epoch = 2 FROM c WHERE w.thread = c.thread");
        auto put = std::async(std::launch::async, [&] {
            return databaseError([&] {
                if (is_append) putOne(saver, {"t"}, nthId(2), makeCommit(3, 2));
                if (!is_append) putWrite(saver, {"t"}, nthId(2), nthId(2), "task", "bytes");
            });
        });
        awaitLock(schema, put);
        CHECK(put.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
        claimer.run("COMMIT");
        POSTGRES_SAYS(put.get(), lost);
        CHECK(listIds(saver, {"t"}) == nthIds({2, 1}));
        CHECK(writesOf(saver, {"t"}, 2).empty());
    }

    lease(schema, "t", 1);
    Raw blocker;  // the put holds the row of the lease and waits for the row of the log
    blocker.run("BEGIN; SELECT 1 FROM " + schema.name() + ".logs FOR UPDATE");
    auto put = std::async(std::launch::async,
                          [&] { return databaseError([&] { putOne(saver, {"t"}, nthId(2), makeCommit(3, 2)); }); });
    awaitLock(schema, put);
    CHECK(Raw().run("SELECT count(*) FROM (SELECT FROM " + work + " FOR UPDATE SKIP LOCKED) x") == "0");
    // A heartbeat does not wait for the put.
    Raw().run("SET lock_timeout = 60000; UPDATE " + work + " SET due = now()");
    blocker.run("COMMIT");
    CHECK(put.get().empty());
    CHECK(listIds(saver, {"t"}) == nthIds({3, 2, 1}));
}

TEST_CASE("an answer from outside makes its thread due, or has the worker that runs it look again") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 1);
    Raw raw;
    const std::string work = schema.name() + ".work";
    const auto answer = [&](std::string_view bytes, std::string_view expected) {
        const WriteRow row{nthId(1), "task", bytes, expected};
        saver->put({.log = {"t"}, .expected_head = nthId(1), .commits = {}, .writes = {&row, 1}, .answers = true});
    };
    answer("of nobody", "");  // the thread is not in the queue
    CHECK(raw.run("SELECT count(*) FROM " + work) == "0");
    raw.run("INSERT INTO " + work + " (thread, queue, graph, state) VALUES ('t', 'q', 'g', 2)");
    CHECK_THROWS_AS(answer("one", "is another"), ConcurrentUpdateError);
    CHECK(workOf(schema, "due IS NULL AND NOT is_woken") == "t");
    answer("one", "of nobody");
    CHECK(workOf(schema, "due <= now() AND is_woken") == "t");
    raw.run("UPDATE " + work + " SET epoch = 5, due = now() + interval '1 hour', is_woken = false");
    answer("two", "one");
    CHECK(workOf(schema, "due > now() AND is_woken") == "t");
    raw.run("UPDATE " + work + " SET epoch = 0, due = NULL, is_aside = true");
    answer("three", "two");
    CHECK(workOf(schema, "due IS NULL AND is_woken") == "t");
}

TEST_CASE("a leased commit whose answer is lost is stored once, also if the lease is lost with it") {
    const Schema schema;
    Proxy proxy;
    const auto beside = schema.open();
    LeasedSaver saver(
        std::make_shared<PostgresSaver>(proxy.address(), patient<PostgresSaverOptions>({.schema = schema.name()})));
    lease(schema, "t", 1);
    saver.hold("t", {.epoch = 1});
    putLine(saver, {"t"}, 2);
    proxy.cut(Proxy::Cut::reply, "the answer is lost");
    putOne(saver, {"t"}, nthId(2), makeCommit(3, 2, 0, "the answer is lost"));
    CHECK(proxy.hasCut());
    proxy.cut(Proxy::Cut::request, "the request is lost");
    putOne(saver, {"t"}, nthId(3), makeCommit(4, 3, 0, "the request is lost"));
    CHECK(proxy.hasCut());
    CHECK(listIds(*beside, {"t"}) == nthIds({4, 3, 2, 1}));

    // The request does not arrive, and another worker holds the thread when it is sent again.
    Raw blocker;
    blocker.run("BEGIN; LOCK TABLE " + schema.name() + ".logs IN ACCESS EXCLUSIVE MODE");
    proxy.cut(Proxy::Cut::request, "too late");
    auto put = std::async(std::launch::async, [&] {
        return databaseError([&] { putOne(saver, {"t"}, nthId(4), makeCommit(5, 4, 0, "too late")); });
    });
    awaitLock(schema, put);  // checks whether it was stored
    lease(schema, "t", 2);
    blocker.run("COMMIT");
    POSTGRES_SAYS(put.get(), lost);
    CHECK(listIds(*beside, {"t"}) == nthIds({4, 3, 2, 1}));
}

TEST_CASE("helper: appends under a lease until it is lost" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    LeasedSaver saver(std::make_shared<PostgresSaver>(conninfo(), patient<PostgresSaverOptions>({.schema = schema})));
    saver.hold("t", {.epoch = 1});
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    try {
        for (unsigned n = 0;; ++n) {
            putOne(saver, {"t"}, n ? nthId(n, 1) : CheckpointId(),
                   makeCommit({.id = nthId(n + 1, 1), .parent = n ? nthId(n, 1) : CheckpointId(), .step = n + 1}));
            notes << "t " << nthId(n + 1, 1).toString() << '\n' << std::flush;
        }
    } catch (const LeaseLostError&) {
        notes << "lease lost\n" << std::flush;
    }
}

TEST_CASE("a process that was frozen for longer than its lease stores nothing when it wakes") {
    const TemporaryFolder folder;
    const Schema schema;
    ::setenv("STATEGRAPH_TEST_POSTGRES", conninfo().c_str(), 1);  // they use the server of this process
    const std::shared_ptr<PostgresSaver> base = schema.open();
    lease(schema, "t", 1);
    Helper helper("helper: appends under a lease until it is lost", schema.name(), folder / "notes");
    awaitLines(folder / "notes", 20);
    helper.signal(SIGSTOP);
    // The server may still execute a put that was sent. The claim waits for it; a claim that skipped it would find it
    // later.
    lease(schema, "t", 2);
    const CheckpointId frozen_at = headOf(*base, {"t"});
    LeasedSaver owner(base);
    owner.hold("t", {.epoch = 2});
    const auto appended = makeCommit({.id = nthId(1'000'000, 2), .parent = frozen_at, .step = 1'000'000});
    putOne(owner, {"t"}, frozen_at, appended);
    helper.signal(SIGCONT);
    CHECK(helper.wait() == 0);

    std::set<std::string> stored;
    shared_threads::checkLine(*base, "t", stored);
    CHECK(headOf(*base, {"t"}) == appended.id);
    std::ifstream notes(folder / "notes");
    std::string line;
    std::size_t told = 0;
    for (; std::getline(notes, line) && line != "lease lost"; ++told) CHECK(stored.count(line) == 1);
    CHECK(line == "lease lost");
    CHECK(told + 2 >= stored.size());  // the last put of each worker may have been stored without its knowledge
    CHECK(told >= 20);
}
