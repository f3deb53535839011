#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/savers.hpp"

// Chains of typed steps, from beginning to end.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using wf::RunStatus;

namespace {

struct Order {
    int value = 0;
    std::string user = {};
    static constexpr auto fields() { return sg::fields<&Order::value, &Order::user>(); }
    friend bool operator==(const Order&, const Order&) = default;
};
struct Ask {
    std::string message = {};
    static constexpr auto fields() { return sg::fields<&Ask::message>(); }
};
struct Answer {
    bool confirm = false;
    std::string approver = {};
    static constexpr auto fields() { return sg::fields<&Answer::confirm, &Answer::approver>(); }
};

const auto approval = wf::step("approval", [](const Order& order, wf::Suspending<Ask, Answer>& context) -> Order {
    const Answer answer = context.suspend({"Pay " + std::to_string(order.value) + " for " + order.user + "?"}, {"pay"});
    if (!answer.confirm) context.bail(std::string("declined by " + answer.approver));
    return order;
});
const auto half = wf::step("half", [](const int& n) { return n / 2; });
const auto twice = wf::step("twice", [](const int& n) { return n * 2; });

}  // namespace

TEST_CASE("a chain hands on what its steps give, and its output has a type") {
    savers::onEach([](savers::Store& store) {
        const auto flow =
            wf::workflow<int>("numbers")
                .then(twice)
                .map([](const int& n) {
                    return std::vector<int>{n, n + 1, n + 2};
                })
                .foreach (half, {.concurrency = 2})
                .map([](const std::vector<int>& all) { return all.at(0) + all.at(1) + all.at(2); })
                .parallel(wf::clone(twice, "t"), wf::clone(half, "h"))
                .map([](const std::tuple<int, int>& both) { return std::get<0>(both) - std::get<1>(both); })
                .commit({.checkpointer = store.open()});
        const auto run = flow.start("1", 5);
        CHECK((run.status == RunStatus::success));
        CHECK(run.result == 24);
        CHECK(run.view.steps.at("half").output == sg::Value(std::vector<int>{5, 5, 6}));
        CHECK(run.view.steps.at("t").payload == sg::Value(16));
    });
}

TEST_CASE("a step asks, another process answers, and finished members of its block are not run again") {
    savers::onEach([](savers::Store& store) {
        int audits = 0;
        const auto make = [&] {
            const auto audit = wf::step("audit", [&audits](const Order& order) {
                ++audits;
                return order.user + " ok";
            });
            return wf::workflow<Order>("approve").parallel(approval, audit).commit({.checkpointer = store.open()});
        };
        const auto asked = make().start("1", {100, "Michael"});
        REQUIRE((asked.status == RunStatus::suspended));
        CHECK(asked.view.suspended == std::vector<std::vector<std::string>>{{"approval"}});
        CHECK(asked.view.steps.at("approval").suspend_payload->as<Ask>().message == "Pay 100 for Michael?");
        CHECK(asked.view.steps.at("approval").suspensions.size() == 1);
        CHECK((asked.view.steps.at("audit").status == wf::StepStatus::success));
        const auto ended = make().resume("1", approval, {true, "manager"});
        REQUIRE((ended.status == RunStatus::success));
        CHECK(std::get<0>(*ended.result) == Order{100, "Michael"});
        CHECK(std::get<1>(*ended.result) == "Michael ok");
        CHECK(audits == 1);
        CHECK_THROWS_AS(make().resume("1", approval, {true, "manager"}), wf::RefusedError);
    });
}

TEST_CASE(
    "an answer that is not what the step takes is refused before anything is stored, and the question stays open") {
    const auto flow =
        wf::workflow<Order>("approve").then(approval).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    flow.start("1", {100, "Michael"});
    for (const sg::Value& wrong :
         {sg::parseJson(R"({"confirm": true})"), sg::parseJson(R"({"nonsense": 1})"), sg::Value(7)}) {
        CAPTURE(wrong);
        try {
            flow.resume("1", {.label = "pay"}, wrong);
            FAIL("it was taken");
        } catch (const wf::RefusedError& error) {
            CHECK((error.why() == wf::Refusal::invalid_resume_data));
        }
    }
    const auto declined = flow.resume("1", {.label = "pay"}, sg::parseJson(R"({"confirm": false, "approver": "Ada"})"));
    CHECK((declined.status == RunStatus::success));
    CHECK(!declined.result);
    CHECK(declined.view.result == sg::Value("declined by Ada"));
}

TEST_CASE("a branch runs every step whose condition holds") {
    const auto small = wf::step("small", [](const int& n) { return "small " + std::to_string(n); });
    const auto odd = wf::step("odd", [](const int& n) { return n * 100; });
    const auto flow = wf::workflow<int>("kinds")
                          .branch(wf::when([](const int& n) { return n < 10; }, small),
                                  wf::when([](const int& n) { return n % 2 == 1; }, odd))
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK((flow.start("both", 3).result == std::tuple{std::optional<std::string>("small 3"), std::optional<int>(300)}));
    CHECK((flow.start("one", 4).result == std::tuple{std::optional<std::string>("small 4"), std::optional<int>()}));
    CHECK((flow.start("none", 20).result == std::tuple{std::optional<std::string>(), std::optional<int>()}));
}

TEST_CASE("loops count their turns, and a workflow is a step of another") {
    const auto inner = wf::workflow<int>("inner").dowhile(half, [](const int& n) { return n > 10; }).commit();
    const auto flow = wf::workflow<int>("outer")
                          .then("halves", inner)
                          .dountil(twice, [](const int&, const wf::Scope& scope) { return scope.iteration() == 3; })
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto run = flow.start("1", 80);
    CHECK(run.result == 80);
    CHECK(run.view.steps.at("halves.half").iteration == 3);
    CHECK(run.view.steps.at("twice").iteration == 3);
}

TEST_CASE("a run sleeps in the store, and is cancelled, restarted and taken back") {
    const auto flow = wf::workflow<int>("slow").then(twice).sleep(1h).then(half).commit(
        {.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK((flow.start("1", 5).status == RunStatus::waiting));
    CHECK((flow.get("1").status == RunStatus::waiting));
    CHECK((flow.cancel("1").status == RunStatus::canceled));
    CHECK_THROWS_AS(flow.restart("1"), wf::RefusedError);
    const auto back = flow.timeTravel("1", half, 40);
    CHECK((back.status == RunStatus::success));
    CHECK(back.result == 20);
}

TEST_CASE("a step is tried as often as its policy says, and its failure is the run's") {
    int calls = 0;
    const auto flaky =
        wf::step("flaky",
                 [&calls](const int& n) -> int {
                     if (++calls < 3) throw std::runtime_error("not yet");
                     return n;
                 },
                 {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = 0ms, .jitter = false}});
    const auto broken = wf::step("broken", [](const int&) -> int { throw std::runtime_error("out of order"); });
    const auto flow = wf::workflow<int>("tries").then(flaky).then(broken).commit(
        {.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto run = flow.start("1", 1);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error == "out of order");
    CHECK(calls == 3);
    CHECK(run.view.steps.at("flaky").attempts == 3);
}

TEST_CASE("a workflow with faults is refused with all of them") {
    const auto commit = [] { wf::workflow<int>("twice").then(half).then(half).then(wf::clone(half, "a.b")).commit(); };
    CHECK_THROWS_WITH_AS(commit(), doctest::Contains("the id 'half' is used twice"), sg::InvalidGraphError);
    CHECK_THROWS_WITH_AS(commit(), doctest::Contains("the id 'a.b' has one of"), sg::InvalidGraphError);
}

TEST_CASE("a run that waits in its process ends at once when it is cancelled, and its sleep stays as it is") {
    const auto flow =
        wf::workflow<int>("slow").sleep(1h).then(half).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    std::promise<void> sleeps;
    wf::RunOptions options{.waits = true};
    options.on_event = [&](const wf::RunEvent& event) {
        if (event.kind == wf::RunEvent::Kind::step_waiting) sleeps.set_value();
    };
    auto run = std::async(std::launch::async, [&] { return flow.start("1", 5, options); });
    sleeps.get_future().wait();
    flow.cancel("1");
    CHECK((run.get().status == RunStatus::canceled));
    CHECK((flow.get("1").view.steps.at("sleep_slow_0").status == wf::StepStatus::waiting));
    CHECK(!flow.get("1").view.steps.contains("half"));
}

TEST_CASE("a run that is cancelled while a step or elements of a list are executed ends before what comes next") {
    const auto flow_of = [](auto chain) {
        return std::move(chain).commit({.checkpointer = std::make_shared<sg::MemorySaver>()});
    };
    std::function<void()> cancel;
    std::atomic<int> executed{0};
    const auto step = wf::step("step", [&](const int& n) {
        if (++executed == 1) cancel();
        return n;
    });
    const auto one = flow_of(wf::workflow<int>("one").then(step).then(half));
    cancel = [&] { one.cancel("1"); };
    const auto after_step = one.start("1", 8);
    CHECK((after_step.status == RunStatus::canceled));
    CHECK((after_step.view.steps.at("step").status == wf::StepStatus::success));
    CHECK(!after_step.view.steps.contains("half"));
    executed = 0;
    const auto each = flow_of(wf::workflow<std::vector<int>>("each").foreach (step));
    cancel = [&] { each.cancel("1"); };
    CHECK((each.start("1", {1, 2, 3}).status == RunStatus::canceled));
    CHECK(executed == 1);
}

TEST_CASE("a workflow without a saver runs to its end") {
    const auto flow = wf::workflow<int>("numbers")
                          .parallel(twice, half)
                          .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
                          .commit();
    CHECK(flow.start("1", 8).result == 20);
    CHECK(flow.start("1", 4).result == 10);
}

TEST_CASE("a block whose outputs cannot be put together fails the run") {
    wf::Definition definition{.id = "block"};
    wf::Entry entry{.kind = wf::Entry::Kind::parallel,
                    .steps = {{.id = "a", .execute = [](const sg::Value& input, wf::StepContext&) { return input; }}}};
    entry.combine = [](const wf::Values&) -> sg::Value { throw std::runtime_error("no way"); };
    definition.entries = {entry};
    const wf::Flow flow(definition, {.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto run = flow.start("1", 5);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error == "no way");
}
