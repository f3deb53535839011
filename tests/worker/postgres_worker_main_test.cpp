// A worker as a program: its options, its metrics, and the signals that end it.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/worker_main.hpp>

#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/worker/worker_helper.hpp"
#include "worker/arguments.hpp"

using namespace worker_tests;
using helpers::given;
using helpers::Helper;
using postgres_tests::has;

namespace {

sg::workers::Arguments read(const std::vector<const char*>& words, const sg::WorkerMainOptions& defaults = {}) {
    return sg::workers::readArguments(words, defaults);
}

/// What `workerMain` returns and prints.
struct Ended {
    int code = 0;
    std::string out;
    std::string error;
};
Ended runMain(std::vector<const char*> words, const sg::AddGraphs& addGraphs = {}) {
    words.insert(words.begin(), "program");
    std::ostringstream out;
    std::ostringstream error;
    const int code = sg::workerMain(static_cast<int>(words.size()), words.data(), addGraphs,
                                    {.database_variable = "NO_SUCH_VARIABLE", .out = &out, .error = &error});
    return {code, out.str(), error.str()};
}

using Metrics = std::map<std::string, sg::Value>;

/// Its last whole line, as JSON.
Metrics lastLine(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string last = "{}";
    for (std::string line; std::getline(in, line) && !in.eof();) last = line;
    return sg::parseJson(last).as<Metrics>();
}
std::int64_t member(const Metrics& metrics, const char* name) {
    return metrics.contains(name) ? metrics.at(name).as<std::int64_t>() : -1;
}

}  // namespace

TEST_CASE("the command line of a worker says all that its options have, over the program's own defaults") {
    sg::WorkerMainOptions defaults;
    defaults.worker.poll_interval = 5s;
    defaults.worker.slots = 3;
    const auto words =
        read({"--database",    "dbname=x", "--schema=other", "--set-up", "--queue",     "chat:8", "--queue=batch:1:2",
              "--queue",       "a:b:1:3",  "--lease",        "1m",       "--attempts",  "7",      "--backoff=250ms",
              "--backoff-max", "2h",       "--drain",        "0s",       "--keys-kept", "2d",     "--listen",
              "--metrics",     "10s",      "--name",         "worker 1"},
             defaults);
    CHECK(words.database == "dbname=x");
    CHECK(words.saver.schema == "other");
    CHECK(words.saver.set_up);
    CHECK(words.saver.connections_max == 8);
    REQUIRE(words.worker.queues.size() == 3);
    CHECK(words.worker.queues[0].name == "chat");
    CHECK(words.worker.queues[0].weight == 8);
    CHECK_FALSE(words.worker.queues[0].limit);
    CHECK(words.worker.queues[1].limit == std::size_t{2});
    CHECK(words.worker.queues[2].name == "a:b");
    CHECK((words.worker.lease == 60s));
    CHECK((words.worker.poll_interval == 5s));
    CHECK(words.worker.slots == 3);
    CHECK(words.worker.attempts_max == 7);
    CHECK((words.worker.backoff == 250ms));
    CHECK((words.worker.backoff_max == 2h));
    CHECK((words.worker.drain_timeout == 0s));
    CHECK((words.worker.keys_kept == 48h));
    CHECK((words.metrics == 10s));
    CHECK(words.worker.name == "worker 1");
    CHECK(words.worker.listen);

    // A slot has a connection by default.
    CHECK(read({"--database=x", "--slots", "40"}).saver.connections_max == 40);
    CHECK(read({"--database=x", "--slots", "40", "--connections", "4"}).saver.connections_max == 4);
    CHECK(read({"--database=x"}).worker.queues.at(0).name == "default");
}

TEST_CASE("arguments of a worker that are wrong are refused with exit code 2, and the reason") {
    const auto said = [](const std::vector<const char*>& words) {
        const Ended ended = runMain(words);
        CHECK(ended.code == 2);
        CHECK(ended.out.empty());
        return ended.error;
    };
    CHECK(has(said({}), "program: no database is named: give --database, or set NO_SUCH_VARIABLE; --help lists"));
    CHECK(has(said({"--fast"}), "a worker has no option '--fast'"));
    CHECK(has(said({"--slots"}), "--slots needs a value after it"));
    CHECK(has(said({"--slots", "some"}), "--slots takes a whole number of at least 1, not 'some'"));
    CHECK(has(said({"--lease", "30"}), "--lease takes a time, such as 250ms, 30s, 5m, 2h or 7d, not '30'"));
    CHECK(has(said({"--lease", "99999999999999999d"}), "--lease takes a time"));
    CHECK(has(said({"--queue", "chat:x"}), "--queue takes a whole number of at least 1, not 'x'"));
    CHECK(has(said({"--metrics", "0s"}), "--metrics takes a time of at least 1ms"));
    // What the worker itself refuses.
    const postgres_tests::Schema schema;
    const std::string database = postgres_tests::conninfo();
    const Ended short_lease =
        runMain({"--database", database.c_str(), "--set-up", "--schema", schema.name().c_str(), "--lease", "1ms"});
    CHECK(short_lease.code == 2);
    CHECK(has(short_lease.error, "WorkerOptions::lease is 1 ms"));
    const Ended no_server = runMain({"--database", "host=/nowhere"});
    CHECK(no_server.code == 3);
    CHECK(has(no_server.error, "program: "));

    const Ended help = runMain({"--help"});
    CHECK(help.code == 0);
    for (const char* option : {"--database", "--queue", "--slots", "--lease", "--drain", "--metrics"})
        CHECK(has(help.out, option));
}

// Its nodes take a while, and its metrics go to the notes.
TEST_CASE("helper: a worker by its command line" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    const std::string name = "worker " + given("STATEGRAPH_TEST_NUMBER");
    const std::string database = postgres_tests::conninfo();
    const char* const lease = given("STATEGRAPH_TEST_NUMBER") == "1" ? "1s" : "60s";  // the first one is killed
    const char* const words[] = {"worker",     "--database", database.c_str(), "--schema", schema.c_str(),
                                 "--slots",    "2",          "--lease",        lease,      "--poll",
                                 "10ms",       "--metrics",  "20ms",           "--name",   name.c_str(),
                                 "--attempts", "1000"};
    const auto addGraphs = [](sg::Worker& worker, const std::shared_ptr<sg::LeasedSaver>& saver) {
        worker.add("graph", countingGraph({.checkpointer = saver},
                                          // sleeps: work that takes time
                                          [](const Counted&, sg::Runtime&) { std::this_thread::sleep_for(10ms); }));
    };
    CHECK(sg::workerMain(static_cast<int>(std::size(words)), words, addGraphs, {.saver = patient({}), .out = &notes}) ==
          0);
}

TEST_CASE("of two workers one is killed and one drained; what they leave, a third one does, and all is done once") {
    const TemporaryFolder folder;
    Place on;
    ::setenv("STATEGRAPH_TEST_POSTGRES", postgres_tests::conninfo().c_str(), 1);  // theirs is this one's
    constexpr int threads = 12;
    const auto nameOf = [](int number) { return "t" + std::to_string(number); };
    for (int i = 0; i < threads; ++i) on.submit(nameOf(i), 1);
    const char* const helper = "helper: a worker by its command line";
    Helper killed(helper, on.schema.name(), folder / "killed", 1);
    Helper drained(helper, on.schema.name(), folder / "drained", 2);
    const auto claimed = [&](const char* notes) { return member(lastLine(folder / notes), "claimed"); };
    for (int round = 2; claimed("killed") < 2 || claimed("drained") < 2; ++round) {
        on.await([&] { return on.queue.stats().empty() || (claimed("killed") > 1 && claimed("drained") > 1); });
        for (int i = 0; i < threads && on.queue.stats().empty(); ++i)
            on.submit(nameOf(i) + " of " + std::to_string(round), 1);
    }
    killed.kill();
    drained.signal(SIGTERM);
    CHECK(drained.wait() == 0);
    const Metrics metrics = lastLine(folder / "drained");
    CHECK(metrics.at("worker").as<std::string>() == "worker 2");
    CHECK(member(metrics, "claimed") >= 2);
    CHECK(member(metrics, "running") == 0);
    CHECK(member(metrics, "errors") == 0);
    CHECK(member(metrics, "claimed") == member(metrics, "finished") + member(metrics, "given_back"));

    on.submit("the last one", 1);  // when it is done, the worker handles signals
    Helper last(helper, on.schema.name(), folder / "last", 3);
    on.await([&] { return on.queue.stats().empty(); });
    last.signal(SIGINT);
    CHECK(last.wait() == 0);
    for (int i = 0; i < threads; ++i) CHECK(on.log(nameOf(i)) == logOf({1}));
    CHECK(on.saver->unfinishedThreads().empty());
}
