// SECONDS: 70
// NOT WITH: sanitize=thread
// ALSO PLAIN: with a sanitizer it tries a fifth of the schedules
// Schedules of workers, clients and faults on a virtual clock, each made of a seed: in all of them, every log is one
// chain, each acknowledged input is in it once, no commit is made under an old epoch, and all is done in the end.
//
// STATEGRAPH_SCHEDULES says how many, STATEGRAPH_SEED with which one they begin, and STATEGRAPH_TRACE has them print
// what happens.
#include <cstdlib>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/support/sanitized.hpp"
#include "tests/worker/simulation/schedule.hpp"

namespace {

using simulation::Broken;
using simulation::FiberPool;
using simulation::Outcome;
using simulation::Schedule;

std::uint64_t given(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// What the first of some schedules finds that finds something, on a server with a fault of its own.
std::string foundOn(const Broken& broken) {
    constexpr std::uint64_t most = 10'000;
    FiberPool pool;
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
        const Outcome one = Schedule(seed, broken, pool).run();
        if (one.wrong.empty()) continue;
        MESSAGE("seed " << seed << ": " << one.wrong);
        return one.wrong;
    }
    return "nothing";
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("whatever fails under workers, each log is one chain with each acknowledged input once, and all gets done") {
    constexpr std::uint64_t in_tests = STATEGRAPH_TEST_NIGHTLY ? 10'000 : sanitized::some(200);
    const std::uint64_t first = given("STATEGRAPH_SEED", 1 + sanitized::turn() * in_tests);
    const std::uint64_t count = given("STATEGRAPH_SCHEDULES", in_tests);
    const bool is_told = std::getenv("STATEGRAPH_TRACE") != nullptr;
    // On two threads, of which each runs every second schedule.
    Outcome all[2];
    const auto run = [&](std::uint64_t place) {
        FiberPool pool;
        for (std::uint64_t i = place; i < count && all[place].wrong.empty(); i += 2) {
            const Outcome one = Schedule(first + i, {}, pool, is_told).run();
            if (!one.wrong.empty())
                all[place].wrong = "STATEGRAPH_SEED=" + std::to_string(first + i) + ": " + one.wrong;
            all[place].add(one);
        }
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
    for (const Outcome& each : all) CHECK(each.wrong == "");
    all[0].add(all[1]);
    const Outcome& sum = all[0];
    MESSAGE(count << " schedules: " << sum.events << " events, " << sum.finished << " runs, " << sum.leases_lost
                  << " leases lost, " << sum.set_aside << " threads set aside, " << sum.lost_writes
                  << " writes lost by crashes");
    if (count < 1000) return;
    CHECK(sum.finished > count);
    CHECK(sum.leases_lost > 0);
    CHECK(sum.set_aside > 0);
    CHECK(sum.lost_writes > 0);
}

TEST_CASE("a seed decides all that happens: the same statements reach the server at the same times") {
    const std::uint64_t count = sanitized::some(20);
    for (std::uint64_t seed = 1 + sanitized::turn() * count; seed <= (sanitized::turn() + 1) * count; ++seed) {
        FiberPool one_pool;
        const Outcome one = Schedule(seed, {}, one_pool).run();
        FiberPool pool;
        const Outcome again = Schedule(seed, {}, pool).run();
        const Outcome third = Schedule(seed, {}, pool).run();  // on threads that were used before
        CAPTURE(seed);
        CHECK(one.hash == again.hash);
        CHECK(one.events == again.events);
        CHECK((one.took == again.took));
        CHECK(one.hash == third.hash);
    }
}

TEST_CASE("a server that stores under an old epoch is found") {
    const std::string found = foundOn({.ignores_epochs = true});
    CHECK(has(found, "and its newest claim has"));
}

TEST_CASE("a server that neither compares epochs nor heads is found") {
    CHECK(has(foundOn({.ignores_epochs = true, .ignores_heads = true}), "branches"));
}

TEST_CASE("a server that takes an input later than it stores its commit is found") {
    CHECK(has(foundOn({.takes_late = true}), "is in the log of thread"));
}

TEST_CASE("a server that forgets the keys of inputs is found") {
    const std::string found = foundOn({.ignores_keys = true});
    CHECK(has(found, "is in the log of thread"));
    CHECK(has(found, "twice"));
}

TEST_CASE("a server on which a lease that ran out is never due is found") {
    CHECK(has(foundOn({.forgets_leases = true}), "never due"));
}

TEST_CASE("a server that takes a crash for none, and so believes what was said of lost commits, is found") {
    CHECK(foundOn({.forgets_crashes = true}) != "nothing");
}

TEST_CASE("a server that does not make a thread due when it is answered is found") {
    CHECK(has(foundOn({.loses_wakes = true}), "it is not done after"));
}
