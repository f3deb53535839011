#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/run/counted.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/later_saver.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/savers.hpp"

// Runs that are to begin a new thread (RunConfig::only_new).
using namespace counted;

namespace {

/// Everything that is stored of the thread, as text.
std::string rowsOf(sg::BaseCheckpointSaver& saver) {
    std::string all;
    sg::ListQuery query;
    query.thread_ids = {"t"};
    query.with_writes = true;
    for (const auto& row : saver.list(query)) {
        all += row.id.toString() + std::string(std::string_view(row.bytes));
        for (const auto& write : row.writes) all += write.path + std::string(std::string_view(write.bytes));
    }
    return all;
}

constexpr sg::Durability durabilities[] = {sg::Durability::sync, sg::Durability::async, sg::Durability::exit};

}  // namespace

TEST_CASE("a run for new threads only begins a new thread, and is refused on one that was begun; nothing changes") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        for (const auto durability : durabilities) {
            Counted counted;
            const auto saver = std::make_shared<sg::MemorySaver>();
            const App app = counted.app(saver);
            const sg::RunConfig config{.thread_id = "t", .durability = durability, .only_new = true};
            const auto first = driver.run(app, foo("asks"), config);
            REQUIRE(first.what() == "");
            REQUIRE((first.status == sg::Status::interrupted));
            const std::string before = rowsOf(*saver);

            const auto second = driver.run(app, foo("2"), config);
            const auto* const error = second.as<sg::ThreadExistsError>();
            REQUIRE(error != nullptr);
            CHECK(error->context().thread_id == "t");
            CHECK(second.events.empty());
            CHECK(driver.run(app, sg::Command<State>{.go_to = {"count"}}, config).as<sg::ThreadExistsError>() !=
                  nullptr);
            CHECK(rowsOf(*saver) == before);
            CHECK(counted.counts == 1);

            const auto answered = driver.run(app, sg::resume("yes"), config);  // it continues the thread
            CHECK(answered.what() == "");
            CHECK(answered.values.bar == Strings{"count:asks", "yes"});
            CHECK(driver.run(app, foo("3"), config).as<sg::ThreadExistsError>() != nullptr);
            CHECK(driver.run(app, sg::RESUME, config).what() == "");
            CHECK(driver.run(app, foo("4"), {.thread_id = "t"}).what() == "");
            CHECK(counted.counts == 2);
        }
    }
}

TEST_CASE("of many runs that begin the same thread at the same time one executes it, and the others are refused") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto saver = store.open();
        int round = 0;
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            for (const auto durability : durabilities) {
                Counted counted;
                const App app = counted.app(saver);
                const sg::RunConfig config{
                    .thread_id = std::to_string(++round), .durability = durability, .only_new = true};
                constexpr int callers = 4;
                std::atomic<int> refused = 0, done = 0;
                std::barrier begin(callers);
                std::vector<std::jthread> threads;
                for (int i = 0; i < callers; ++i) {
                    threads.emplace_back([&] {
                        begin.arrive_and_wait();
                        const auto outcome = driver.run(app, foo("1"), config);
                        if (!outcome.failed()) ++done;
                        if (outcome.as<sg::ConcurrentUpdateError>() != nullptr) ++refused;
                    });
                }
                threads.clear();
                CHECK(done == 1);
                CHECK(refused == callers - 1);
                CHECK(counted.counts == 1);
            }
        }
    });
}

TEST_CASE("of two programs that begin the same thread one is refused where it stores its input, and calls no node") {
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        for (const auto durability : durabilities) {
            // The other program begins the thread after this one has read that it is new.
            const auto shared = std::make_shared<RecordingSaver>();
            Counted mine, other;
            const App app = mine.app(std::make_shared<LaterSaver>(shared));
            shared->before_put = [&](std::size_t number) {
                if (number == 0)
                    other.app(std::make_shared<LaterSaver>(shared)).invoke(foo("other"), {.thread_id = "t"});
            };
            const auto outcome =
                driver.run(app, foo("mine"), {.thread_id = "t", .durability = durability, .only_new = true});
            CHECK(outcome.as<sg::ConcurrentUpdateError>() != nullptr);
            CHECK(mine.counts == 0);
            CHECK(other.counts == 1);
            CHECK(app.getState({.thread_id = "t"}).values.foo == "other");
        }
    }
}

TEST_CASE("a run for new threads only names no checkpoint, and does not replace the run under way") {
    Counted counted;
    const App app = counted.app(std::make_shared<sg::MemorySaver>());
    const auto first = app.invoke(foo("1"), {.thread_id = "t", .only_new = true});
    CHECK_THROWS_AS(
        app.invoke(foo("2"), {.thread_id = "t", .checkpoint_id = first.config.checkpoint_id, .only_new = true}),
        sg::ThreadExistsError);
    CHECK_THROWS_WITH_AS(app.invoke(foo("2"), {.thread_id = "new", .only_new = true, .on_busy = sg::OnBusy::replace}),
                         doctest::Contains("only_new"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(app.submit(foo("2"), {.thread_id = "t", .only_new = true}), sg::ThreadExistsError);
    app.submit(foo("2"), {.thread_id = "new", .only_new = true});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "new"}).values.bar == Strings{"count:2", "ask"});
    CHECK(counted.app(nullptr).invoke(foo("3"), {.only_new = true}).values.bar == Strings{"count:3", "ask"});
}

TEST_CASE("a thread that was deleted is a new one, also where threads stay in memory") {
    for (const std::size_t warm_threads : {0, 10}) {
        CAPTURE(warm_threads);
        Counted counted;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = counted.app(saver, warm_threads);
        const sg::RunConfig config{.thread_id = "t", .only_new = true};
        app.invoke(foo("1"), config);
        CHECK_THROWS_AS(app.invoke(foo("1"), config), sg::ThreadExistsError);
        saver->deleteThread("t");
        CHECK(app.invoke(foo("2"), config).values.bar == Strings{"count:2", "ask"});
    }
}
