#include "tests/fault/harness.hpp"
#include "tests/support/failing_new.hpp"

// Every allocation of a run fails. On one thread: what allocates on others cannot be told apart there.
using namespace fault;

namespace {

/// Fails `in_a_row` allocations from the nth on, for each n there is up to `end`; returns how many there are.
std::size_t failEach(sg::Durability durability, std::size_t in_a_row, std::size_t step = 1) {
    for (std::size_t n = 1; n < 100'000; n += step) {
        CAPTURE(n);
        const auto saver = std::make_shared<sg::MemorySaver>();
        Disturbed run(saver, saver, {.thread_id = "t", .durability = durability, .max_concurrency = 1});
        std::size_t failures = 0;
        bool is_armed = true;
        const auto around = [&](const std::function<void()>& go) {
            if (!is_armed) return go();
            // The first call that gets as far as the nth allocation has it fail; those after it are left alone.
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
