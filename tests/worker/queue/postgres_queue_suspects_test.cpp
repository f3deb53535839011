// Threads whose workers died: with how many others they are tried again, and what counts as an attempt. Leases whose
// rows others have locked, and threads whose graph no worker has.
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/worker/queue/postgres_queue_helper.hpp"

using namespace stategraph;
using namespace std::chrono_literals;
using postgres_tests::Queue;
using postgres_tests::Raw;

namespace {

std::vector<Claim> claimBeside(Queue& on, std::size_t running) {
    return on.queue.claim({.worker = "worker",
                           .lease = 1h,
                           .graphs = {{"graph", {1, 2}}},
                           .queues = {{"default", 100}},
                           .running = running});
}

bool begin(Queue& on, const Claim& claim) {
    const HeldLease held{claim.thread_id, claim.epoch};
    return on.queue.begin(std::span(&held, 1)).size() == 1;
}

std::vector<Renewed> renew(Queue& on, const std::vector<Claim>& claims) {
    std::vector<HeldLease> held;
    for (const Claim& each : claims) held.push_back({each.thread_id, each.epoch});
    return on.queue.renew(held, 1h);
}

std::int64_t enlist(Queue& on, const std::string& graph, const std::string& of = "default") {
    const ClaimedGraph has{graph, {1, 2}};
    return on.queue.enlist(0, {.name = "w", .queues = {of}, .graphs = {graph}, .slots = 4}, std::span(&has, 1), 1h);
}

/// A lock of a row, as a person's or a backup's, until it ends.
class RowLock {
public:
    RowLock(const Queue& on, const std::string& thread) {
        raw_.run("BEGIN; SELECT 1 FROM " + on.schema.name() + ".work WHERE thread = '" + thread + "' FOR UPDATE");
    }
    void end() { raw_.run("ROLLBACK"); }

private:
    Raw raw_;
};

}  // namespace

TEST_CASE("threads whose worker died are tried with a quarter of them, and in the end alone") {
    Queue on;
    for (int i = 0; i < 8; ++i) on.submit("t" + std::to_string(i));
    CHECK(claimBeside(on, 0).size() == 8);
    on.letTimePass();
    const auto two = claimBeside(on, 0);
    REQUIRE(two.size() == 2);
    CHECK(two[0].apart == 2);
    CHECK(two[0].attempts == 1);
    for (const Claim& each : two) CHECK(begin(on, each));
    Raw().run("UPDATE " + on.schema.name() + ".work SET due = now() - interval '1 hour' WHERE is_begun");
    const auto one = claimBeside(on, 0);
    REQUIRE(one.size() == 1);
    CHECK(one[0].apart == 1);
    CHECK(one[0].attempts == 1);
    CHECK(on.queue.find(one[0].thread_id)->apart == 1);
}

TEST_CASE("an attempt whose lease ran out counts only if the thread was run, and alone") {
    Queue on;
    on.submit("t");
    CHECK(on.claimOne().apart == 0);
    on.letTimePass();
    CHECK(on.claimOne().attempts == 1);
    on.letTimePass();
    Claim claim = on.claimOne();  // it was not begun
    CHECK(claim.attempts == 1);
    CHECK(claim.apart == 1);
    CHECK(begin(on, claim));
    on.letTimePass();
    claim = on.claimOne();
    CHECK(claim.attempts == 2);
    CHECK(on.release(claim, WorkOutcome::retry));
    claim = on.claimOne();
    CHECK(claim.attempts == 3);
    CHECK(claim.apart == 0);  // it came back, so it does not kill its process
}

TEST_CASE("a thread that must run alone goes to a worker that runs nothing, or after a lease to any") {
    Queue on;
    on.submit("t");
    (void)on.claimOne();
    on.letTimePass();
    on.submit("fresh");
    const auto beside = claimBeside(on, 1);
    REQUIRE(beside.size() == 1);
    CHECK(beside[0].thread_id == "fresh");
    CHECK(claimBeside(on, 1).empty());
    Raw().run("UPDATE " + on.schema.name() + ".work SET due = now() - interval '2 hours' WHERE thread = 't'");
    on.submit("fresher");
    const auto overdue = claimBeside(on, 1);
    REQUIRE(overdue.size() == 1);  // nothing else is taken with it
    CHECK(overdue[0].thread_id == "t");
    CHECK(overdue[0].apart == 1);
}

TEST_CASE("a row that somebody has locked holds up no other lease") {
    Queue on;
    for (const char* name : {"a", "b", "c"}) on.submit(name);
    const auto claims = on.claim();
    REQUIRE(claims.size() == 3);
    RowLock lock(on, "a");
    const auto renewed = renew(on, claims);
    REQUIRE(renewed.size() == 3);
    for (const Renewed& each : renewed) CHECK(each.is_renewed == (each.thread_id != "a"));
    CHECK_FALSE(begin(on, claims[0]));
    std::vector<Release> releases;
    for (const Claim& each : claims) releases.push_back({.thread_id = each.thread_id, .epoch = each.epoch});
    lock.end();
    CHECK(on.queue.release(releases).size() == 3);
    CHECK(renew(on, claims).empty());
}

TEST_CASE("a thread whose graph no worker has is unserved, and is cancelled by any worker of its queue") {
    Queue on;
    on.submit("t");
    CHECK(on.queue.stats().at(0).ready == 1);  // without any worker
    const std::int64_t other = enlist(on, "another graph");
    CHECK(on.queue.stats().at(0).ready == 0);
    CHECK(on.queue.stats().at(0).unserved == 1);
    CHECK((on.queue.find("t")->standing == QueueStanding::unserved));
    CHECK(on.queue.list(QueueStanding::unserved).size() == 1);
    CHECK(on.queue.list(QueueStanding::ready).empty());
    const std::int64_t own = enlist(on, "graph");
    CHECK(on.queue.stats().at(0).ready == 1);
    CHECK(on.queue.workers().size() == 2);
    on.queue.leave(own);
    CHECK(on.queue.stats().at(0).unserved == 1);
    const ClaimRequest request{
        .worker = "w", .lease = 1h, .graphs = {{"another graph", {1, 2}}}, .queues = {{"default", 10}}};
    CHECK(on.queue.claim(request).empty());
    CHECK(on.queue.cancel("t"));
    CHECK(on.queue.stats().at(0).ready == 1);
    const auto claims = on.queue.claim(request);
    REQUIRE(claims.size() == 1);
    CHECK(claims[0].is_cancelled);
    on.queue.leave(other);
}

TEST_CASE("a thread is taken back from its worker, and set aside with a reason") {
    Queue on;
    on.submit("t");
    CHECK_FALSE(on.queue.takeBack("t"));
    const Claim first = on.claimOne();
    CHECK(on.queue.takeBack("t"));
    CHECK_FALSE(on.renew(first));
    const Claim second = on.claimOne();
    CHECK(on.queue.putAside("t", "look at it"));
    CHECK_FALSE(on.renew(second));
    CHECK_FALSE(on.queue.putAside("t", "again"));
    CHECK(on.queue.setAside().at(0).error == "look at it");
    CHECK(on.claim().empty());
    CHECK(on.queue.retry("t"));
    CHECK(on.claimOne().attempts == 1);
}
