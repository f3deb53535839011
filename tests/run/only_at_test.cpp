#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "tests/run/counted.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/later_saver.hpp"
#include "tests/support/meanwhile.hpp"
#include "tests/support/savers.hpp"

// Runs and edits of a thread that must be as the caller has read it (only_at, and only_new of an edit).
using namespace counted;

TEST_CASE("a run that must be at a checkpoint runs there, and is refused when the thread has continued") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        for (const std::size_t warm_threads : {0, 10}) {
            Counted counted{.always_asks = true};
            const App app = counted.app(std::make_shared<sg::MemorySaver>(), warm_threads);
            const auto first = driver.run(app, foo("1"), {.thread_id = "t"});
            REQUIRE((first.status == sg::Status::interrupted));
            const sg::CheckpointId at = app.getState({.thread_id = "t"}).config.checkpoint_id;
            const sg::RunConfig config{.thread_id = "t", .only_at = at};
            CHECK(counted.all() == 2);
            const auto again = driver.run(app, sg::RESUME, config);  // it asks again, at the same checkpoint
            CHECK((again.status == sg::Status::interrupted));
            CHECK(counted.all() == 3);
            CHECK(driver.run(app, sg::resume("yes"), config).what() == "");
            CHECK(counted.all() == 4);

            const auto late = driver.run(app, sg::RESUME, config);
            const auto* const error = late.as<sg::ThreadChangedError>();
            REQUIRE(error != nullptr);
            CHECK(error->context().thread_id == "t");
            CHECK(driver.run(app, foo("2"), config).as<sg::ThreadChangedError>() != nullptr);
            CHECK(driver.run(app, sg::resume("no"), config).as<sg::ThreadChangedError>() != nullptr);
            const sg::Command<State> jump{.go_to = {"count"}};
            CHECK(driver.run(app, jump, config).as<sg::ThreadChangedError>() != nullptr);
            CHECK(counted.all() == 4);
            CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"count:1", "yes"});
        }
    }
}

TEST_CASE("a run that must be at a checkpoint is refused on a thread that was deleted, and on a new one") {
    Counted counted{.always_asks = true};
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = counted.app(saver);
    const auto at = app.invoke(foo("1"), {.thread_id = "t"}).config.checkpoint_id;
    saver->deleteThread("t");
    CHECK_THROWS_WITH_AS(app.invoke(foo("2"), {.thread_id = "t", .only_at = at}), doctest::Contains("was deleted"),
                         sg::ThreadChangedError);
    CHECK_FALSE(app.getState({.thread_id = "t"}).config.checkpoint_id);
}

TEST_CASE("a run that must be at a checkpoint names no other one, and needs a saver") {
    Counted counted{.always_asks = true};
    const App app = counted.app(std::make_shared<sg::MemorySaver>());
    const auto at = app.invoke(foo("1"), {.thread_id = "t"}).config.checkpoint_id;
    CHECK_THROWS_WITH_AS(app.invoke(sg::RESUME, {.thread_id = "t", .checkpoint_id = at, .only_at = at}),
                         doctest::Contains("only_at"), sg::InvalidArgumentError);
    CHECK_THROWS_AS(app.updateState({.thread_id = "t", .checkpoint_id = at}, foo("x"), {.only_at = at}),
                    sg::InvalidArgumentError);
    CHECK_THROWS_AS(counted.app(nullptr).invoke(foo("1"), {.only_at = at}), sg::MissingCheckpointerError);
}

TEST_CASE("an edit of what was read is refused if another process has stored something since") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto saver = store.open();
        Counted counted{.always_asks = true};
        const App app = counted.app(saver), other = counted.app(std::make_shared<Door>(saver));
        app.invoke(foo("1"), {.thread_id = "t"});
        const auto read = app.getState({.thread_id = "t"});
        const sg::UpdateOptions as_read{.as_node = "ask", .only_at = read.config.checkpoint_id};
        CHECK(other.invoke(sg::resume("yes"), {.thread_id = "t"}).values.bar == Strings{"count:1", "yes"});
        CHECK_THROWS_AS(app.updateState({.thread_id = "t"}, bar("edited"), as_read), sg::ThreadChangedError);
        CHECK_THROWS_AS(app.updateState({.thread_id = "t"}, bar("edited"), {.as_node = "ask", .only_new = true}),
                        sg::ThreadExistsError);
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"count:1", "yes"});

        const auto now = app.getState({.thread_id = "t"}).config.checkpoint_id;
        const std::vector<std::vector<sg::StateUpdate<State>>> two{{{.values = bar("a"), .as_node = "count"}},
                                                                   {{.values = bar("b"), .as_node = "ask"}}};
        app.bulkUpdateState({.thread_id = "t"}, two, {.only_at = now});
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"count:1", "yes", "a", "b"});
        app.updateState({.thread_id = "new"}, bar("edited"), {.as_node = "ask", .only_new = true});
        CHECK(app.getState({.thread_id = "new"}).values.bar == Strings{"edited"});
    });
}

TEST_CASE("of an edit and a run of another process that both begin with what was read, one is refused") {
    const auto store = std::make_shared<sg::MemorySaver>();
    const auto through = std::make_shared<Meanwhile>(store);
    Counted counted{.always_asks = true};
    const App app = counted.app(through), other = counted.app(std::make_shared<Door>(store));
    app.invoke(foo("1"), {.thread_id = "t"});
    const auto at = app.getState({.thread_id = "t"}).config.checkpoint_id;
    through->before_put = [&] { other.invoke(sg::resume("yes"), {.thread_id = "t"}); };
    CHECK_THROWS_AS(app.updateState({.thread_id = "t"}, bar("edited"), {.as_node = "ask", .only_at = at}),
                    sg::ConcurrentUpdateError);
    CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"count:1", "yes"});
}
