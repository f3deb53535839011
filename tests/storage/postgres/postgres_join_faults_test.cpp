// Joined puts under leases, with connections that break and without any, and by several savers on one schema.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/leased_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_join_helper.hpp"
#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/shared_threads.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

namespace {

const PostgresSaverOptions one_statement{.join_puts = {.statements_max = 1}};

std::string named(int number) { return "thread " + std::to_string(number); }

void lease(const Schema& schema, const std::string& thread, std::int64_t epoch) {
    Raw().run("INSERT INTO " + schema.name() + ".work (thread, queue, graph, epoch, due, inputs) VALUES (convert_to('" +
              thread + "', 'UTF8'), 'q', 'g', " + std::to_string(epoch) +
              ", now() + interval '1 hour', 2) ON CONFLICT (thread) DO UPDATE SET epoch = excluded.epoch, state = 0, "
              "inputs = 2");
}

}  // namespace

TEST_CASE("joined puts under leases are stored, lost, or take their input, each as it would alone") {
    const Schema schema;
    const std::shared_ptr<PostgresSaver> base = schema.open(one_statement);
    LeasedSaver saver(base);
    Joining joining(schema, *base);
    Raw raw;
    const std::string inputs = schema.name() + ".inputs";
    const std::string work = schema.name() + ".work";
    for (int round = 0; round < 50 && (round < 3 || base->joinedPuts() < 8); ++round) {
        const auto thread = [&](const std::string& name) { return name + " " + std::to_string(round); };
        const auto seqOf = [&](const std::string& name, const std::string& key) {
            return std::stoll(raw.run("INSERT INTO " + inputs + " (thread, key, input) VALUES (convert_to('" +
                                      thread(name) + "', 'UTF8'), " + key + ", 'in') RETURNING seq"));
        };
        for (const char* name : {"holds", "lost", "takes", "takes key", "withdrawn", "inner"})
            lease(schema, thread(name), 7);
        saver.hold(thread("holds"), {.epoch = 7});
        saver.hold(thread("lost"), {.epoch = 6});
        saver.hold(thread("takes"), {.epoch = 7, .takes = seqOf("takes", "NULL")});
        saver.hold(thread("takes key"), {.epoch = 7, .takes = seqOf("takes key", "'key'")});
        saver.hold(thread("withdrawn"), {.epoch = 7, .takes = 1'000'000});
        saver.hold(thread("inner"), {.epoch = 7, .takes = seqOf("inner", "NULL")});
        const auto begin = [&](const std::string& name, const char* ns = "") {
            return [&saver, log = thread(name), ns] { putOne(saver, {log, ns}, {}, makeCommit(1, 0)); };
        };
        auto said = joining.together({begin("holds"), begin("lost"), begin("takes"), begin("takes key"),
                                      begin("withdrawn"), begin("inner", "inner:1"),
                                      [&] { putOne(*base, {thread("of nobody")}, {}, makeCommit(1, 0)); }});
        CHECK(said[0] + said[2] + said[3] + said[5] + said[6] == "");
        POSTGRES_SAYS(said[1], "LeaseLostError: the lease with epoch 6 on the thread is lost");
        POSTGRES_SAYS(said[1], "thread '" + thread("lost") + "'");
        POSTGRES_SAYS(said[4], "ConcurrentUpdateError: input 1000000 of the queue was withdrawn");
        for (const char* name : {"holds", "takes", "takes key", "of nobody"})
            CHECK(listIds(*base, {thread(name)}) == nthIds({1}));
        for (const char* name : {"lost", "withdrawn", "inner"}) CHECK(listIds(*base, {thread(name)}).empty());
        CHECK(listIds(*base, {thread("inner"), "inner:1"}) == nthIds({1}));
        const auto workOf = [&](const std::string& name) {
            return raw.run("SELECT state || ' ' || inputs FROM " + work + " WHERE thread = convert_to('" +
                           thread(name) + "', 'UTF8')");
        };
        CHECK(workOf("holds") == "0 2");
        CHECK(workOf("takes") == "1 1");
        CHECK(workOf("takes key") == "1 1");
        CHECK(workOf("withdrawn") == "0 2");
        CHECK(workOf("inner") == "0 2");
        CHECK(saver.hasTaken(thread("takes")));
        CHECK_FALSE(saver.hasTaken(thread("withdrawn")));
        CHECK_FALSE(saver.hasTaken(thread("inner")));
        const auto inputsOf = [&](const std::string& name) {
            return raw.run(
                "SELECT coalesce(string_agg(coalesce(encode(key, 'hex'), '-') || ' ' || (taken IS NULL) || ' ' || "
                "(input IS NULL),"
                " ','), 'none') FROM " +
                inputs + " WHERE thread = convert_to('" + thread(name) + "', 'UTF8')");
        };
        CHECK(inputsOf("takes") == "none");
        CHECK(inputsOf("takes key") == "6b6579 false true");
        // And the next commit, after a claim of another worker.
        lease(schema, thread("takes"), 8);
        const auto next = [&](const std::string& name) {
            return [&saver, log = thread(name)] { putOne(saver, {log}, nthId(1), makeCommit(2, 1)); };
        };
        said = joining.together({next("holds"), next("takes"), next("takes key")});
        CHECK(said[0] + said[2] == "");
        POSTGRES_SAYS(said[1], "LeaseLostError");
        CHECK(listIds(*base, {thread("takes")}) == nthIds({1}));
        CHECK(listIds(*base, {thread("takes key")}) == nthIds({2, 1}));
    }
    CHECK(base->joinedPuts() >= 8);
}

TEST_CASE("joined puts whose connection is cut are each stored once") {
    const Schema schema;
    Proxy proxy;
    const auto beside = schema.open();
    PostgresSaverOptions options = one_statement;
    options.schema = schema.name();
    PostgresSaver saver(proxy.address(), patient(options));
    Joining joining(schema, saver);
    constexpr int threads = 6;
    unsigned n = 0;
    // The mark is in one of the puts, so the cut meets the statement that has it, whatever else is in that. Each fourth
    // time nothing is cut, which shows that puts are joined at all.
    for (; n < 12 || (n < 120 && saver.joinedPuts() < threads); ++n) {
        constexpr Proxy::Cut cuts[] = {Proxy::Cut::reply, Proxy::Cut::request, Proxy::Cut::wait, Proxy::Cut::none};
        const Proxy::Cut how = cuts[n % 4];
        const std::string mark = "mark " + std::to_string(n) + ".";
        CAPTURE(mark);
        std::vector<Joining::Call> calls;
        for (int i = 0; i < threads; ++i) {
            calls.push_back([&saver, i, n, &mark] {
                putOne(saver, {named(i)}, n > 0 ? nthId(n) : CheckpointId(),
                       makeCommit(n + 1, n, 0, i == 0 ? mark : "another"));
            });
        }
        proxy.cut(how, mark);
        CHECK(joining.together(calls) == std::vector<std::string>(threads));
        CHECK(proxy.hasCut());
    }
    CHECK(saver.joinedPuts() >= threads);
    for (int i = 0; i < threads; ++i) {
        std::set<std::string> ids;
        shared_threads::checkLine(*beside, named(i), ids);
        CHECK(ids.size() == n);
    }
}

TEST_CASE("joined puts that get no connection say so, each of them, and later ones are stored") {
    const Schema schema;
    PostgresSaverOptions options = one_statement;
    options.connections_max = 1;
    options.connection_wait = 50ms;
    const auto saver = schema.open(options);
    for (int i = 0; i < 6; ++i) putLine(*saver, {named(i)}, 1);
    Raw blocker;
    blocker.run("BEGIN; LOCK TABLE " + schema.name() + ".logs IN ACCESS EXCLUSIVE MODE");
    auto reader = std::async(std::launch::async, [&] { return saver->getTuple({.log = {named(0)}}); });
    Raw watcher;
    patience::until([&] {
        return watcher.run("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + schema.name() +
                           ".logs'::regclass") != "0";
    });
    std::vector<std::future<std::string>> puts;
    for (int i = 0; i < 6; ++i) {
        puts.push_back(std::async(std::launch::async, [&, i] {
            return databaseError([&] { putOne(*saver, {named(i)}, nthId(1), makeCommit(2, 1)); });
        }));
    }
    for (auto& each : puts) POSTGRES_SAYS(each.get(), "SaverError: ");
    blocker.run("COMMIT");
    CHECK(reader.get()->head == nthId(1));
    for (int i = 0; i < 6; ++i) CHECK_NOTHROW(putOne(*saver, {named(i)}, nthId(1), makeCommit(2, 1)));
}

TEST_CASE("two savers whose threads append to the same logs lose nothing and fork nothing") {
    const Schema schema;
    const unsigned seed = tests::seed();
    INFO("seed ", seed);
    constexpr int threads = 6;
    constexpr int logs = 8;
    constexpr int appends = 40;
    const std::unique_ptr<PostgresSaver> savers[] = {schema.open(), schema.open(one_statement)};
    std::mutex mutex;
    std::set<std::string> told;
    std::atomic<int> others{0};
    std::vector<std::thread> writers;
    for (int i = 0; i < 2 * threads; ++i) {
        writers.emplace_back([&, i] {
            std::minstd_rand random(seed + static_cast<unsigned>(i));
            for (int n = 0; n < appends; ++n) {
                const std::string thread = shared_threads::threadNamed(static_cast<int>(random() % logs));
                const CheckpointId id = shared_threads::tryToAppend(*savers[i % 2], thread,
                                                                    static_cast<unsigned>(i) + 1, random() % 4 == 0);
                const std::lock_guard lock(mutex);
                id.empty() ? void(++others) : void(told.insert(thread + " " + id.toString()));
            }
        });
    }
    for (auto& each : writers) each.join();
    std::set<std::string> stored;
    for (int i = 0; i < logs; ++i) shared_threads::checkLine(*savers[0], shared_threads::threadNamed(i), stored);
    CHECK(stored == told);
    CHECK(told.size() + static_cast<std::size_t>(others) == 2 * threads * appends);
    CHECK(savers[0]->joinedPuts() + savers[1]->joinedPuts() > 0);
}
