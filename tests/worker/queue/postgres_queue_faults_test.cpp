// The queue with many simultaneous users and over connections that break.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_queue.hpp>

#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/support/seed.hpp"
#include "tests/worker/queue/postgres_queue_helper.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

namespace {

/// Calls `call(number)` on `count` threads at once and returns what they threw.
template <class Call>
std::vector<std::string> onThreads(std::size_t count, Call call) {
    std::vector<std::string> said(count);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&, i] { said[i] = databaseError([&] { call(i); }); });
    for (std::thread& each : threads) each.join();
    std::erase(said, "");
    return said;
}

}  // namespace

TEST_CASE("of many that claim at once each thread goes to one") {
    Queue on;
    std::vector<QueuedInput> inputs;
    for (int i = 0; i < 300; ++i) inputs.push_back({"t" + std::to_string(i), "graph", Value(i)});
    (void)on.queue.submit(inputs);
    std::mutex mutex;
    std::multiset<std::string> taken;
    std::set<std::int64_t> epochs;
    const auto said = onThreads(4, [&](std::size_t) {
        for (;;) {
            const auto claims = on.claim(7);
            const std::lock_guard lock(mutex);
            for (const Claim& claim : claims) {
                taken.insert(claim.thread_id);
                epochs.insert(claim.epoch);
            }
            if (taken.size() >= inputs.size()) return;
        }
    });
    CHECK(said.empty());
    CHECK(taken.size() == 300);
    CHECK(std::set<std::string>(taken.begin(), taken.end()).size() == 300);
    CHECK(epochs.size() == 300);
}

TEST_CASE("several that submit the same keys at once, in any order, store each once") {
    Queue on;
    constexpr int keys = 60;
    std::atomic<int> stored{0};
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    const auto said = onThreads(4, [&](std::size_t number) {
        std::vector<QueuedInput> inputs;
        for (int i = 0; i < keys; ++i)
            inputs.push_back({"t" + std::to_string(i % 7), "graph", Value(i), "default", "key " + std::to_string(i)});
        std::minstd_rand random(seed + static_cast<unsigned>(number));
        std::ranges::shuffle(inputs, random);
        for (const Receipt& receipt : on.queue.submit(inputs)) stored += receipt.is_new ? 1 : 0;
    });
    for (const std::string& each : said) MESSAGE(each);
    CHECK(said.empty());
    CHECK(stored == keys);
    CHECK(on.count("inputs") == std::to_string(keys));
    CHECK(Raw().run("SELECT sum(inputs) FROM " + on.schema.name() + ".work") == std::to_string(keys));
}

// Each worker claims, takes inputs, renews and releases threads at random, while other threads submit, withdraw and
// wake.
TEST_CASE("whatever many do at once, every input is taken once, in its thread's order, or waits") {
    const unsigned seed = tests::seed();
    CAPTURE(seed);
    Queue on;
    std::mutex mutex;
    std::map<std::string, std::set<std::int64_t>> submitted;
    std::map<std::string, std::vector<std::int64_t>> taken;
    std::atomic<bool> is_over{false};
    const auto submit = [&](std::minstd_rand& random) {
        std::vector<QueuedInput> inputs(1 + random() % 6);
        for (QueuedInput& input : inputs) input = {"t" + std::to_string(random() % 8), "graph", Value(1)};
        const auto receipts = on.queue.submit(inputs);
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < inputs.size(); ++i) submitted[inputs[i].thread_id].insert(receipts[i].number);
    };
    const auto work = [&](std::minstd_rand& random) {
        LeasedSaver leased(on.saver);
        auto claims = on.claim(1 + random() % 5);
        std::vector<HeldLease> held;
        std::vector<Release> releases;
        for (const Claim& claim : claims) {
            held.push_back({claim.thread_id, claim.epoch});
            if (claim.state == WorkState::idle && claim.input_number) {
                leased.hold(claim.thread_id, {.epoch = claim.epoch, .takes = claim.input_number});
                try {
                    const auto head = headOf(leased, {claim.thread_id});
                    const unsigned n =
                        head.empty() ? 0 : static_cast<unsigned>((head.high() >> 16U) - 1'700'000'000'000);
                    putOne(leased, {claim.thread_id}, head, makeCommit(n + 1, n));
                    const std::lock_guard lock(mutex);
                    taken[claim.thread_id].push_back(*claim.input_number);
                } catch (const ConcurrentUpdateError&) {  // the claim saw an input that was taken at that moment
                }
            }
            constexpr WorkOutcome outcomes[] = {WorkOutcome::finished, WorkOutcome::again, WorkOutcome::retry,
                                                WorkOutcome::waits, WorkOutcome::sleeps};
            releases.push_back({claim.thread_id, claim.epoch, outcomes[random() % 5]});
        }
        std::ranges::shuffle(held, random);
        CHECK(on.queue.renew(held, 1h).size() == held.size());
        CHECK(on.queue.release(releases).size() == releases.size());
    };
    std::minstd_rand first(seed);
    submit(first);  // so that there is something to take, whoever comes first
    const auto said = onThreads(5, [&](std::size_t number) {
        std::minstd_rand random(seed + static_cast<unsigned>(number));
        for (int i = 0; i < 60; ++i) {
            if (number < 2) submit(random);
            if (number >= 2) work(random);
            if (random() % 4 == 0) on.queue.wake("t" + std::to_string(random() % 8));
        }
    });
    for (const std::string& each : said) MESSAGE(each);
    CHECK(said.empty());
    const std::string in = on.schema.name() + ".";
    CHECK(Raw().run("SELECT count(*) FROM " + in + "work w WHERE w.inputs <> (SELECT count(*) FROM " + in +
                    "inputs i WHERE i.thread = w.thread AND i.taken IS NULL)") == "0");
    std::size_t waiting = 0, gone = 0;
    for (auto& [thread, numbers] : taken) {
        CHECK(std::ranges::is_sorted(numbers));
        CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
        for (const std::int64_t number : numbers) CHECK(submitted[thread].erase(number) == 1);
        gone += numbers.size();
    }
    for (const auto& [thread, numbers] : submitted) waiting += numbers.size();
    CHECK(on.count("inputs") == std::to_string(waiting));
    CHECK(gone > 0);
    // Everything that waits is due or will be due, so nothing is forgotten.
    CHECK(on.count("work", "inputs > 0 AND state = 0 AND due IS NULL") == "0");
}

TEST_CASE("a submission with keys whose answer is lost is stored once, and one without says that it does not know") {
    Queue on;
    Proxy proxy;
    PostgresQueue queue(
        std::make_shared<PostgresSaver>(proxy.address(), patient<PostgresSaverOptions>({.schema = on.schema.name()})));
    const auto submit = [&](const std::string& thread, const std::string& key) {
        return queue.submit({.thread_id = thread, .graph = "graph", .input = Value(1), .key = key});
    };
    (void)submit("first", "");
    proxy.cut(Proxy::Cut::reply, "with a key");
    CHECK_FALSE(submit("t", "with a key").is_new);  // the first attempt stored it
    CHECK(proxy.hasCut());
    proxy.cut(Proxy::Cut::request, "another key");
    CHECK(submit("t", "another key").is_new);
    CHECK(on.queue.find("t")->inputs == 2);
    proxy.cut(Proxy::Cut::reply, "without a key");
    POSTGRES_SAYS(databaseError([&] { (void)submit("without a key", ""); }),
                  "whether the inputs were stored is not known: give inputs keys");
    CHECK(on.queue.find("without a key")->inputs == 1);
}

TEST_CASE("a claim or a release whose answer is lost leaves nothing that a lease does not end") {
    Queue on;
    Proxy proxy;
    PostgresQueue queue(
        std::make_shared<PostgresSaver>(proxy.address(), patient<PostgresSaverOptions>({.schema = on.schema.name()})));
    on.submit("t");
    const ClaimRequest request{
        .worker = "cut off", .lease = 1h, .graphs = {{"graph", {1, 2}}}, .queues = {{"default", 5}}};
    (void)queue.stats();
    proxy.cut(Proxy::Cut::reply, "cut off");
    CHECK(queue.claim(request).empty());  // the second attempt finds the thread leased
    CHECK(proxy.hasCut());
    CHECK(on.queue.find("t")->worker == "cut off");
    on.letTimePass();
    const Claim claim = on.claimOne();
    CHECK(claim.attempts == 1);  // nobody ran it

    const Release release{
        .thread_id = "t", .epoch = claim.epoch, .outcome = WorkOutcome::retry, .delay = 1h, .error = "a lost answer"};
    proxy.cut(Proxy::Cut::reply, "a lost answer");
    CHECK(queue.release(std::span(&release, 1)).empty());  // the second attempt finds the thread released
    CHECK(on.queue.find("t")->error == "a lost answer");
    CHECK(on.queue.find("t")->epoch == 0);
}

TEST_CASE("a crash of the server reuses no epoch, and makes a thread due that is left as done after it") {
    const Server server;
    Queue on(server.conninfo());
    const std::vector<WorkOutcome> outcomes = {WorkOutcome::finished, WorkOutcome::cancelled, WorkOutcome::waits,
                                               WorkOutcome::sleeps};
    for (const WorkOutcome outcome : outcomes) {
        const std::string thread = "t" + std::to_string(static_cast<int>(outcome));
        CAPTURE(thread);
        on.submit(thread);
        const Claim claim = on.claimOne();
        on.begin(claim);
        on.submit("of another queue", {}, "other");  // this also syncs everything before it to the disk
        server.down();
        server.up();
        Release left{.wake_at = std::chrono::system_clock::now() + std::chrono::hours(1), .uptime = claim.uptime};
        CHECK(on.release(claim, outcome, left));
        CHECK(on.queue.find(thread).value().epoch == 0);
        const Claim again = on.claimOne();
        CHECK(again.thread_id == thread);
        CHECK(again.epoch > claim.epoch);
        CHECK(again.uptime != claim.uptime);
        // Without another crash of the server the lease is released as requested.
        left.uptime = again.uptime;
        CHECK(on.release(again, outcome, left));
        CHECK(on.queue.find(thread).has_value() == (outcome == WorkOutcome::waits || outcome == WorkOutcome::sleeps));
        CHECK(on.claim().empty());
    }
}
