#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/savers.hpp"
#include "tests/workflow/refusal.hpp"

// Starts of one run by several callers.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;

namespace {

wf::RunOptions onlyNew(sg::Durability durability = sg::Durability::async) {
    wf::RunOptions options;
    options.only_new = true;
    options.durability = durability;
    return options;
}

const auto inc = wf::step("inc", [](const int& n) { return n + 1; });

}  // namespace

TEST_CASE("a run that is under way is neither started nor travelled by another caller") {
    savers::onEach([](savers::Store& store) {
        std::function<void()> work;
        const auto busy = wf::step("busy", [&](const int& n) {
            if (const auto once = std::exchange(work, {})) once();
            return n;
        });
        const auto saver = store.open();
        const auto make = [&] { return wf::workflow<int>("w").then(inc).then(busy).commit({.checkpointer = saver}); };
        const auto flow = make(), other = make();
        work = [&] {
            CHECK((refusalOf([&] { flow.start("1", 9); }) == wf::Refusal::already_claimed));
            CHECK((refusalOf([&] { other.start("1", 9); }) == wf::Refusal::already_claimed));
            CHECK((refusalOf([&] { sg::syncWait(wf::asyncStart(flow, "1", 9)); }) == wf::Refusal::already_claimed));
            CHECK((refusalOf([&] { flow.timeTravel("1", inc, 9); }) == wf::Refusal::invalid_target));
        };
        CHECK(flow.start("1", 1).result == 2);
        CHECK(flow.get("1").result == 2);
        CHECK(flow.start("1", 5).result == 6);  // it has ended, and begins again
    });
}

TEST_CASE("a start for new runs only is refused for a run that was started before, whatever became of it") {
    savers::onEach([](savers::Store& store) {
        std::atomic<int> executed = 0;
        const auto gate = wf::step("gate", [&](const int& n, wf::Suspending<std::string, int>& context) {
            ++executed;
            return n + context.suspend("how much?");
        });
        const auto make = [&] { return wf::workflow<int>("w").then(gate).commit({.checkpointer = store.open()}); };
        const auto isRefused = [&] {
            return refusalOf([&] { make().start("1", 1, onlyNew()); }) == wf::Refusal::already_claimed &&
                   refusalOf([&] { sg::syncWait(wf::asyncStart(make(), "1", 1, onlyNew())); }) ==
                       wf::Refusal::already_claimed;
        };
        REQUIRE((make().start("1", 1, onlyNew()).status == RunStatus::suspended));
        CHECK(isRefused());
        CHECK(make().resume("1", gate, 1).result == 2);
        CHECK(isRefused());
        make().start("1", 1);
        make().cancel("1");
        CHECK(isRefused());
        CHECK(executed == 3);
    });
}

TEST_CASE("of many starts of a new run at the same time one executes it, and the others are refused") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        const auto saver = std::make_shared<sg::MemorySaver>();
        std::atomic<int> executed = 0, refused = 0, succeeded = 0;
        const auto counts = wf::step("counts", [&](const int& n) {
            ++executed;
            return n;
        });
        constexpr int callers = 8;
        std::barrier begin(callers);
        std::vector<std::jthread> threads;
        for (int i = 0; i < callers; ++i) {
            threads.emplace_back([&] {
                const auto flow = wf::workflow<int>("w").then(counts).commit({.checkpointer = saver});
                begin.arrive_and_wait();
                const auto why = refusalOf([&] { flow.start("1", 1, onlyNew(durability)); });
                ++(why ? refused : succeeded);
            });
        }
        threads.clear();
        CHECK(executed == 1);
        CHECK(succeeded == 1);
        CHECK(refused == callers - 1);
    }
}

TEST_CASE("a start that finds its run begun meanwhile is refused, or begins it again as a whole") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        for (const bool only_new : {true, false}) {
            for (const bool awaits : {true, false}) {
                CAPTURE(static_cast<int>(durability));
                CAPTURE(only_new);
                CAPTURE(awaits);
                const auto saver = std::make_shared<sg::MemorySaver>();
                std::function<void()> meanwhile;
                wf::Definition definition{.id = "w", .entries = {{.steps = {inc.step}}}};
                definition.input = [&](sg::Value value) {  // called when the run has been found to be new
                    if (const auto once = std::exchange(meanwhile, {})) once();
                    return value;
                };
                const wf::Flow flow(definition, {.checkpointer = saver}), other(definition, {.checkpointer = saver});
                meanwhile = [&] { CHECK(other.start("1", sg::Value(1)).result == sg::Value(2)); };
                wf::RunOptions options = onlyNew(durability);
                options.only_new = only_new;
                const auto start = [&] {
                    return awaits ? sg::syncWait(wf::asyncStart(flow, "1", sg::Value(5), options))
                                  : flow.start("1", sg::Value(5), options);
                };
                if (!only_new && durability == sg::Durability::exit) {
                    const auto view = start();
                    CHECK(view.result == sg::Value(6));
                    CHECK(view.input == sg::Value(5));
                } else {
                    CHECK((refusalOf(start) == wf::Refusal::already_claimed));
                    CHECK(flow.get("1").result == sg::Value(2));
                }
            }
        }
    }
}

TEST_CASE("a new run whose input is refused can still be started as a new one") {
    wf::Definition definition{.id = "w", .entries = {{.steps = {inc.step}}}};
    definition.input = [](sg::Value value) {
        (void)value.as<int>();
        return value;
    };
    const wf::Flow flow(definition, {.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK((refusalOf([&] { flow.start("1", sg::Value("text"), onlyNew()); }) == wf::Refusal::invalid_input));
    CHECK(flow.start("1", sg::Value(1), onlyNew()).result == sg::Value(2));
}
