// SECONDS: 30
// ALSO PLAIN: each call that fails
#include "tests/fault/harness.hpp"
#include "tests/support/sanitized.hpp"

// Every call of a user's code fails: of nodes, routers, reducers and codecs.
using namespace fault;

namespace {

struct Way {
    sg::Durability durability;
    int concurrency;
};
constexpr Way ways[] = {{sg::Durability::sync, 1},
                        {sg::Durability::async, 1},
                        {sg::Durability::async, 4},
                        {sg::Durability::exit, 1},
                        {sg::Durability::exit, 4}};

enum class Kept : bool { not_surely, all_but_one };

/// Fails the nth call for each n; with sanitizers for other ones each time. Returns how many calls there are, or a few
/// more.
std::size_t failEach(Trip& trip, bool once, const Way& way, Kept kept,
                     const drivers::Driver& driver = drivers::blocking()) {
    static std::size_t turn = 0;
    for (std::size_t n = 1 + (sanitized::turn() + turn++) % sanitized::one_of; n < 1000; n += sanitized::one_of) {
        CAPTURE(n);
        const auto saver = std::make_shared<sg::MemorySaver>();
        Disturbed run(saver, saver,
                      {.thread_id = "t", .durability = way.durability, .max_concurrency = way.concurrency}, driver);
        trip.arm(n, once);
        std::size_t told = 0;
        run.drive(
            [&](const std::exception& error) {
                ++told;
                CHECK(std::string(error.what()).find("injected failure of ") != std::string::npos);
                trip.disarm();
            },
            once && kept == Kept::all_but_one);
        const bool failed = trip.failures() > 0;
        trip.disarm();
        if (!failed) return n - 1;
        // A paused run shows what its finished tasks wrote. If a reducer fails while doing so, it shows what is stored.
        if (&trip != &reducers) CHECK(told > 0);
    }
    FAIL("there is no end of calls");
    return 0;
}

void failEachWay(Trip& trip, std::size_t at_least, Kept kept) {
    for (const bool once : {true, false}) {
        for (const Way& way : ways) {
            const auto durability = static_cast<int>(way.durability);
            CAPTURE(once);
            CAPTURE(durability);
            CAPTURE(way.concurrency);
            CHECK(failEach(trip, once, way, kept) >= at_least);
        }
    }
}

}  // namespace

TEST_CASE("any call of users' code may fail, in every driver") {
    struct Code {
        Trip& trip;
        Kept kept;
    };
    const Code all[] = {{nodes, Kept::all_but_one},
                        {routers, Kept::all_but_one},
                        {reducers, Kept::not_surely},
                        {encoders, Kept::not_surely},
                        {decoders, Kept::not_surely}};
    std::size_t number = 0;
    for (const drivers::Driver& driver : drivers::affordable()) {
        CAPTURE(driver.name);
        ++number;
        for (const std::size_t which : {number % std::size(all), (number + 2) % std::size(all)}) {
            CAPTURE(which);
            CHECK(failEach(all[which].trip, number % 2 == 0, ways[number % std::size(ways)], all[which].kept, driver) >=
                  1);
        }
    }
}

TEST_CASE("any call of any node may fail") { failEachWay(nodes, 16, Kept::all_but_one); }
TEST_CASE("any call of any router may fail") { failEachWay(routers, 3, Kept::all_but_one); }
TEST_CASE("any call of a reducer may fail") { failEachWay(reducers, 14, Kept::not_surely); }
TEST_CASE("any encoding of a user's type may fail") { failEachWay(encoders, 3, Kept::not_surely); }
TEST_CASE("any decoding of a user's type may fail") { failEachWay(decoders, 1, Kept::not_surely); }
