// A put that records what a thread waits for, while another call appends to the thread.
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;

namespace {

/// Returns when a statement on the schema waits for a lock or the call has ended.
template <class Result>
void awaitLock(const Schema& schema, const std::future<Result>& call) {
    Raw raw;
    const std::string waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" + schema.name() + "%'";
    patience::until([&] {
        return !(raw.run(waiting) == "0" && call.wait_for(std::chrono::seconds(0)) != std::future_status::ready);
    });
}

std::string statusOf(PostgresSaver& saver) { return toString(saver.newestThreads({})->front().outlook.status); }

}  // namespace

TEST_CASE("an append to a thread that another put is about to call finished leaves it open") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 2);
    REQUIRE(statusOf(*saver) == "in_flight");
    Raw other;  // stands for a put that has written and not yet committed
    other.run("BEGIN");
    other.run("UPDATE " + schema.name() + ".logs SET status = 1 WHERE thread = 't'");
    auto append = std::async(std::launch::async, [&] { putOne(*saver, {"t"}, nthId(2), makeCommit(3, 2)); });
    awaitLock(schema, append);
    other.run("COMMIT");
    append.get();
    CHECK(statusOf(*saver) == "in_flight");
}

TEST_CASE("what a put says of a thread's newest commit is refused if an append that began before it is stored") {
    const Schema schema;
    const auto saver = schema.open();
    putLine(*saver, {"t"}, 2);
    const std::string commits = schema.name() + ".commits";
    Raw other;  // stands for an append that has written and not yet committed
    other.run("BEGIN");
    other.run("SELECT log FROM " + schema.name() + ".logs WHERE thread = 't' FOR NO KEY UPDATE");
    other.run("INSERT INTO " + commits + " SELECT log, id, '" + nthId(3).toString() + "', id, base, bytes FROM " +
              commits + " WHERE id = '" + nthId(2).toString() + "'");
    auto says = std::async(std::launch::async, [&] {
        return databaseError([&] {
            saver->put(
                {.log = {"t"}, .expected_head = nthId(2), .commits = {}, .writes = {}, .outlook = {Status::done, {}}});
        });
    });
    awaitLock(schema, says);
    other.run("COMMIT");
    POSTGRES_SAYS(says.get(), "ConcurrentUpdateError");
    CHECK(statusOf(*saver) == "in_flight");
}
