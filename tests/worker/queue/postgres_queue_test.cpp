// Submitting, claiming and releasing.
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_queue.hpp>

#include "tests/worker/queue/postgres_queue_helper.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

TEST_CASE(
    "an input is claimed once, taken with its run's first commit, and its thread leaves the queue when it is done") {
    Queue on;
    const Receipt receipt = on.submit("t", "", "default", 7);
    CHECK(receipt.is_new);
    const QueuedThread waiting = *on.queue.find("t");
    CHECK((waiting.state == WorkState::idle));
    CHECK(waiting.inputs == 1);
    CHECK(waiting.epoch == 0);

    const Claim claim = on.claimOne();
    CHECK(claim.thread_id == "t");
    CHECK(claim.queue == "default");
    CHECK(claim.graph == "graph");
    CHECK((claim.state == WorkState::idle));
    CHECK(claim.attempts == 1);
    CHECK(claim.head.empty());
    CHECK_FALSE(claim.version);
    CHECK(claim.input_number == receipt.number);
    CHECK(claim.input == Value(7));
    CHECK(on.claim().empty());
    CHECK(on.queue.find("t")->worker == "worker");

    on.begin(claim);
    CHECK((on.queue.find("t")->state == WorkState::begun));
    CHECK(on.queue.find("t")->inputs == 0);
    CHECK(on.release(claim, WorkOutcome::finished));
    CHECK_FALSE(on.queue.find("t"));
    CHECK(on.count("inputs") == "0");
    CHECK_FALSE(on.release(claim, WorkOutcome::finished));
    CHECK_FALSE(on.renew(claim));
}

TEST_CASE("inputs of a thread wait for the run under way, and are taken in their order") {
    Queue on;
    for (int i = 1; i <= 3; ++i) on.submit("t", "", "default", i);
    unsigned head = 0;
    for (int i = 1; i <= 3; ++i) {
        const Claim claim = on.claimOne();
        CHECK(claim.input == Value(i));
        CHECK(claim.version.has_value() == (i > 1));
        on.begin(claim, head++);
        CHECK(on.claim().empty());
        if (i == 1) on.submit("t", "", "default", 4);
        CHECK(on.claim().empty());
        CHECK(on.release(claim, WorkOutcome::finished));
    }
    CHECK(on.claimOne().input == Value(4));

    // A thread that waits or sleeps keeps its inputs.
    Queue other;
    other.submit("t");
    const Claim claim = other.claimOne();
    other.begin(claim);
    CHECK(other.release(claim, WorkOutcome::waits));
    other.submit("t");
    CHECK(other.claim().empty());
    CHECK((other.queue.find("t")->state == WorkState::waits));
    CHECK(other.queue.find("t")->inputs == 1);
}

TEST_CASE("an input with a key is stored once, also after it was taken, until keys are forgotten") {
    Queue on;
    const Receipt first = on.submit("t", "order 1");
    const Receipt again = on.submit("t", "order 1", "default", 9);
    CHECK(first.is_new);
    CHECK_FALSE(again.is_new);
    CHECK(again.number == first.number);
    CHECK(on.submit("u", "order 1").is_new);  // keys are separate for each thread
    CHECK(on.queue.find("t")->inputs == 1);
    Claim claim = on.claimOne();
    CHECK(claim.input == Value(0));
    on.begin(claim);
    CHECK(on.release(claim, WorkOutcome::finished));
    CHECK_FALSE(on.submit("t", "order 1").is_new);
    CHECK_FALSE(on.queue.find("t"));
    CHECK(on.queue.forgetKeys(1h) == 0);
    CHECK(on.queue.forgetKeys(0ms) == 1);
    CHECK(on.submit("t", "order 1").is_new);

    // Several inputs in one call, one of them twice.
    const std::vector<QueuedInput> inputs{{.thread_id = "z", .graph = "graph", .input = Value(1), .key = "a"},
                                          {.thread_id = "b", .graph = "graph", .input = Value(2), .key = "a"},
                                          {.thread_id = "z", .graph = "graph", .input = Value(3), .key = "a"}};
    const auto receipts = on.queue.submit(inputs);
    REQUIRE(receipts.size() == 3);
    CHECK(receipts[0].is_new);
    CHECK(receipts[1].is_new);
    CHECK_FALSE(receipts[2].is_new);
    CHECK(receipts[2].number == receipts[0].number);
    CHECK(on.queue.submit(std::span<const QueuedInput>()).empty());
}

TEST_CASE("a lease that ran out is claimed by another, whose epoch is another, and an attempt counts if it was begun") {
    Queue on;
    on.submit("t");
    const Claim first = on.claimOne();
    CHECK(on.renew(first));
    CHECK(on.claim().empty());
    on.letTimePass();
    const Claim second = on.claimOne();
    CHECK(second.epoch > first.epoch);
    CHECK(second.attempts == 1);  // nobody ran it
    CHECK(second.apart == 1);
    CHECK_FALSE(on.renew(first));
    CHECK_FALSE(on.release(first, WorkOutcome::set_aside));
    CHECK(on.renew(second));
    const HeldLease held{second.thread_id, second.epoch};
    CHECK(on.queue.begin(std::span(&held, 1)).size() == 1);
    on.letTimePass();
    CHECK(on.claimOne().attempts == 2);
    on.letTimePass();
    Claim fourth = on.claimOne();
    on.begin(fourth);  // a put counts as progress
    on.letTimePass();
    const Claim fifth = on.claimOne();
    CHECK(fifth.attempts == 1);
    CHECK((fifth.state == WorkState::begun));
    CHECK(fifth.head == nthId(1));
    CHECK(fifth.version == GraphFingerprint{1, 2});
    CHECK_FALSE(fifth.input_number);
}

TEST_CASE("a thread is left to sleep, to wait, to be tried again, or set aside") {
    Queue on;
    on.submit("t");
    Claim claim = on.claimOne();
    on.begin(claim);

    CHECK(on.release(claim, WorkOutcome::sleeps, {.wake_at = std::chrono::system_clock::now() + 1h}));
    CHECK((on.queue.find("t")->state == WorkState::sleeping));
    CHECK(on.claim().empty());
    CHECK(on.queue.stats().at(0).sleeping == 1);
    on.letTimePass();
    claim = on.claimOne();
    CHECK((claim.state == WorkState::sleeping));
    CHECK_FALSE(claim.is_woken);

    // If the server's clock has passed the wake time, the thread is due soon, and not repeatedly at once.
    CHECK(on.release(claim, WorkOutcome::sleeps, {.wake_at = std::chrono::system_clock::now() - 1h}));
    CHECK(on.count("work", "due > now() - interval '30 minutes'") == "1");
    on.letTimePass();

    claim = on.claimOne();
    CHECK(on.release(claim, WorkOutcome::waits));
    CHECK_FALSE(on.queue.find("t")->due);
    CHECK(on.queue.stats().at(0).waiting == 1);
    CHECK(on.queue.wake("t"));
    claim = on.claimOne();
    CHECK(claim.is_woken);
    CHECK((claim.state == WorkState::waits));
    // A thread that is woken while a worker has it is examined again.
    CHECK(on.queue.wake("t"));
    CHECK(on.release(claim, WorkOutcome::waits));
    claim = on.claimOne();
    CHECK(claim.is_woken);

    CHECK(on.release(claim, WorkOutcome::retry, {.delay = 1h, .error = "no luck"}));
    CHECK(on.claim().empty());
    CHECK(on.queue.find("t")->error == "no luck");
    CHECK(on.queue.stats().at(0).later == 1);
    on.letTimePass();
    claim = on.claimOne();
    CHECK(claim.error == "no luck");

    CHECK(on.release(claim, WorkOutcome::set_aside, {.error = "\xff Größe"}));
    CHECK(on.queue.find("t")->is_set_aside);
    on.letTimePass();
    on.submit("t");
    CHECK(on.claim().empty());
    CHECK(on.queue.stats().at(0).set_aside == 1);
    CHECK(on.queue.setAside().at(0).error == "? Gr????e");
    CHECK(on.queue.setAside(50, "t").empty());
    CHECK(on.queue.retry("t"));
    CHECK_FALSE(on.queue.retry("t"));
    claim = on.claimOne();
    CHECK(claim.attempts == 1);
    CHECK(on.release(claim, WorkOutcome::again));
    CHECK(on.claimOne().attempts == 1);
}

TEST_CASE("a version that cannot run a thread leaves it to others, and is not asked again") {
    Queue on;
    on.submit("t");
    const Claim claim = on.claimOne();
    on.begin(claim);
    CHECK(on.release(claim, WorkOutcome::refused, {.error = "no such node", .version = {1, 2}}));
    CHECK(on.claim(10, {1, 2}).empty());
    CHECK(on.queue.find("t")->error == "no such node");
    const auto other = on.claim(10, {3, 4});
    REQUIRE(other.size() == 1);
    CHECK(other[0].attempts == 1);
    CHECK_FALSE(other[0].version);
    CHECK(on.queue.claim({.worker = "w", .graphs = {{"another graph", {5, 6}}}, .queues = {{"default", 10}}}).empty());
    // The list of refusals is limited, however many there are.
    Claim last = other[0];
    for (std::uint64_t i = 10; i < 40; ++i) {
        CHECK(on.release(last, WorkOutcome::refused, {.version = {i, i}}));
        last = on.claim(10, {i + 1, i + 1}).at(0);
    }
    CHECK(on.count("work", "cardinality(refused) = 16") == "1");
}

TEST_CASE("a cancel drops the inputs that wait, is brought by the next renewal, and is done by a worker") {
    Queue on;
    CHECK_FALSE(on.queue.cancel("t"));
    on.submit("t");
    on.submit("t");
    Claim claim = on.claimOne();
    on.begin(claim);
    CHECK(on.queue.cancel("t"));
    CHECK(on.queue.find("t")->inputs == 0);
    const HeldLease held{"t", claim.epoch};
    const auto renewed = on.queue.renew(std::span(&held, 1), 1h);
    REQUIRE(renewed.size() == 1);
    CHECK(renewed[0].is_cancelled);
    // The run has asked in the meantime, but the thread is due for its cancellation.
    CHECK(on.release(claim, WorkOutcome::waits));
    claim = on.claimOne();
    CHECK(claim.is_cancelled);
    on.submit("t", "", "default", 5);  // and the next input continues the thread
    CHECK(on.release(claim, WorkOutcome::cancelled));
    claim = on.claimOne();
    CHECK_FALSE(claim.is_cancelled);
    CHECK(claim.input == Value(5));
    CHECK(on.queue.cancel("t"));
    CHECK(on.queue.find("t")->inputs == 0);
    CHECK(on.release(claim, WorkOutcome::cancelled));
    CHECK_FALSE(on.queue.find("t"));
    CHECK(on.count("inputs") == "0");

    // A thread that was set aside.
    on.submit("u");
    CHECK(on.release(on.claimOne(), WorkOutcome::set_aside));
    CHECK(on.queue.cancel("u"));
    CHECK(on.claimOne().is_cancelled);
}

TEST_CASE("an input that no run has taken can be withdrawn, and a deleted thread has none") {
    Queue on;
    const Receipt receipt = on.submit("t");
    CHECK(on.queue.withdraw("t", receipt.number));
    CHECK_FALSE(on.queue.withdraw("t", receipt.number));
    Claim claim = on.claimOne();
    CHECK_FALSE(claim.input_number);
    CHECK(on.release(claim, WorkOutcome::finished));
    CHECK_FALSE(on.queue.find("t"));

    on.submit("t");
    on.submit("u");
    on.submit("u", "key");
    claim = on.claimOne();
    on.begin(claim);
    on.saver->deleteThread(claim.thread_id);
    CHECK_FALSE(on.renew(claim));
    on.saver->deleteThread("u");
    CHECK(on.count("work") == "0");
    CHECK(on.count("inputs") == "0");
}

TEST_CASE("a prune of unused threads keeps a thread that the queue has, and drops it when the queue is done with it") {
    Queue on;
    const PruneRequest prune{.threads_unused_since = nthId(50).time()};
    putLine(*on.saver, {"t"}, 2);
    putLine(*on.saver, {"other"}, 2);
    on.submit("t");
    CHECK(on.saver->prune(prune) == 2);
    CHECK(listIds(*on.saver, {"t"}) == nthIds({2, 1}));
    CHECK(LeasedSaver(on.saver).prune({.thread_id = "t", .threads_unused_since = nthId(50).time()}) == 0);
    const Claim claim = on.claimOne();
    CHECK(on.saver->prune(prune) == 0);
    on.begin(claim, 2);
    CHECK(on.saver->prune(prune) == 0);
    CHECK(on.release(claim, WorkOutcome::finished));
    CHECK(on.saver->prune(prune) == 3);
}

TEST_CASE("of each queue so many threads are claimed as are asked for, those that are due longest first") {
    Queue on;
    for (const char* queue : {"slow", "fast"}) {
        for (int i = 0; i < 5; ++i) on.submit(queue + std::to_string(i), "", queue);
    }
    const ClaimRequest request{
        .worker = "w", .lease = 1h, .graphs = {{"graph", {1, 2}}}, .queues = {{"slow", 1}, {"fast", 3}, {"none", 5}}};
    std::vector<std::string> names;
    for (const Claim& claim : on.queue.claim(request)) names.push_back(claim.thread_id);
    std::ranges::sort(names);
    CHECK(names == std::vector<std::string>{"fast0", "fast1", "fast2", "slow0"});
    const auto stats = on.queue.stats();
    REQUIRE(stats.size() == 2);
    CHECK(stats[0].queue == "fast");
    CHECK(stats[0].ready == 2);
    CHECK(stats[0].leased == 3);
    CHECK(stats[0].inputs == 5);
    CHECK(stats[0].oldest.count() >= 0);
    CHECK(stats[1].ready == 4);
}

TEST_CASE("what the queue cannot store is an error that says why, and nothing of the call is stored") {
    Queue on;
    const auto said = [&](const QueuedInput& input) {
        return databaseError([&] {
            (void)on.queue.submit(std::vector<QueuedInput>{{"fine", "graph", Value(1)}, input});
        });
    };
    POSTGRES_SAYS(said({"", "graph", Value(1)}), "InvalidArgumentError: an input names no thread");
    POSTGRES_SAYS(said({std::string(120, 't'), "graph", Value(1)}), "InvalidArgumentError");
    POSTGRES_SAYS(said({"t", "", Value(1)}), "the name of a graph has 0 bytes; in the queue it must have 1 to 255");
    POSTGRES_SAYS(said({"t", "graph", Value(1), std::string(256, 'q')}), "the name of a queue has 256 bytes");
    POSTGRES_SAYS(said({"t", "graph", Value(1), "default", std::string(1001, 'k')}), "the key of an input has 1001");
    POSTGRES_SAYS(said({"t", "graph", Value(std::string(PostgresQueue::input_bytes_max + 1, 'x'))}),
                  "the queue stores at most 16777216: store it elsewhere");
    on.submit("taken");
    POSTGRES_SAYS(said({"taken", "other", Value(1)}), "the thread is in the queue with another graph than 'other'");
    std::vector<QueuedInput> many(PostgresQueue::inputs_max, {"full", "graph", Value(1)});
    CHECK(on.queue.submit(many).size() == PostgresQueue::inputs_max);
    POSTGRES_SAYS(said({"full", "graph", Value(1)}), "the thread has 1000 inputs that wait, and takes no more");
    CHECK_FALSE(on.queue.find("fine"));
    CHECK(on.count("inputs") == "1001");
    POSTGRES_SAYS(databaseError([&] { (void)on.queue.claim({.worker = ""}); }), "the name of a worker has 0 bytes");
    POSTGRES_SAYS(databaseError([&] { (void)on.queue.claim({.worker = "w", .lease = 10ms}); }),
                  "a lease is 10 ms; it must be 1000 to 86400000");
    CHECK_THROWS_AS(PostgresQueue(nullptr), InvalidArgumentError);
}

TEST_CASE("each call of the queue is one round trip, for many threads too") {
    Queue on({.prepared_statements = false});
    std::uint64_t last = on.saver->roundTrips();
    const auto trips = [&] { return on.saver->roundTrips() - std::exchange(last, on.saver->roundTrips()); };
    std::vector<QueuedInput> inputs;
    for (int i = 0; i < 64; ++i) inputs.push_back({"t" + std::to_string(i), "graph", Value(i)});
    (void)on.queue.submit(inputs);
    CHECK(trips() == 1);
    const auto claims = on.claim(64);
    CHECK(claims.size() == 64);
    CHECK(trips() == 1);
    std::vector<HeldLease> held;
    std::vector<Release> releases;
    for (const Claim& claim : claims) {
        held.push_back({claim.thread_id, claim.epoch});
        releases.push_back({claim.thread_id, claim.epoch, WorkOutcome::again});
    }
    CHECK(on.queue.renew(held, 1h).size() == 64);
    CHECK(trips() == 0);  // over a connection of its own
    CHECK(on.queue.release(releases).size() == 64);
    CHECK(trips() == 1);
    (void)on.queue.cancel("t1");
    (void)on.queue.wake("t2");
    (void)on.queue.stats();
    CHECK(trips() == 3);
}

TEST_CASE("a claim says since when a thread was due, and can leave out those that were due up to a time") {
    Queue on;
    for (const char* const thread : {"a", "b", "c"}) (void)on.submit(thread);
    const auto dueSince = [&](const std::string& thread, const std::string& when) {
        Raw().run("UPDATE " + on.schema.name() + ".work SET due = timestamptz '" + when + "' WHERE thread = '" +
                  thread + "'");
    };
    dueSince("a", "2001-01-01 00:00:00.123+00");
    dueSince("b", "2002-01-01 00:00:00+00");
    dueSince("c", "2003-01-01 00:00:00+00");
    using std::chrono::system_clock;
    const auto at = [](std::int64_t ms) { return system_clock::time_point(std::chrono::milliseconds(ms)); };
    const auto claimAfter = [&](std::optional<system_clock::time_point> time) {
        return on.queue.claim({.worker = "worker",
                               .lease = std::chrono::hours(1),
                               .graphs = {{"graph", {1, 2}}},
                               .queues = {{"default", 1, time}}});
    };
    const auto second = claimAfter(at(978'307'200'123));
    REQUIRE(second.size() == 1);
    CHECK(second[0].thread_id == "b");
    CHECK((second[0].due == at(1'009'843'200'000)));
    const auto first = claimAfter(at(978'307'200'122));
    REQUIRE(first.size() == 1);
    CHECK(first[0].thread_id == "a");
    CHECK((first[0].due == at(978'307'200'123)));
    CHECK(claimAfter(at(1'041'379'200'000)).empty());
    CHECK(claimAfter({}).size() == 1);
}
