// SECONDS: 30
// Several processes on one schema, some of which are killed, and a server that crashes while they use it.
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/record.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/shared_threads.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;
using helpers::awaitLines;
using helpers::given;
using helpers::Helper;
using namespace shared_threads;

namespace {

std::size_t missingOf(const std::filesystem::path& notes, const std::set<std::string>& stored, std::size_t& lines) {
    std::ifstream file(notes);
    std::string line;
    std::getline(file, line);
    std::size_t missing = 0;
    for (lines = 0; std::getline(file, line) && !file.eof(); ++lines) missing += stored.count(line) == 0;
    return missing;
}

struct Counting {
    int n = 0;
    std::vector<int> log = {};
    static constexpr auto channels() {
        return stategraph::channels(channel("n", &Counting::n), channel("log", &Counting::log, append));
    }
};

// In the middle it waits until it may pass.
CompiledGraph<Counting> countingTo(int steps, std::shared_ptr<BaseCheckpointSaver> saver,
                                   const std::atomic<bool>& may_pass) {
    StateGraph<Counting> graph;
    graph.addNode("count", [steps, &may_pass](const Counting& state) -> Update<Counting> {
        patience::until([&] { return !(state.n == steps / 2 && !may_pass); });
        return {set(&Counting::n, state.n + 1), add(&Counting::log, state.n + 1)};
    });
    graph.addEdge(START, "count").addConditionalEdges("count", [steps](const Counting& state) {
        return state.n < steps ? "count" : END;
    });
    return graph.compile({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE("helper: appends to shared threads of a PostgreSQL schema" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    const auto writer = static_cast<unsigned>(std::stoul(given("STATEGRAPH_TEST_NUMBER")));
    PostgresSaver saver(conninfo(), patient<PostgresSaverOptions>({.schema = schema, .set_up = true}));
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    notes << "ready\n" << std::flush;
    for (int n = 0; n < 150; ++n) {
        const std::string thread_id = threadNamed(n % 3);
        for (;;) {
            const CheckpointId id = tryToAppend(saver, thread_id, writer, n % 10 == 0);
            if (id.empty()) continue;
            notes << thread_id << ' ' << id.toString() << '\n' << std::flush;
            break;
        }
    }
}

TEST_CASE("helper: commits to a PostgreSQL schema without an end" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    const bool sync = given("STATEGRAPH_TEST_NUMBER") == "1";
    PostgresSaver saver(conninfo(), patient<PostgresSaverOptions>({.schema = schema, .set_up = true}));
    std::ofstream notes(given("STATEGRAPH_TEST_NOTES"));
    notes << "ready\n" << std::flush;
    for (bool is_first = true;;) {
        const CheckpointId id = tryToAppend(saver, "t", 0, sync);
        if (id.empty() && is_first) continue;  // the server still stored the last commit of the process before this one
        is_first = false;
        REQUIRE(!id.empty());
        notes << "t " << id.toString() << '\n' << std::flush;
    }
}

TEST_CASE("two processes that write the same threads of a PostgreSQL schema lose nothing and fork nothing") {
    const TemporaryFolder folder;
    const Schema schema;
    ::setenv("STATEGRAPH_TEST_POSTGRES", conninfo().c_str(), 1);  // they use the server of this process
    {
        // They also create the schema at the same time.
        Helper one("helper: appends to shared threads of a PostgreSQL schema", schema.name(), folder / "notes1", 1);
        Helper two("helper: appends to shared threads of a PostgreSQL schema", schema.name(), folder / "notes2", 2);
        CHECK(one.wait() == 0);
        CHECK(two.wait() == 0);
    }
    std::set<std::string> stored;
    const auto saver = schema.open();
    for (int i = 0; i < 3; ++i) checkLine(*saver, threadNamed(i), stored);
    CHECK(stored.size() == 300);
    for (const char* notes : {"notes1", "notes2"}) {
        std::size_t lines = 0;
        CHECK(missingOf(folder / notes, stored, lines) == 0);
        CHECK(lines == 150);
    }
}

TEST_CASE("what was confirmed to a killed process is in the PostgreSQL schema, kill after kill") {
    const TemporaryFolder folder;
    const Schema schema;
    ::setenv("STATEGRAPH_TEST_POSTGRES", conninfo().c_str(), 1);
    const auto saver = schema.open();
    for (int round = 0; round < 6; ++round) {
        CAPTURE(round);
        const auto notes = folder / ("notes" + std::to_string(round));
        Helper helper("helper: commits to a PostgreSQL schema without an end", schema.name(), notes, round % 2);
        awaitLines(notes, 2);
        // sleeps: the moment differs from round to round
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + 17 * round));
        helper.kill();
        std::set<std::string> stored;
        checkLine(*saver, "t", stored);
        std::size_t lines = 0;
        CHECK(missingOf(notes, stored, lines) == 0);
        CHECK(lines > 0);
    }
}

TEST_CASE("after a crash of the server all is there that sync said is stored, and every thread is a whole line") {
    const Server server;
    const Schema schema(server.conninfo());
    const auto saver = schema.open({.reconnect_for = 0ms});
    constexpr int writers = 4;
    std::set<std::string> told;
    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        std::mutex mutex;
        std::atomic<int> refused{0};
        std::atomic<int> stored_now{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < writers; ++i) {
            threads.emplace_back([&, i] {
                try {
                    for (;;) {
                        const CheckpointId id = tryToAppend(*saver, threadNamed(i), 0, true);
                        const std::lock_guard lock(mutex);
                        told.insert(threadNamed(i) + " " + id.toString());
                        ++stored_now;
                    }
                } catch (const SaverError&) {
                    ++refused;
                }
            });
        }
        patience::until([&] { return stored_now >= 10 * writers || refused >= writers; });
        server.down();
        for (auto& each : threads) each.join();
        server.up();
        CHECK(refused == writers);
        CHECK(stored_now >= 10 * writers);
        std::set<std::string> stored;
        for (int i = 0; i < writers; ++i) checkLine(*saver, threadNamed(i), stored);
        std::size_t missing = 0;
        for (const std::string& each : told) missing += stored.count(each) == 0;
        CHECK(missing == 0);
    }
}

TEST_CASE("runs that a crash of the server stops are resumed to the end they would have had") {
    const Server server;
    const Schema schema(server.conninfo());
    const std::shared_ptr<PostgresSaver> saver = schema.open({.reconnect_for = 0ms});
    constexpr int steps = 400;
    std::atomic<bool> is_down{false};
    const auto app = countingTo(steps, saver, is_down);
    for (const Durability durability : {Durability::sync, Durability::async}) {
        const std::string prefix = durability == Durability::sync ? "sync " : "async ";
        CAPTURE(prefix);
        is_down = false;
        std::atomic<int> stopped{0};
        std::vector<std::thread> threads;
        const auto configOf = [&](int i) {
            return RunConfig{
                .thread_id = prefix + std::to_string(i), .durability = durability, .recursion_limit = steps + 10};
        };
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&, i] {
                try {
                    (void)app.invoke({set(&Counting::n, 0)}, configOf(i));
                } catch (const SaverError&) {
                    ++stopped;
                }
            });
        }
        patience::until([&] { return saver->list({.thread_id = prefix + "0"}).size() >= 20; });
        server.down();
        is_down = true;
        for (auto& each : threads) each.join();
        server.up();
        CHECK(stopped == 3);
        for (int i = 0; i < 3; ++i) {
            // A thread without its first commit must be empty, as before.
            const bool is_there = !saver->list({.thread_id = prefix + std::to_string(i), .limit = 1}).empty();
            if (is_there) (void)app.invoke(RESUME, configOf(i));
            if (!is_there) (void)app.invoke({set(&Counting::n, 0)}, configOf(i));
            const Counting state = app.getState({.thread_id = prefix + std::to_string(i)}).values;
            CHECK(state.n == steps);
            REQUIRE(state.log.size() == steps);
            for (int n = 0; n < steps; ++n) CHECK(state.log[static_cast<std::size_t>(n)] == n + 1);
        }
    }
}
