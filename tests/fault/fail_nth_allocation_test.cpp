// ALSO PLAIN: it fails or counts allocations
#include <functional>

#include <stategraph/testing/fault_saver.hpp>

#include "tests/fault/harness.hpp"
#include "tests/support/failing_new.hpp"
#include "tests/support/graphs.hpp"

// Every allocation of a run fails. Runs use one thread, because allocations of other threads could not be
// distinguished.
using namespace fault;

namespace {

/// Fails `in_a_row` allocations from the nth on, for every `step`th n. Returns how many allocations there are.
std::size_t failEach(sg::Durability durability, std::size_t in_a_row, std::size_t step = 1, bool put_is_slow = false) {
    for (std::size_t n = 1; n < 100'000; n += step) {
        CAPTURE(n);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto given = std::make_shared<sg::testing::FaultSaver>(saver, sg::testing::FaultPlan{}, put_is_slow);
        Disturbed run(given, saver, {.thread_id = "t", .durability = durability, .max_concurrency = 1});
        std::size_t failures = 0;
        bool is_armed = true;
        const auto around = [&](const std::function<void()>& go) {
            if (!is_armed) return go();
            // The first call that reaches the nth allocation fails; the calls after it are not disturbed.
            failing_new::arm(n, in_a_row);
            try {
                go();
            } catch (...) {
                failures += failing_new::disarm();
                throw;
            }
            failures += failing_new::disarm();
        };
        run.drive([&](const std::exception&) { is_armed = false; }, false, around);
        if (failures == 0) return n - 1;
    }
    FAIL("there is no end of allocations");
    return 0;
}

}  // namespace

TEST_CASE("any allocation of a run may fail") {
    Undisturbed::get();
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    for (const auto durability : {sg::Durability::sync, sg::Durability::exit}) {
        const auto number = static_cast<int>(durability);
        CAPTURE(number);
        CHECK(failEach(durability, 1) > 100);
    }
}

TEST_CASE("memory may be short for a while, and for what reports it") {
    Undisturbed::get();
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    for (const std::size_t in_a_row : {2, 5, 20, 1000}) {
        CAPTURE(in_a_row);
        CHECK(failEach(sg::Durability::async, in_a_row, 3) > 100);
    }
}

TEST_CASE("what an executor takes is done, and what it cannot take it refuses, whichever allocation fails") {
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    std::size_t refused = 0;
    for (std::size_t n = 1;; ++n) {
        REQUIRE(n < 100);
        CAPTURE(n);
        graphs::Signal done;
        bool taken = false;
        sg::Executor executor({.threads_max = 1});
        failing_new::arm(n);
        try {
            executor.submit([](void* signal) { static_cast<graphs::Signal*>(signal)->give(); }, &done);
            taken = true;
        } catch (const std::bad_alloc&) {
            ++refused;
        }
        const bool failed = failing_new::disarm() > 0;
        if (taken) CHECK(done.await());
        if (!failed) break;
    }
    CHECK(refused > 0);
}

TEST_CASE("a run whose puts are handed to another thread ends, whichever allocation fails") {
    Undisturbed::get();
    if (!failing_new::available()) {
        MESSAGE("left out: the sanitizer has its own operator new");
        return;
    }
    CHECK(failEach(sg::Durability::async, 1, 3, true) > 100);
}
