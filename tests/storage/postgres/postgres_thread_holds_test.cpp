// SECONDS: 30
// A thread of a PostgreSQL schema is run by one process at a time: by one saver object or by one worker.
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/recover.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"
#include "tests/worker/queue/postgres_queue_helper.hpp"

using namespace graphs;
using namespace postgres_tests;
using helpers::awaitLines;
using helpers::given;
using helpers::Helper;
using sg::testing::makeCommit;
using sg::testing::nthId;
using sg::testing::putOne;

namespace {

using SaverPtr = std::shared_ptr<sg::PostgresSaver>;

/// A graph of one node, which calls `in`.
template <class In>
App appOf(const SaverPtr& saver, In in) {
    Graph graph;
    graph.addNode("a", [in](const State&) -> Update {
        in();
        return bar("a");
    });
    graph.addEdge(sg::START, "a");
    return graph.compile({.checkpointer = saver});
}

std::string holdsOf(const Schema& schema) { return Raw().run("SELECT count(*) FROM " + schema.name() + ".holds"); }

/// Returns when nothing is held any more: a thread that is given back is free a moment later if its session is slow.
void awaitNoHolds(const Schema& schema) {
    patience::until([&] { return holdsOf(schema) == "0"; });
}
void awaitHold(sg::PostgresSaver& saver) {
    patience::until([&] { return saver.tryHold("t") != nullptr; });
}

/// The server's process that keeps the session of the holder of a thread; empty if there is none.
std::string sessionOf(const Schema& schema, const std::string& thread, const std::string& info = conninfo()) {
    return Raw(info).run(
        "SELECT l.pid FROM pg_locks l, " + schema.name() + ".holds h WHERE h.thread = '" + thread +
        "' AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND ((l.classid::bigint << 32) | "
        "l.objid::bigint) = hashtextextended('\"" +
        schema.name() + "\".holds' || h.holder, 10)");
}

/// Has the same effect as if the holder of `by` had taken the thread over.
void takeOver(const Schema& schema, const std::string& thread, const std::string& by) {
    const std::string in = schema.name();
    Raw().run("UPDATE " + in + ".holds SET epoch = nextval('" + in + ".epochs'), holder = (SELECT holder FROM " + in +
              ".holds WHERE thread = '" + by + "') WHERE thread = '" + thread + "'");
}

}  // namespace

TEST_CASE("a thread of a PostgreSQL schema is held by one saver object at a time, and given back") {
    const Schema schema;
    const SaverPtr one = schema.open();
    const SaverPtr two = schema.open();
    auto held = one->tryHold("t");
    REQUIRE(held);
    CHECK_FALSE(two->tryHold("t"));
    CHECK_FALSE(one->tryHold("t"));
    CHECK(two->tryHold("u"));
    held.reset();
    awaitHold(*two);
    awaitNoHolds(schema);
}

TEST_CASE("a put beside the end of a run leaves no hold behind") {
    const Schema schema;
    const SaverPtr one = schema.open();
    auto held = one->tryHold("t");
    REQUIRE(held);
    putOne(*one, {"t"}, {}, makeCommit(1, 0));
    Raw end;
    end.run("BEGIN");
    end.run("SELECT 1 FROM " + schema.name() + ".holds WHERE thread = 't' FOR UPDATE");
    // As a listing makes one, which says how the thread stands.
    std::exception_ptr failure;
    std::thread beside([&] {
        try {
            one->put({.log = {"t"},
                      .expected_head = nthId(1),
                      .commits = {},
                      .writes = {},
                      .outlook = {sg::Status::done, {}}});
        } catch (...) {
            failure = std::current_exception();
        }
    });
    patience::until([&] {
        return Raw().run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" +
                         schema.name() + "%'") != "0";
    });
    held.reset();
    end.run("DELETE FROM " + schema.name() + ".holds WHERE thread = 't'");
    end.run("COMMIT");
    beside.join();
    CHECK(failure == nullptr);
    awaitNoHolds(schema);
    const SaverPtr two = schema.open();
    awaitHold(*two);
}

TEST_CASE("a hold of a PostgreSQL schema may outlive its saver") {
    const Schema schema;
    auto held = schema.open()->tryHold("t");
    CHECK_FALSE(schema.open()->tryHold("t"));
    held.reset();
    CHECK(schema.open()->tryHold("t"));
}

TEST_CASE("while a process runs a thread of a PostgreSQL schema, another one is refused, or waits, with every driver") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const Schema schema;
        const App other = appOf(schema.open(), [] {});
        bool is_refused = false;
        const App app = appOf(schema.open(), [&] {
            try {
                (void)other.invoke(Update{}, {.thread_id = "t"});
            } catch (const sg::ThreadBusyError&) {
                is_refused = true;
            }
        });
        REQUIRE(driver.run(app, Update{}, {.thread_id = "t"}).what() == "");
        CHECK(is_refused);

        auto held = schema.open()->tryHold("t");
        CHECK(driver.run(other, Update{}, {.thread_id = "t"}).as<sg::ThreadBusyError>() != nullptr);
        const sg::RunConfig short_wait{
            .thread_id = "t", .on_busy = sg::OnBusy::wait, .busy_timeout = std::chrono::milliseconds(30)};
        CHECK(driver.run(other, Update{}, short_wait).as<sg::ThreadBusyError>() != nullptr);
        std::atomic<bool> waits{false};
        std::thread giver([&] {
            while (!waits) std::this_thread::yield();
            held.reset();
        });
        waits = true;
        const auto run = driver.run(other, Update{}, {.thread_id = "t", .on_busy = sg::OnBusy::wait});
        giver.join();
        CHECK(run.what() == "");
        CHECK(run.values.bar == Strings{"a", "a"});
        CHECK(holdsOf(schema) == "0");
    }
}

TEST_CASE("of several processes that recover threads of a PostgreSQL schema at the same time, one runs each") {
    const Schema schema;
    std::atomic<int> calls{0};
    constexpr int threads = 8;
    {
        const App app = appOf(schema.open(), [] {});
        for (int i = 0; i < threads; ++i)
            (void)app.submit(Update{}, {.thread_id = sg::ThreadId("t" + std::to_string(i))});
    }
    std::vector<std::thread> processes;
    for (int process = 0; process < 3; ++process) {
        processes.emplace_back([&] {
            const App app = appOf(schema.open(), [&] {
                ++calls;
                std::this_thread::yield();
            });
            for (int left = threads; left > 0;) {
                (void)app.recover();
                left = 0;
                for (int i = 0; i < threads; ++i)
                    left += app.getState({.thread_id = sg::ThreadId("t" + std::to_string(i))}).next.empty() ? 0 : 1;
            }
        });
    }
    for (std::thread& process : processes) process.join();
    CHECK(calls == threads);
    CHECK(holdsOf(schema) == "0");
}

TEST_CASE("a hold costs a run one round trip, and the commit after which nothing is due gives it back") {
    const Schema schema;
    const auto tripsOfRun = [&](bool holds) {
        const SaverPtr saver = schema.open({.prepared_statements = holds});
        CHECK(saver->holdsThreads() == holds);
        const App app = appOf(saver, [] {});
        const std::string name = holds ? "held" : "free";
        // The first run opens connections and prepares statements.
        (void)app.invoke(Update{}, {.thread_id = sg::ThreadId(name), .durability = sg::Durability::sync});
        const auto before = saver->roundTrips();
        (void)app.invoke(Update{}, {.thread_id = sg::ThreadId(name + "2"), .durability = sg::Durability::sync});
        CHECK(holdsOf(schema) == "0");
        return saver->roundTrips() - before;
    };
    CHECK(tripsOfRun(true) == tripsOfRun(false) + 1);
}

TEST_CASE("a put of a holder whose thread another has taken over is refused, whatever it stores") {
    const Schema schema;
    const SaverPtr one = schema.open();
    const SaverPtr two = schema.open();
    const auto held = one->tryHold("t");
    const auto others = two->tryHold("u");
    putOne(*one, {"t"}, {}, makeCommit(1, 0));
    putOne(*one, {"t", "in"}, {}, makeCommit(1, 0));
    takeOver(schema, "t", "u");
    CHECK_THROWS_AS(putOne(*one, {"t"}, nthId(1), makeCommit(2, 1)), sg::LeaseLostError);
    CHECK_THROWS_AS(putOne(*one, {"t", "in"}, nthId(1), makeCommit(2, 1)), sg::LeaseLostError);
    CHECK_THROWS_AS(putOne(*one, {"t", "new"}, {}, makeCommit(1, 0)), sg::LeaseLostError);
    const sg::WriteRow row{.checkpoint_id = nthId(1), .path = "p", .bytes = "b"};
    CHECK_THROWS_AS(one->putWrites({"t"}, nthId(1), std::span(&row, 1)), sg::LeaseLostError);
    // Its other threads are its own.
    putOne(*two, {"u"}, {}, makeCommit(1, 0));
    CHECK(one->getTuple({.log = {"t"}})->id == nthId(1));
}

TEST_CASE("a hold that the server has forgotten is taken again by the next put, if nobody else has the thread") {
    const Schema schema;
    const SaverPtr one = schema.open();
    const SaverPtr two = schema.open();
    const auto held = one->tryHold("t");
    putOne(*one, {"t"}, {}, makeCommit(1, 0));
    Raw().run("DELETE FROM " + schema.name() + ".holds");
    putOne(*one, {"t"}, nthId(1), makeCommit(2, 1));
    CHECK_FALSE(two->tryHold("t"));
    Raw().run("DELETE FROM " + schema.name() + ".holds");
    const auto taken = two->tryHold("t");
    REQUIRE(taken);
    CHECK_THROWS_AS(putOne(*one, {"t"}, nthId(2), makeCommit(3, 2)), sg::LeaseLostError);
    putOne(*two, {"t"}, nthId(2), makeCommit(3, 2));
}

TEST_CASE("a saver whose session is lost opens another one, and has its threads still") {
    const Schema schema;
    const SaverPtr one = schema.open();
    const SaverPtr two = schema.open();
    auto held = one->tryHold("t");
    putOne(*one, {"t"}, {}, makeCommit(1, 0));
    const std::string lost = sessionOf(schema, "t");
    REQUIRE(lost != "");
    Raw().run("SELECT pg_terminate_backend(" + lost + ")");
    patience::until([&] {
        const std::string now = sessionOf(schema, "t");
        return now != "" && now != lost;
    });
    CHECK_FALSE(two->tryHold("t"));
    putOne(*one, {"t"}, nthId(1), makeCommit(2, 1));
    held.reset();
    awaitHold(*two);
}

TEST_CASE("a thread that a worker has is not held, and a held one is not claimed") {
    Queue on;
    (void)on.submit("t");
    auto held = on.saver->tryHold("t");
    REQUIRE(held);
    CHECK(on.claim().empty());
    held.reset();
    awaitNoHolds(on.schema);
    const sg::Claim claim = on.claimOne();
    CHECK_FALSE(on.saver->tryHold("t"));
    CHECK_FALSE(on.schema.open()->tryHold("t"));
    // A run is refused, too.
    const App app = appOf(on.saver, [] {});
    CHECK_THROWS_AS((void)app.invoke(Update{}, {.thread_id = "t"}), sg::ThreadBusyError);
    CHECK(on.release(claim, sg::WorkOutcome::finished));
}

TEST_CASE("a run outside the queue takes a thread whose lease has ended, and its worker stores nothing more") {
    Queue on;
    (void)on.submit("t");
    const sg::Claim claim = on.claimOne();
    on.begin(claim);
    on.letTimePass();
    auto held = on.saver->tryHold("t");
    REQUIRE(held);
    sg::LeasedSaver leased(on.saver);
    leased.hold("t", {.epoch = claim.epoch});
    CHECK_THROWS_AS(putOne(leased, {"t"}, nthId(1), makeCommit(2, 1)), sg::LeaseLostError);
    CHECK_FALSE(on.renew(claim));
    putOne(*on.saver, {"t"}, nthId(1), makeCommit(2, 1));
    CHECK(on.claim().empty());
    held.reset();
    awaitNoHolds(on.schema);
    CHECK(on.claimOne().thread_id == "t");  // it is looked at again, as after each death
}

TEST_CASE("helper: holds threads of a PostgreSQL schema" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    const auto saver =
        std::make_shared<sg::PostgresSaver>(conninfo(), patient<sg::PostgresSaverOptions>({.schema = schema}));
    const App app = appOf(saver, [&] {
        notes << "runs\n" << std::flush;
        patience::until([] { return false; });
    });
    (void)app.invoke(Update{}, {.thread_id = "t"});
}

TEST_CASE("a stopped process keeps its threads, and those of a killed one are free at once") {
    const TemporaryFolder folder;
    Queue on;
    ::setenv("STATEGRAPH_TEST_POSTGRES", conninfo().c_str(), 1);  // it uses the server of this process
    int calls = 0;
    const App app = appOf(on.saver, [&] { ++calls; });
    Helper helper("helper: holds threads of a PostgreSQL schema", on.schema.name(), folder / "notes");
    awaitLines(folder / "notes", 1);
    const auto recover = [&] { return app.recover(); };
    (void)recover();
    helper.freeze();
    helper.awaitFrozen();
    (void)recover();
    CHECK_THROWS_AS((void)app.invoke(sg::RESUME, {.thread_id = "t"}), sg::ThreadBusyError);
    (void)on.submit("t");
    CHECK(on.claim().empty());
    CHECK(calls == 0);

    helper.kill();
    SUBCASE("for recover") {
        patience::until([&] {
            (void)recover();
            return calls > 0;
        });
        CHECK(app.getState({.thread_id = "t"}).next.empty());
    }
    SUBCASE("for a run that waits") {
        const auto result = app.invoke(sg::RESUME, {.thread_id = "t", .on_busy = sg::OnBusy::wait});
        CHECK(result.values.bar == Strings{"a"});
    }
    SUBCASE("for a worker") {
        patience::until([&] { return !on.claim().empty(); });
        CHECK_FALSE(on.saver->tryHold("t"));
        CHECK(holdsOf(on.schema) == "0");
    }
    SUBCASE("for another process that holds something, which removes what was left") {
        patience::until([&] {
            const SaverPtr fresh = on.schema.open();
            (void)fresh->tryHold("u");
            return holdsOf(on.schema) == "0";
        });
    }
}

TEST_CASE("a run keeps its thread while the server crashes and starts again") {
    const Server server;
    const Schema schema(server.conninfo());
    const App other = appOf(schema.open(), [] {});
    bool is_refused = false;
    const App app = appOf(schema.open(), [&] {
        server.down();
        server.up();
        // Others take a thread over if its session does not come back for some seconds, as on a machine that pauses it.
        patience::until([&] {
            try {
                return !sessionOf(schema, "t", server.conninfo()).empty();
            } catch (const std::runtime_error&) {  // it is not up
                return false;
            }
        });
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
        while (!is_refused && std::chrono::steady_clock::now() < end) {
            try {
                (void)other.invoke(sg::RESUME, {.thread_id = "t"});
                return;
            } catch (const sg::ThreadBusyError&) {
                is_refused = true;
            } catch (const sg::SaverError&) {  // it is not up
            }
        }
    });
    // What a crash may lose is stored before: the hold is on the disk with the input.
    const auto result = app.invoke(Update{}, {.thread_id = "t", .durability = sg::Durability::sync});
    CHECK(result.values.bar == Strings{"a"});
    CHECK(is_refused);
}
