#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"
#include "tests/workflow/refusal.hpp"

// Steps that ask several questions, and answers that could be for several of them.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using graphs::Strings;
using sg::Value;
using wf::RunStatus;

namespace {

using Asks = wf::Suspending<std::string, std::string>;

Strings openIn(const wf::RunView& run) {
    Strings questions;
    for (const wf::QuestionView& each : run.questions) questions.push_back(each.payload.as<std::string>());
    return questions;
}

/// Asks the manager, and then the legal department.
const auto askBoth = [](const int& n, Asks& context) {
    const std::string manager = context.suspend("manager: " + std::to_string(n) + "?");
    const std::string legal = context.suspend("legal: " + std::to_string(n) + "?");
    return manager + "+" + legal;
};
const auto awaitBoth = [](const int& n, Asks& context) -> sg::Task<std::string> {
    const std::string manager = context.suspend("manager: " + std::to_string(n) + "?");
    co_await sg::sleepFor(std::chrono::milliseconds(1));
    const std::string legal = context.suspend("legal: " + std::to_string(n) + "?");
    co_return manager + "+" + legal;
};

wf::Workflow<int, std::string> workflowOf(std::function<std::string(const int&, Asks&)> asks,
                                          const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    const auto step = wf::step("pay", [asks = std::move(asks)](const int& n, Asks& c) { return asks(n, c); });
    return wf::workflow<int>("payments").then(step).commit({.checkpointer = saver});
}

}  // namespace

TEST_CASE("a step that asks twice gets an answer for each question, also in another process and as a coroutine") {
    savers::onEach([](savers::Store& store) {
        for (const bool is_awaited : {false, true}) {
            CAPTURE(is_awaited);
            const std::string id = is_awaited ? "a" : "b";
            const auto make = [&] {
                const sg::CompileOptions options{.checkpointer = store.open()};
                return is_awaited ? wf::workflow<int>("payments").then(wf::step("pay", awaitBoth)).commit(options)
                                  : wf::workflow<int>("payments").then(wf::step("pay", askBoth)).commit(options);
            };
            const auto resume = [&](const char* answer) {
                const auto flow = make();
                return is_awaited ? sg::syncWait(wf::asyncResume(flow.flow(), id, {}, Value(answer)))
                                  : flow.resume(id, {}, Value(answer)).view;
            };
            CHECK(openIn(make().start(id, 100).view) == Strings{"manager: 100?"});
            const wf::RunView asked = resume("yes");
            CHECK(openIn(asked) == Strings{"legal: 100?"});
            CHECK(asked.steps.at("pay").suspensions.size() == 2);
            const wf::RunView ended = resume("no");
            CHECK((ended.status == RunStatus::success));
            CHECK(ended.result == Value("yes+no"));
        }
    });
}

TEST_CASE("an answer that a step has read is not taken for another question") {
    const auto flow = workflowOf(
        [](const int&, Asks& context) {
            if (!context.resumeData()) context.suspend("manager?");
            return "legal: " + context.suspend("legal?");
        },
        std::make_shared<sg::MemorySaver>());
    flow.start("1", 1);
    CHECK(openIn(flow.resume("1", {}, Value("yes")).view) == Strings{"legal?"});
    CHECK(flow.resume("1", {}, Value("no")).result == "legal: no");
}

TEST_CASE("a question that is asked again gets a new answer, and those before it keep theirs") {
    const auto flow = workflowOf(
        [](const int&, Asks& context) {
            const std::string name = context.suspend("name?");
            const std::string age = context.suspend("age?");
            if (age == "old") context.suspendAgain("age as a number?");
            return name + " " + age;
        },
        std::make_shared<sg::MemorySaver>());
    flow.start("1", 1);
    CHECK(openIn(flow.resume("1", {}, Value("Ada")).view) == Strings{"age?"});
    CHECK(openIn(flow.resume("1", {}, Value("old")).view) == Strings{"age as a number?"});
    CHECK(openIn(flow.resume("1", {}, Value("old")).view) == Strings{"age as a number?"});
    CHECK(flow.resume("1", {}, Value("36")).result == "Ada 36");
}

TEST_CASE("the text of a question may change between executions, and loops may ask") {
    int executions = 0;
    const auto flow = workflowOf(
        [&](const int& n, Asks& context) {
            ++executions;
            std::string all;
            for (int i = 0; i < n; ++i)
                all += context.suspend("execution " + std::to_string(executions) + ", part " + std::to_string(i));
            return all;
        },
        std::make_shared<sg::MemorySaver>());
    auto run = flow.start("1", 3);
    for (const char* answer : {"a", "b", "c"}) {
        REQUIRE((run.status == RunStatus::suspended));
        run = flow.resume("1", {}, Value(answer));
    }
    CHECK(run.result == "abc");
}

TEST_CASE("all attempts of a resumed step get the answers of its questions") {
    int fails = 2;
    const auto step =
        wf::step("pay",
                 [&](const int& n, Asks& context) {
                     std::string both = askBoth(n, context);
                     if (fails-- > 0) throw std::runtime_error("the bank is closed");
                     return both;
                 },
                 {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = std::chrono::milliseconds(1)}});
    const auto flow = wf::workflow<int>("w").then(step).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    flow.start("1", 1);
    flow.resume("1", step, "yes");
    CHECK(flow.resume("1", step, "no").result == "yes+no");
}

TEST_CASE("inside workflows and lists each element's step gets the answers to its own questions") {
    savers::onEach([](savers::Store& store) {
        const auto inner = wf::step("each", wf::workflow<int>("inner").then(wf::step("pay", askBoth)).commit());
        const auto flow = wf::workflow<std::vector<int>>("w")
                              .foreach (inner, {.concurrency = 2})
                              .commit({.checkpointer = store.open()});
        flow.start("1", {1, 2});
        auto run = flow.resume("1", {.step = "each[1].pay"}, Value("b"));
        CHECK(openIn(run.view) == Strings{"manager: 1?", "legal: 2?"});
        run = flow.resume("1", {.step = "each", .index = 0}, Value("a"));
        CHECK(openIn(run.view) == Strings{"legal: 1?", "legal: 2?"});
        run = flow.resume("1", {.step = "each.pay", .all = true}, Value("c"));
        CHECK(run.result == Strings{"a+c", "b+c"});
    });
}

TEST_CASE("an answer that could be for several elements of a list is refused, and nothing changes") {
    savers::onEach([](savers::Store& store) {
        const auto pay = wf::step("pay", [](const int& n, Asks& context) {
            return context.suspend("pay " + std::to_string(n) + "?") + std::to_string(n);
        });
        const auto flow = wf::workflow<std::vector<int>>("w")
                              .foreach (pay, {.concurrency = 3})
                              .commit({.checkpointer = store.open()});
        const wf::RunView before = flow.start("1", {1, 2, 3}).view;
        for (const wf::ResumeTarget& target : {wf::ResumeTarget{}, wf::ResumeTarget{.step = "pay"}}) {
            CHECK((refusalOf([&] { flow.resume("1", target, Value("yes")); }) == wf::Refusal::ambiguous));
            CHECK((refusalOf([&] { sg::syncWait(wf::asyncResume(flow.flow(), "1", target, Value("yes"))); }) ==
                   wf::Refusal::ambiguous));
        }
        CHECK(flow.get("1").view.checkpoint_id == before.checkpoint_id);
        auto run = flow.resume("1", {.question = before.questions.at(1).id}, Value("b"));
        CHECK(openIn(run.view) == Strings{"pay 1?", "pay 3?"});
        run = flow.resume("1", {.step = "pay", .index = 2}, Value("c"));
        CHECK(flow.resume("1", pay, "a").result == Strings{"a1", "b2", "c3"});
    });
}

TEST_CASE("an answer for all selected questions is for each of them") {
    const auto asks = [](const char* id) {
        return wf::step(id, [](const int& n, Asks& c) { return c.suspend(std::to_string(n) + "?", {"same"}); });
    };
    const auto both = wf::step("both", wf::workflow<int>("inner").parallel(asks("a"), asks("b")).commit());
    const auto flow = wf::workflow<std::vector<int>>("w")
                          .foreach (both, {.concurrency = 2})
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    flow.start("1", {1, 2});
    for (const wf::ResumeTarget& target :
         {wf::ResumeTarget{.step = "both", .index = 0}, wf::ResumeTarget{.label = "same"}}) {
        CHECK((refusalOf([&] { flow.resume("1", target, Value("x")); }) == wf::Refusal::ambiguous));
    }
    CHECK(openIn(flow.resume("1", {.step = "both", .index = 0, .all = true}, Value("x")).view) == Strings{"2?", "2?"});
    CHECK((flow.resume("1", {.label = "same", .all = true}, Value("y")).status == RunStatus::success));
}

TEST_CASE("time travel with an answer answers the question that was open, and not one before it") {
    const auto flow = workflowOf(askBoth, std::make_shared<sg::MemorySaver>());
    flow.start("1", 1);
    flow.resume("1", {}, Value("yes"));
    const wf::RunView run = flow.flow().timeTravel("1", "pay", {}, Value("no"));
    CHECK((run.status == RunStatus::success));
    CHECK(run.result == Value("yes+no"));
}
