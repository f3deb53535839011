#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>
#include <stategraph/inspect/command.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/inspect/command_run.hpp"
#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/temporary_folder.hpp"

// The command line with a PostgreSQL database that a program uses, and a thread that moves there from RocksDB.
namespace sg = stategraph;
using namespace inspected;
using sg::inspect::Exit;

namespace {

CommandRun run(const std::vector<std::string>& arguments, std::istream* in = nullptr) {
    return runCommand(arguments, {.in = in});
}

std::string storeOf(const postgres_tests::Schema& schema) {
    const std::string info = postgres_tests::conninfo();
    const std::size_t host = info.find("host=") + 5;
    return "postgresql://sg@/postgres?host=" + info.substr(host, info.find(' ', host) - host) +
           "&connect_timeout=300#" + schema.name();
}

}  // namespace

TEST_CASE("the command opens a PostgreSQL database, reads next to the program that writes it, and stores for it") {
    const postgres_tests::Schema schema;
    const std::string store = storeOf(schema);
    const CommandRun missing = run({"ls", "--store", store});
    CHECK(missing.exit == Exit::failed);
    CHECK(missing.error.find("PostgresSaver::setUp") != std::string::npos);

    const std::shared_ptr<sg::PostgresSaver> saver = schema.open();
    const App app = graph().compile({.checkpointer = saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    const CommandRun before = run({"ls", "--store", store});
    CHECK_MESSAGE(before.exit == Exit::done, before.error);
    CHECK(before.out.find("asks") != std::string::npos);
    CHECK(before.out.find("Pay 7?") != std::string::npos);
    CHECK(run({"log", "asks", "--store", store}).exit == Exit::done);
    const CommandRun forked = run({"fork", "asks@~1", "--store", store});
    CHECK_MESSAGE(forked.exit == Exit::done, forked.error);
    app.invoke(sg::RESUME, {.thread_id = "asks"});
    const CommandRun answered = run({"answer", "asks", "\"yes\"", "--store", store});
    CHECK_MESSAGE(answered.exit == Exit::done, answered.error);
    app.invoke(sg::RESUME, {.thread_id = "asks"});
    CHECK(run({"ls", "--store", store, "--status", "done"}).out.find("asks") != std::string::npos);
}

TEST_CASE("a thread moves from a RocksDB folder to PostgreSQL, asks on there, and ends as it would have") {
    const TemporaryFolder folder;
    const std::string rocksdb = (folder / "db").string();
    {
        const App app = graph().compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(rocksdb)});
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
    }
    const CommandRun lines = run({"export", "asks", "--store", rocksdb});
    CHECK_MESSAGE(lines.exit == Exit::done, lines.error);
    const postgres_tests::Schema schema;
    std::istringstream in(lines.out);
    const CommandRun moved = run({"import", "--store", storeOf(schema), "--create"}, &in);
    CHECK_MESSAGE(moved.exit == Exit::done, moved.error);
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open();
    const App app = graph().compile({.checkpointer = saver});
    const auto ended = app.invoke(sg::resume(std::string("yes")), {.thread_id = "asks"});
    CHECK((ended.status == sg::Status::done));
    CHECK(ended.values.topic == "yes");
    CHECK(ended.values.total == 7);
}

TEST_CASE("a thread is edited without its program, unless a worker has a lease on it") {
    const postgres_tests::Schema schema;
    const std::string store = storeOf(schema);
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open();
    const App app = graph().compile({.checkpointer = saver});
    for (const char* thread : {"free", "leased"}) {
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = thread});
        app.invoke(sg::resume(std::string("yes")), {.thread_id = thread});
    }
    sg::PostgresQueue queue(saver);
    queue.submit({.thread_id = "leased", .graph = "order", .input = sg::parseJson(R"({"topic":"milk"})")});
    const auto claims = queue.claim({.worker = "w 1",
                                     .lease = std::chrono::hours(1),
                                     .graphs = {{"order", sg::describeGraph(app).fingerprint}},
                                     .queues = {{.name = "default", .most = 5}}});
    REQUIRE(claims.size() == 1);
    const CommandRun refused = run({"edit", "leased", "total=1", "--raw", "--store", store});
    CHECK(refused.exit == Exit::usage);
    CHECK_MESSAGE(refused.error.find("worker 'w 1' has a lease on the thread") != std::string::npos, refused.error);
    CHECK(app.getState({.thread_id = "leased"}).values.total == 7);
    const CommandRun edited = run({"edit", "free", "total=1", "--raw", "--store", store});
    CHECK_MESSAGE(edited.exit == Exit::done, edited.error);
    CHECK(app.getState({.thread_id = "free"}).values.total == 1);
}
