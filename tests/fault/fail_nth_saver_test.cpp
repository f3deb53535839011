// SECONDS: 90
// ALSO PLAIN: each call that fails
#include <stategraph/testing/fault_saver.hpp>

#include "tests/fault/harness.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"

// Every call of a saver fails once, and all calls from each one on fail: before they have had an effect, and after.
using namespace fault;
using sg::testing::FaultPlan;
using sg::testing::FaultSaver;
using sg::testing::SaverCalls;

namespace {

struct Way {
    sg::Durability durability;
    bool put_is_slow;
    int concurrency;
};
constexpr Way ways[] = {{sg::Durability::sync, false, 1},  {sg::Durability::sync, false, 4},
                        {sg::Durability::async, false, 1}, {sg::Durability::async, true, 1},
                        {sg::Durability::async, true, 4},  {sg::Durability::exit, false, 1},
                        {sg::Durability::exit, true, 4}};

/// Fails the nth call for each n; with sanitizers for other ones each time. Returns how many calls there are, or a few
/// more.
std::size_t failEach(FaultPlan plan, const Way& way, const drivers::Driver& driver = drivers::blocking()) {
    static std::size_t turn = 0;
    for (std::size_t n = 1 + (sanitized::turn() + turn++) % sanitized::one_of; n < 1000; n += sanitized::one_of) {
        CAPTURE(n);
        plan.fail_at = n;
        const auto inner = std::make_shared<sg::MemorySaver>();
        const auto saver = std::make_shared<FaultSaver>(inner, plan, way.put_is_slow);
        Disturbed run(saver, inner,
                      {.thread_id = "t", .durability = way.durability, .max_concurrency = way.concurrency}, driver);
        std::size_t told = 0;
        run.drive([&](const std::exception& error) {
            ++told;
            CHECK(std::string(error.what()).find("injected failure of call") != std::string::npos);
            CHECK(dynamic_cast<const sg::Error*>(&error) != nullptr);
            saver->disarm();
        });
        if (saver->failures() == 0) return n - 1;
        CHECK(told > 0);
    }
    FAIL("there is no end of calls");
    return 0;
}

void failEachWay(SaverCalls calls, bool once, bool after_effect, std::size_t at_least) {
    for (const Way& way : ways) {
        const auto durability = static_cast<int>(way.durability);
        CAPTURE(durability);
        CAPTURE(way.put_is_slow);
        CAPTURE(way.concurrency);
        const std::size_t count = failEach({.once = once, .after_effect = after_effect, .calls = calls}, way);
        CHECK(count >= (way.durability == sg::Durability::exit ? 2 : at_least));
    }
}

/// Does the same for all other drivers, each in one of the ways and with one kind of failure.
void failEachDriver(SaverCalls calls, bool once, std::size_t at_least) {
    std::size_t number = 0;
    for (const drivers::Driver& driver : drivers::affordable()) {
        CAPTURE(driver.name);
        const Way& way = ways[++number % std::size(ways)];
        const auto durability = static_cast<int>(way.durability);
        CAPTURE(durability);
        const std::size_t count =
            failEach({.once = once, .after_effect = number % 2 == 0, .calls = calls}, way, driver);
        CHECK(count >= (way.durability == sg::Durability::exit ? 2 : at_least));
    }
}

}  // namespace

TEST_CASE("any put of any driver's run may fail, once") { failEachDriver(SaverCalls::put, true, 20); }
TEST_CASE("a saver may stop working altogether under any driver's run") { failEachDriver(SaverCalls::all, false, 20); }
TEST_CASE("any put may fail before it stores anything, once") { failEachWay(SaverCalls::put, true, false, 20); }
TEST_CASE("any put may store and then fail, once") { failEachWay(SaverCalls::put, true, true, 20); }
TEST_CASE("storing may stop working at any put") { failEachWay(SaverCalls::put, false, false, 20); }
TEST_CASE("from any put on each may store and then fail") { failEachWay(SaverCalls::put, false, true, 20); }
TEST_CASE("any read of a run may fail, once and from then on") {
    failEachWay(SaverCalls::get_tuple, true, false, 2);
    failEachWay(SaverCalls::get_tuple, false, true, 2);
}
TEST_CASE("a saver may stop working altogether at any call") { failEachWay(SaverCalls::all, false, false, 20); }

TEST_CASE("what fails may be anything that can be thrown") {
    struct Odd {};
    for (std::size_t n = 1; n <= 4; ++n) {
        const auto inner = std::make_shared<sg::MemorySaver>();
        const auto saver = std::make_shared<FaultSaver>(inner, FaultPlan{.fail_at = n, .raise = [] { throw Odd(); }});
        Runs runs;
        const App app = faultGraph(runs, saver);
        CHECK_THROWS_AS(app.invoke(theInput(), {.thread_id = "t", .max_concurrency = 1}), Odd);
        saver->disarm();
        CHECK_NOTHROW(app.getState(T));
    }
}

TEST_CASE("every call for reading, editing and removing passes a failure on, and works when it is called again") {
    savers::onEach([](savers::Store& store) {
        const auto inner = store.open();
        const auto saver = std::make_shared<FaultSaver>(inner);
        Runs runs;
        const App app = faultGraph(runs, saver);
        app.invoke(theInput(), {.thread_id = "t", .max_concurrency = 1});
        const auto before = storedValues(*inner);
        const auto failEachCall = [&](const char* what, auto call) {
            INFO(std::string(what));
            std::size_t n = 1;
            for (; n < 100; ++n) {
                saver->arm({.fail_at = n});
                try {
                    call();
                } catch (const sg::SaverError& error) {
                    CHECK(std::string(error.what()).find("injected failure of call " + std::to_string(n)) !=
                          std::string::npos);
                    CHECK(storedValues(*inner) == before);
                    continue;
                }
                break;
            }
            CHECK(n > 1);
            CHECK(n < 100);
            CHECK(saver->failures() == 0);
        };
        failEachCall("getState", [&] { app.getState(T, {.subgraphs = true}); });
        failEachCall("history", [&] {
            for (const auto& snapshot : app.getStateHistory(T)) (void)snapshot;
        });
        failEachCall("history without values", [&] {
            for (const auto& snapshot : app.getStateHistory(T, {.values = false})) (void)snapshot;
        });
        failEachCall("copyThread", [&] { saver->copyThread("t", "copy"); });
        failEachCall("prune", [&] { saver->prune({.thread_id = "copy", .keep_last = 1}); });
        failEachCall("deleteThread", [&] { saver->deleteThread("copy"); });
        failEachCall("updateState", [&] { app.updateState(T, {sg::add(&State::sum, 5)}, {.as_node = "last"}); });
        saver->disarm();
        // The edit replaces last; what calm had finished is part of it, and ask never got an answer.
        CHECK(app.getState(T).values.sum == Undisturbed::get().final.sum - 5 - 9 + 5);
    });
}

TEST_CASE("a fault saver says of itself what the saver in it says, unless it overrides that") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    CHECK_FALSE(FaultSaver(inner).putIsSlow());
    CHECK(FaultSaver(inner, {}, true).putIsSlow());
    FaultSaver saver(inner);
    CHECK(saver.storedBytes() == inner->storedBytes());
    CHECK(saver.inner() == inner);
    CHECK_THROWS_AS(FaultSaver(nullptr), sg::InvalidArgumentError);
    saver.arm({.fail_at = 2, .once = false, .calls = SaverCalls::prune | SaverCalls::list});
    CHECK_NOTHROW(saver.list({}));
    CHECK_NOTHROW(saver.getTuple({.log = {"t"}}));
    CHECK_THROWS_AS(saver.list({}), sg::SaverError);
    CHECK_THROWS_AS(saver.prune({.keep_last = 1}), sg::SaverError);
    CHECK(saver.calls() == 3);
    CHECK(saver.failures() == 2);
}
