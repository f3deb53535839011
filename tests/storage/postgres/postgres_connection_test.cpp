// Connections that break, too few connections, and a server that is slow or down.
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/support/enough_time.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

namespace {

// A saver behind a proxy, and another one that connects directly.
struct Cuttable {
    Schema schema;
    Proxy proxy;
    std::unique_ptr<PostgresSaver> beside = schema.open();
    std::unique_ptr<PostgresSaver> saver;

    explicit Cuttable(bool prepared = true) {
        saver = std::make_unique<PostgresSaver>(
            proxy.address(), patient<PostgresSaverOptions>({.schema = schema.name(), .prepared_statements = prepared}));
    }
};

std::string bytesOf(unsigned n) { return "bytes " + std::to_string(n); }

void checkLine(BaseCheckpointSaver& saver, unsigned count) {
    std::vector<CheckpointId> wanted;
    for (unsigned n = count; n >= 1; --n) wanted.push_back(nthId(n));
    CHECK(listIds(saver, {"t"}) == wanted);
}

}  // namespace

TEST_CASE("a commit whose answer is lost is stored once, and so is one that the server never got") {
    for (const bool prepared : {true, false}) {
        CAPTURE(prepared);
        Cuttable on(prepared);
        putLine(*on.saver, {"t"}, 2);
        unsigned n = 2;
        for (const Proxy::Cut how : {Proxy::Cut::reply, Proxy::Cut::request, Proxy::Cut::reply}) {
            CAPTURE(n);
            const TestCommit commit = makeCommit(n + 1, n, 0, bytesOf(n));
            on.proxy.cut(how, bytesOf(n));
            CHECK_NOTHROW(putOne(*on.saver, {"t"}, nthId(n), commit));
            CHECK(on.proxy.hasCut());
            ++n;
            checkLine(*on.beside, n);
        }
        // Another statement stores the first commit of a log.
        for (const Proxy::Cut how : {Proxy::Cut::reply, Proxy::Cut::request}) {
            const std::string thread = how == Proxy::Cut::reply ? "answer lost" : "request lost";
            on.proxy.cut(how, thread);
            CHECK_NOTHROW(putOne(*on.saver, {thread}, {}, makeCommit(1, 0)));
            CHECK(on.proxy.hasCut());
            CHECK(listIds(*on.beside, {thread}) == nthIds({1}));
        }
    }
}

TEST_CASE("a commit that the server still works on when its connection is cut is stored once") {
    Cuttable on;
    putLine(*on.saver, {"t"}, 2);
    Raw blocker;
    blocker.run("BEGIN; LOCK TABLE " + on.schema.name() + ".commits IN EXCLUSIVE MODE");
    const TestCommit commit = makeCommit(3, 2, 0, "slow");
    on.proxy.cut(Proxy::Cut::wait, "slow");
    auto put = std::async(std::launch::async, [&] { putOne(*on.saver, {"t"}, nthId(2), commit); });
    // First the first put waits for the lock, then the second one.
    Raw watcher;
    patience::until([&] {
        return watcher.run("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + on.schema.name() +
                           ".commits'::regclass") == "2";
    });
    CHECK(put.wait_for(0s) == std::future_status::timeout);
    blocker.run("COMMIT");
    CHECK_NOTHROW(put.get());
    checkLine(*on.beside, 3);
}

TEST_CASE("a commit whose answer is lost is refused if another writer was first, and nothing of it is stored") {
    Cuttable on;
    putLine(*on.saver, {"t"}, 2);
    const TestCommit commit = makeCommit(4, 2, 0, "late");
    on.proxy.cut(Proxy::Cut::request, "late");
    putOne(*on.beside, {"t"}, nthId(2), makeCommit(3, 2));
    POSTGRES_SAYS(databaseError([&] { putOne(*on.saver, {"t"}, nthId(2), commit); }), "ConcurrentUpdateError");
    CHECK(on.proxy.hasCut());
    checkLine(*on.beside, 3);
}

TEST_CASE("pending writes whose answer is lost are stored, and an answer to a question is not refused by itself") {
    Cuttable on;
    putLine(*on.saver, {"t"}, 1);
    for (const Proxy::Cut how : {Proxy::Cut::reply, Proxy::Cut::request}) {
        const std::string path = how == Proxy::Cut::reply ? "answer lost" : "request lost";
        on.proxy.cut(how, path);
        CHECK_NOTHROW(putWrite(*on.saver, {"t"}, nthId(1), nthId(1), path, "question"));
        CHECK(on.proxy.hasCut());
        const WriteRow answer{nthId(1), path, "answer", "question"};
        on.proxy.cut(how, path);
        CHECK_NOTHROW(on.saver->putWrites({"t"}, nthId(1), {&answer, 1}));
        CHECK(on.proxy.hasCut());
        const WriteRow second{nthId(1), path, "another", "question"};
        on.proxy.cut(how, path);
        CHECK_THROWS_AS(on.saver->putWrites({"t"}, nthId(1), {&second, 1}), ConcurrentUpdateError);
    }
    const auto writes = writesOf(*on.beside, {"t"}, 1);
    REQUIRE(writes.size() == 2);
    CHECK(writes[0].bytes == "answer");
    CHECK(writes[1].bytes == "answer");
}

TEST_CASE("reading, listing, copying and deleting continue over a new connection") {
    Cuttable on;
    putLine(*on.saver, {"thread name"}, 3);
    for (const Proxy::Cut how : {Proxy::Cut::reply, Proxy::Cut::request}) {
        on.proxy.cut(how, "thread name");
        CHECK(on.saver->getTuple({.log = {"thread name"}})->head == nthId(3));
        CHECK(on.proxy.hasCut());
        on.proxy.cut(how, "thread name");
        CHECK(on.saver->list({.thread_id = "thread name"}).size() == 3);
        CHECK(on.proxy.hasCut());
        const std::string copy = how == Proxy::Cut::reply ? "copy one" : "copy two";
        on.proxy.cut(how, copy);
        CHECK_NOTHROW(on.saver->copyThread("thread name", copy));
        CHECK(on.proxy.hasCut());
        CHECK(listIds(*on.beside, {copy}) == nthIds({3, 2, 1}));
        CHECK_THROWS_AS(on.saver->copyThread("thread name", copy), InvalidArgumentError);
        on.proxy.cut(how, copy);
        on.saver->deleteThread(copy);
        CHECK(on.proxy.hasCut());
        CHECK(listIds(*on.beside, {copy}).empty());
    }
}

TEST_CASE("connections that the server ended while nobody used them are replaced") {
    const Schema schema;
    // Other tests use the server too.
    PostgresSaver saver(conninfo() + " application_name=" + schema.name(),
                        patient<PostgresSaverOptions>({.schema = schema.name(), .set_up = true}));
    putLine(saver, {"t"}, 1);
    // One that was ended before may be there for a moment longer.
    const auto endAll = [&] {
        Raw raw;
        const std::string which = " FROM pg_stat_activity WHERE application_name = '" + schema.name() + "'";
        patience::until([&] { return raw.run("SELECT count(*)" + which) == "1"; });
        return raw.run("SELECT count(pg_terminate_backend(pid))" + which);
    };
    for (unsigned n = 2; n <= 4; ++n) {
        CHECK(endAll() == "1");
        CHECK_NOTHROW(putOne(saver, {"t"}, nthId(n - 1), makeCommit(n, n - 1), true));
        CHECK(endAll() == "1");
        checkLine(saver, n);
    }
}

TEST_CASE("more calls than connections wait for each other, and one that waits for too long says so") {
    const Schema schema;
    const auto saver = schema.open({.connections_max = 2, .connection_wait = 100ms});
    putLine(*saver, {"t"}, 1);
    Raw blocker;
    blocker.run("BEGIN; LOCK TABLE " + schema.name() + ".logs IN ACCESS EXCLUSIVE MODE");
    std::vector<std::future<std::optional<CheckpointTuple>>> blocked;
    for (int i = 0; i < 2; ++i)
        blocked.push_back(std::async(std::launch::async, [&] { return saver->getTuple({.log = {"t"}}); }));
    Raw watcher;
    patience::until([&] {
        return watcher.run("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + schema.name() +
                           ".logs'::regclass") == "2";
    });
    const std::string said = databaseError([&] { (void)saver->getTuple({.log = {"t", "child"}}); });
    POSTGRES_SAYS(said, "none of its 2 connections was free within 100 ms; raise connections_max");
    POSTGRES_SAYS(said, "thread 't'");
    blocker.run("COMMIT");
    for (auto& each : blocked) CHECK(each.get()->head == nthId(1));

    // Many calls at once, with enough time.
    const auto patient = schema.open({.connections_max = 2});
    std::atomic<int> stored{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            putLine(*patient, {"thread " + std::to_string(i)}, 20);
            ++stored;
        });
    }
    for (auto& each : threads) each.join();
    CHECK(stored == 8);
    CHECK(patient->list({.checkpoint_ns = "", .heads = true}).size() == 9);
}

TEST_CASE("a server that does not answer is an error in time, and a connect_timeout of the connection string counts") {
    const TemporaryFolder folder;
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = (folder / ".s.PGSQL.5432").string();
    REQUIRE(path.size() < sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    const int silent = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(silent, 16) == 0);
    const auto said = [&](const std::string& more, const PostgresSaverOptions& options) {
        return databaseError([&] { const PostgresSaver saver("host=" + folder.path().string() + more, options); });
    };
    POSTGRES_SAYS(said(" user=sg", {.connect_timeout = 20ms}), "the server did not answer within 20 ms");
    POSTGRES_SAYS(said(" user=sg connect_timeout=1", {.connect_timeout = 5min}), "did not answer within 1000 ms");
    POSTGRES_SAYS(said(" user=sg connect_timeout=soon", {.connect_timeout = 20ms}), "did not answer within 20 ms");
    ::close(silent);
}

TEST_CASE("a statement that takes too long is abandoned, stores nothing, and the next one works") {
    CHECK(withEnoughTime(1s, [](std::chrono::milliseconds limit) {
        const Schema schema;
        putLine(*schema.open(), {"t"}, 1);
        try {
            const auto saver = schema.open({.statement_timeout = limit});
            Raw blocker;
            blocker.run("BEGIN; LOCK TABLE " + schema.name() + ".commits IN EXCLUSIVE MODE");
            const std::string said = databaseError([&] { putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1)); });
            if (has(said, "no answer came") || has(said, "not known")) return false;  // the server was paused
            POSTGRES_SAYS(said, "it took longer than statement_timeout");
            blocker.run("COMMIT");
            checkLine(*schema.open(), 1);
            putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1));
        } catch (const SaverError&) {
            return false;  // a statement that nobody held up took longer
        }
        checkLine(*schema.open(), 2);
        return true;
    }));
}

TEST_CASE("a server that is gone is a SaverError with its address, and one that comes back is used again") {
    const Server server;
    const Schema schema(server.conninfo());
    const auto saver = schema.open({.reconnect_for = 0ms});
    putOne(*saver, {"t"}, {}, makeCommit(1, 0), true);
    server.down();
    const std::string read = databaseError([&] { (void)saver->getTuple({.log = {"t"}}); });
    POSTGRES_SAYS(read, "SaverError: cannot open the database 'postgres' at " + server.folder().string());
    POSTGRES_SAYS(read, "thread 't'");
    (void)databaseError([&] { (void)saver->list({}); });  // closes all connections
    const std::string put = databaseError([&] { putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1)); });
    POSTGRES_SAYS(put, "SaverError: cannot open the database 'postgres' at " + server.folder().string());
    CHECK_FALSE(has(put, "not known"));
    server.up();
    CHECK_NOTHROW(putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1), true));

    // The server stopped during a put: until it is back, it is unknown whether the put was stored.
    server.down();
    POSTGRES_SAYS(databaseError([&] { putOne(*saver, {"t"}, nthId(2), makeCommit(3, 2)); }),
                  "whether the server has stored it is not known");
    server.up();
    checkLine(*saver, 2);

    // The saver waits for a server that restarts.
    const auto patient = schema.open({.reconnect_for = 5min});
    putOne(*patient, {"t"}, nthId(2), makeCommit(3, 2), true);
    server.down();
    auto restarted = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(300ms);  // sleeps: a server that is down for a while
        server.up();
    });
    CHECK_NOTHROW(putOne(*patient, {"t"}, nthId(3), makeCommit(4, 3), true));
    restarted.get();
    checkLine(*patient, 4);
}

TEST_CASE("a child of a fork is refused its parent's connections, and leaves them whole") {
    const Schema schema;
    auto saver = schema.open();
    putLine(*saver, {"t"}, 1);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refuses =
            has(databaseError([&] { (void)saver->getTuple({.log = {"t"}}); }), "this is a fork of it; open it again") &&
            has(databaseError([&] { putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1)); }), "this is a fork of it");
        saver.reset();
        ::_exit(refuses ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK_NOTHROW(putOne(*saver, {"t"}, nthId(1), makeCommit(2, 1)));
    checkLine(*saver, 2);
}
