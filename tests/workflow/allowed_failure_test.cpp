#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>
#include <stategraph/workflow/from_json.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/savers.hpp"

// Parallel blocks whose members may fail.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using sg::Value;
using wf::RunStatus;
using wf::StepStatus;

namespace {

const auto works = wf::step("works", [](const int& n) { return n + 1; });
const auto fails = wf::step("fails", [](const int&) -> int { throw std::runtime_error("no connection"); });
const auto asks = wf::step(
    "asks", [](const int& n, wf::Suspending<std::string, int>& context) { return n + context.suspend("how much?"); });
const auto count = wf::step("count", [](const std::tuple<std::optional<int>, std::optional<int>>& both) {
    return (std::get<0>(both) ? 1 : 0) + (std::get<1>(both) ? 1 : 0);
});

}  // namespace

TEST_CASE("a member that is allowed to fail has no output, and the run continues") {
    savers::onEach([](savers::Store& store) {
        const auto flow = wf::workflow<int>("w")
                              .parallel(wf::allow_failure, works, fails)
                              .then(count)
                              .commit({.checkpointer = store.open()});
        for (const bool is_awaited : {false, true}) {
            CAPTURE(is_awaited);
            const std::string id = is_awaited ? "awaited" : "blocking";
            const auto run = is_awaited ? sg::syncWait(wf::asyncStart(flow, id, 1)) : flow.start(id, 1);
            CHECK((run.status == RunStatus::success));
            CHECK(run.result == 1);
            CHECK((run.view.steps.at("fails").status == StepStatus::failed));
            CHECK(run.view.steps.at("fails").error == "no connection");
            CHECK(run.error.empty());
        }
    });
    const auto none =
        wf::workflow<int>("w").parallel(wf::allow_failure, fails, wf::clone(fails, "too")).then(count).commit();
    CHECK(none.start("1", 1).result == 0);
}

TEST_CASE("a question of another member takes precedence over an allowed failure, and a bail over both") {
    savers::onEach([](savers::Store& store) {
        std::atomic<int> failed = 0;
        const auto failing = wf::step("fails", [&](const int&) -> int {
            ++failed;
            throw std::runtime_error("no connection");
        });
        const auto make = [&] {
            return wf::workflow<int>("w")
                .parallel(wf::allow_failure, asks, failing)
                .then(count)
                .commit({.checkpointer = store.open()});
        };
        REQUIRE((make().start("1", 1).status == RunStatus::suspended));
        const auto run = make().resume("1", asks, 5);
        CHECK(run.result == 1);
        CHECK(failed == 1);  // it is not executed again

        const auto bails = wf::step("bails", [](const int& n, wf::Context& context) {
            context.bail(std::string("enough"));
            return n;
        });
        const auto bailed = wf::workflow<int>("b")
                                .parallel(wf::allow_failure, failing, bails)
                                .then(count)
                                .commit({.checkpointer = store.open()})
                                .start("1", 1);
        CHECK((bailed.status == RunStatus::success));
        CHECK(bailed.view.result == Value("enough"));
    });
}

TEST_CASE("an allowed failure uses up its attempts first, and a cancel ends the run after the block") {
    std::atomic<int> attempts = 0;
    const auto failing = wf::step("fails",
                                  [&](const int&) -> int {
                                      ++attempts;
                                      throw std::runtime_error("no connection");
                                  },
                                  {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = {}}});
    const auto flow = wf::workflow<int>("w").parallel(wf::allow_failure, works, failing).then(count).commit();
    CHECK(flow.start("1", 1).result == 1);
    CHECK(attempts == 3);
    const auto cancels = wf::step("cancels", [](const int& n, wf::Context& context) {
        context.cancel();
        return n;
    });
    const auto canceled =
        wf::workflow<int>("w").parallel(wf::allow_failure, cancels, fails).then(count).commit().start("1", 1);
    CHECK((canceled.status == RunStatus::canceled));
}

TEST_CASE("a permanent failure that is allowed does not make another failure of the same workflow permanent") {
    std::atomic<int> attempts = 0;
    const auto permanent = wf::step("permanent", [](const int&) -> int { throw wf::PermanentError("never"); });
    const auto last = wf::step("last", [&](const std::tuple<std::optional<int>, std::optional<int>>&) {
        if (++attempts < 3) throw std::runtime_error("not yet");
        return 1;
    });
    const auto inner = wf::workflow<int>("inner").parallel(wf::allow_failure, works, permanent).then(last).commit();
    const auto tried = wf::step("inner", inner, {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = {}}});
    CHECK(wf::workflow<int>("w").then(tried).commit().start("1", 1).result == 1);
    CHECK(attempts == 3);
}

TEST_CASE("a workflow from JSON allows members to fail, and names what is wrong with it") {
    wf::Functions functions;
    functions.steps["works"] = works.step.execute;
    functions.steps["fails"] = fails.step.execute;
    const auto load = [&](const std::string& entry) {
        return wf::fromJson(R"({"id": "w", "steps": {"works": {}, "fails": {}}, "entries": [)" + entry + "]}",
                            functions);
    };
    const wf::Flow flow(load(R"({"parallel": ["works", "fails"], "allowFailure": true})"),
                        {.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto run = flow.start("1", Value(1));
    CHECK((run.status == RunStatus::success));
    CHECK(run.result == Value(wf::Values{{"fails", Value()}, {"works", Value(2)}}));
    CHECK(flow.snapshot("1").find(R"("opts":{"allowFailure":true})") != std::string::npos);
    const wf::Flow strict(load(R"({"parallel": ["works", "fails"], "allowFailure": false})"));
    CHECK((strict.start("1", Value(1)).status == RunStatus::failed));

    const auto faultOf = [&](const std::string& entry) -> std::string {
        try {
            (void)load(entry);
        } catch (const sg::InvalidGraphError& error) {
            return error.what();
        }
        return {};
    };
    CHECK(faultOf(R"({"parallel": ["works"], "allowFailure": 1})").find("allowFailure: it must be true or false") !=
          std::string::npos);
    CHECK(faultOf(R"({"then": "works", "allowFailure": true})").find("unknown member 'allowFailure'") !=
          std::string::npos);
}

TEST_CASE("only the members of a parallel may fail, and a definition that says otherwise is refused") {
    wf::Definition definition{.id = "w", .entries = {{.steps = {works.step}, .allows_failure = true}}};
    CHECK_THROWS_WITH_AS(wf::Flow{definition}, doctest::Contains("only the members of a parallel may fail"),
                         sg::InvalidGraphError);
}
