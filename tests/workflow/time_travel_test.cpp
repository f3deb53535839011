#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/async.hpp>

#include "tests/support/savers.hpp"
#include "tests/workflow/definitions.hpp"
#include "tests/workflow/refusal.hpp"

// Time travel: in runs that have not begun, with outputs of the caller, and what is refused.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using sg::Value;
using wf::RunStatus;
using Kind = wf::Entry::Kind;

namespace {

using definitions::inside;

using Paths = std::vector<std::vector<std::string>>;

Value number(Value value) {
    (void)value.as<int>();
    return value;
}
wf::Step adds(std::string id, int n) {
    return {.id = std::move(id), .execute = [n](const Value& in, wf::StepContext&) { return Value(in.as<int>() + n); }};
}
// Returns the sum of its input and the answer.
wf::Step asks(std::string id) {
    return {.id = std::move(id),
            .execute =
                [](const Value& in, wf::StepContext& context) {
                    if (context.resumeData() == nullptr)
                        context.suspend(Value("how much?"), {"label of " + context.path()});
                    return Value(in.as<int>() + context.resumeData()->as<int>());
                },
            .resume = number};
}
wf::Entry then(wf::Step step) { return {.kind = Kind::then, .steps = {std::move(step)}}; }
wf::Entry parallel(std::vector<wf::Step> steps) { return {.kind = Kind::parallel, .steps = std::move(steps)}; }

// One call of time travel, blocking or awaited.
struct Travelling {
    bool is_awaited = false;

    wf::RunView operator()(const wf::Flow& flow, const std::string& run, const std::string& step,
                           std::optional<Value> input, std::optional<Value> data = {},
                           const wf::RunOptions& options = {}) const {
        if (!is_awaited) return flow.timeTravel(run, step, std::move(input), std::move(data), options);
        return sg::syncWait(wf::asyncTimeTravel(flow, run, step, std::move(input), std::move(data), options));
    }
};

wf::RunOptions withOutputs(wf::Values outputs) {
    wf::RunOptions options;
    options.outputs = std::move(outputs);
    return options;
}

// a, then p and q, then the sum of both, then a workflow with i, j and k.
wf::Definition chain() {
    wf::Entry sum{.kind = Kind::map, .id = "sum", .transform = [](const wf::Scope& scope) {
                      const auto both = scope.input().as<wf::Values>();
                      return Value(both.at("p").as<int>() + both.at("q").as<int>());
                  }};
    return {.id = "w",
            .entries = {then(adds("a", 1)), parallel({adds("p", 1), adds("q", 2)}), sum,
                        then(inside("n", {then(adds("i", 1)), then(adds("j", 10)), then(adds("k", 100))})),
                        then(adds("z", 1000))}};
}

void onEachDriver(const std::function<void(savers::Store&, const Travelling&)>& check) {
    savers::onEach([&](savers::Store& store) { check(store, {.is_awaited = false}); });
    savers::onEach([&](savers::Store& store) { check(store, {.is_awaited = true}); });
}

}  // namespace

TEST_CASE("a run that was never started begins in the middle, with outputs for the steps before") {
    onEachDriver([](savers::Store& store, const Travelling& travel) {
        const auto saver = store.open();
        const wf::Flow flow(chain(), {.checkpointer = saver});
        // The whole block runs, because none of its members has an output.
        auto run = travel(flow, "1", "q", {}, {}, withOutputs({{"a", Value(5)}}));
        CHECK((run.status == RunStatus::success));
        CHECK(run.result == Value(6 + 7 + 111 + 1000));
        CHECK(run.steps.at("a").output == Value(5));
        // A member that has an output does not run.
        run = travel(flow, "2", "q", {}, {}, withOutputs({{"a", Value(5)}, {"p", Value(100)}}));
        CHECK(run.result == Value(100 + 7 + 111 + 1000));
        // The input replaces what the entry before the step would have returned.
        run = travel(flow, "3", "p", Value(1), {}, {});
        CHECK(run.result == Value(2 + 3 + 111 + 1000));
        const wf::Flow again(chain(), {.checkpointer = saver});
        CHECK(again.get("3").result == run.result);
        CHECK(again.start("3", Value(0)).result == Value(2 + 3 + 111 + 1000));
    });
}

TEST_CASE("a run begins in the middle of a workflow inside, with outputs of its steps") {
    onEachDriver([](savers::Store& store, const Travelling& travel) {
        const wf::Flow flow(chain(), {.checkpointer = store.open()});
        const wf::Values before{{"a", Value(0)}, {"p", Value(0)}, {"q", Value(0)}, {"sum", Value(0)}};
        wf::Values all = before;
        all["n.i"] = Value(5);
        auto run = travel(flow, "1", "n.j", {}, {}, withOutputs(all));
        CHECK(run.result == Value(5 + 110 + 1000));
        CHECK(run.steps.at("n.i").output == Value(5));
        run = travel(flow, "2", "n.j", Value(7), {}, withOutputs(before));
        CHECK(run.result == Value(7 + 110 + 1000));
        CHECK(
            (refusalOf([&] { travel(flow, "3", "n.j", {}, {}, withOutputs(before)); }) == wf::Refusal::invalid_target));
        CHECK((flow.get("3").status == RunStatus::pending));
    });
}

TEST_CASE("outputs of the caller replace those of a run that has ended") {
    onEachDriver([](savers::Store& store, const Travelling& travel) {
        const wf::Flow flow(chain(), {.checkpointer = store.open()});
        flow.start("1", Value(0));
        auto run = travel(flow, "1", "z", {}, {}, withOutputs({{"n", Value(1)}}));
        CHECK(run.result == Value(1001));
        CHECK(run.steps.at("n").output == Value(1));
        run = travel(flow, "1", "sum", {}, {}, withOutputs({{"p", Value(-3)}}));
        CHECK(run.result == Value(-3 + 3 + 111 + 1000));
    });
}

TEST_CASE("outputs of steps that are unknown, or do not come before, are refused, and nothing is stored") {
    const wf::Flow flow(chain(), {.checkpointer = std::make_shared<sg::MemorySaver>()});
    const Travelling travel;
    for (const char* const step : {"nothing", "n", "z", "a.b", "n.i", ""}) {
        CAPTURE(step);
        wf::Values outputs{{"a", Value(0)}, {"p", Value(0)}, {"q", Value(0)}, {"sum", Value(0)}};
        outputs[step] = Value(0);
        CHECK(
            (refusalOf([&] { travel(flow, "1", "n", {}, {}, withOutputs(outputs)); }) == wf::Refusal::invalid_target));
    }
    CHECK((flow.get("1").status == RunStatus::pending));
    // A workflow inside a run that has begun must have run, or get the outputs of its steps.
    flow.start("3", Value(0), [] {
        wf::RunOptions options;
        options.single_step = true;
        return options;
    }());
    const wf::Values before{{"p", Value(0)}, {"q", Value(0)}, {"sum", Value(0)}};
    CHECK((refusalOf([&] { travel(flow, "3", "n.j", Value(1), {}, withOutputs(before)); }) ==
           wf::Refusal::invalid_target));
    wf::Values all = before;
    all["n.i"] = Value(5);
    CHECK(travel(flow, "3", "n.j", {}, {}, withOutputs(all)).result == Value(5 + 110 + 1000));
    // In a run that has begun an input does not replace a step that has not run.
    wf::RunOptions options;
    options.single_step = true;
    flow.start("2", Value(0), options);
    CHECK((refusalOf([&] { travel(flow, "2", "sum", Value(1)); }) == wf::Refusal::invalid_target));
    CHECK((flow.get("2").status == RunStatus::paused));
}

TEST_CASE("an input, an answer or a state that is refused leaves the run as it was") {
    onEachDriver([](savers::Store& store, const Travelling& travel) {
        wf::Step second = adds("b", 1);
        second.input = number;
        wf::Definition definition{.id = "w", .entries = {then(adds("a", 1)), then(second), then(asks("gate"))}};
        definition.input = number;
        definition.state = [](Value state) {
            for (const auto& [key, value] : state.as<wf::Values>()) (void)value.as<int>();
            return state;
        };
        const wf::Flow flow(definition, {.checkpointer = store.open()});
        const auto before = flow.start("1", Value(0));
        REQUIRE((before.status == RunStatus::suspended));
        const Value wrong("no number");
        wf::RunOptions options;
        options.state = {{"key", wrong}};
        CHECK((refusalOf([&] { travel(flow, "1", "a", wrong); }) == wf::Refusal::invalid_input));
        CHECK((refusalOf([&] { travel(flow, "1", "b", wrong); }) == wf::Refusal::invalid_input));
        CHECK((refusalOf([&] { travel(flow, "1", "b", {}, wrong); }) == wf::Refusal::invalid_resume_data));
        CHECK((refusalOf([&] { travel(flow, "1", "b", {}, {}, options); }) == wf::Refusal::invalid_state));
        CHECK(flow.get("1").checkpoint_id == before.checkpoint_id);
        CHECK(flow.resume("1", {}, Value(5)).result == Value(7));
    });
}

TEST_CASE("an answer that time travel brings reaches questions inside workflows and lists") {
    onEachDriver([](savers::Store& store, const Travelling& travel) {
        SUBCASE("a workflow in a workflow") {
            const wf::Flow flow(
                {.id = "w",
                 .entries = {then(adds("a", 1)),
                             then(inside("n", {then(adds("i", 1)), then(inside("m", {then(asks("gate"))})),
                                               then(adds("j", 1))}))}},
                {.checkpointer = store.open()});
            REQUIRE((flow.start("1", Value(0)).status == RunStatus::suspended));
            const Value wrong("no number");
            CHECK((refusalOf([&] { travel(flow, "1", "a", {}, wrong); }) == wf::Refusal::invalid_resume_data));
            const auto run = travel(flow, "1", "a", Value(10), Value(5));
            CHECK(run.result == Value(10 + 2 + 5 + 1));
            CHECK(run.steps.at("n.m.gate").resume_payload == Value(5));
        }
        SUBCASE("workflows for the elements of a list, of which the first is answered") {
            const wf::Entry each{.kind = Kind::foreach, .steps = {inside("n", {then(asks("gate"))})}, .concurrency = 2};
            const wf::Flow flow(
                {.id = "w",
                 .entries = {then({.id = "list", .execute = [](const Value& in, wf::StepContext&) { return in; }}),
                             each}},
                {.checkpointer = store.open()});
            REQUIRE((flow.start("1", Value(std::vector<int>{1, 2})).status == RunStatus::suspended));
            const auto run = travel(flow, "1", "list", Value(std::vector<int>{10, 20}), Value(5));
            CHECK(run.suspended == Paths{{"n"}});
            REQUIRE(run.questions.size() == 1);
            CHECK(run.questions.front().path == "n[1].gate");
            CHECK(flow.resume("1", {}, Value(1)).result == Value(std::vector<int>{15, 21}));
        }
        SUBCASE("an answer for a step that is not reached is dropped") {
            const wf::Flow flow(
                {.id = "w",
                 .entries = {then(adds("a", 1)), then(inside("n", {then(asks("first")), then(asks("second"))}))}},
                {.checkpointer = store.open()});
            flow.start("1", Value(0));
            flow.resume("1", {}, Value(1));
            // The second step had asked; the first asks anew.
            auto run = travel(flow, "1", "a", {}, Value(5));
            CHECK(run.suspended == Paths{{"n", "first"}});
            run = flow.resume("1", {}, Value(1));
            CHECK(run.suspended == Paths{{"n", "second"}});
            CHECK(flow.resume("1", {}, Value(1)).result == Value(3));
        }
    });
}

TEST_CASE("questions that time travel has gone past are no longer asked, although their steps stay suspended") {
    savers::onEach([](savers::Store& store) {
        const auto block = parallel({asks("gate"), adds("b", 1)});
        const Travelling travel;
        SUBCASE("in the outermost workflow") {
            const wf::Flow flow({.id = "w", .entries = {block, then(asks("next"))}}, {.checkpointer = store.open()});
            flow.start("1", Value(0));
            const auto run = travel(flow, "1", "next", Value(7));
            CHECK(run.suspended == Paths{{"gate"}, {"next"}});
            REQUIRE(run.questions.size() == 1);
            CHECK(run.questions.front().path == "next");
            CHECK((refusalOf([&] { flow.resume("1", {.step = "gate"}, Value(1)); }) == wf::Refusal::not_suspended));
            CHECK(flow.resume("1", {}, Value(1)).result == Value(8));
        }
        SUBCASE("in a workflow inside") {
            const wf::Flow flow({.id = "w", .entries = {then(inside("n", {block, then(asks("next"))}))}},
                                {.checkpointer = store.open()});
            flow.start("1", Value(0));
            const auto run = travel(flow, "1", "n.next", Value(7));
            REQUIRE(run.questions.size() == 1);
            CHECK(run.questions.front().path == "n.next");
            CHECK((refusalOf([&] { flow.resume("1", {.step = "n.gate"}, Value(1)); }) == wf::Refusal::not_suspended));
            CHECK(flow.resume("1", {}, Value(1)).result == Value(8));
        }
    });
}

namespace {

// A list of four, and a step for its elements that fails for the second element, the first time; it adds 10 and counts
// in the state what it has done.
struct FailsOnce {
    std::vector<int> runs = std::vector<int>(4);

    wf::Definition definition(int concurrency) {
        wf::Step each{
            .id = "each", .execute = [this](const Value& in, wf::StepContext& context) {
                const auto place = static_cast<std::size_t>(in.as<int>());
                const auto done = context.state().find("done");
                {
                    const std::lock_guard lock(mutex_);
                    if (++runs.at(place) == 1 && place == 1) throw std::runtime_error("busy");
                }
                context.setState({{"done", Value((done == context.state().end() ? 0 : done->second.as<int>()) + 1)}});
                return Value(in.as<int>() + 10);
            }};
        wf::Entry foreach{.kind = Kind::foreach, .steps = {each}, .concurrency = concurrency};
        wf::Step list{.id = "list", .execute = [](const Value& in, wf::StepContext&) { return in; }};
        return {.id = "w", .entries = {then(list), then(inside("n", {foreach, then(sizeStep())})), then(sizeStep())}};
    }

private:
    static wf::Step sizeStep() {
        return {.id = "all", .execute = [](const Value& in, wf::StepContext&) { return in; }};
    }
    std::mutex mutex_;
};

}  // namespace

TEST_CASE("time travel to a foreach that has failed executes the elements that had not succeeded") {
    const Value four(std::vector<int>{0, 1, 2, 3});
    const Value result(std::vector<int>{10, 11, 12, 13});
    for (const int concurrency : {1, 2, 4}) {
        CAPTURE(concurrency);
        onEachDriver([&](savers::Store& store, const Travelling& travel) {
            FailsOnce fails;
            const wf::Definition definition = fails.definition(concurrency);
            {
                const wf::Flow flow(definition, {.checkpointer = store.open()});
                REQUIRE((flow.start("1", four).status == RunStatus::failed));
            }
            const wf::Flow flow(definition, {.checkpointer = store.open()});
            auto run = travel(flow, "1", "n.each", {});
            CHECK((run.status == RunStatus::success));
            CHECK(run.result == result);
            CHECK(fails.runs == std::vector<int>{1, 2, 1, 1});
            if (concurrency == 1) CHECK(run.state.at("done") == Value(4));
            // A foreach that has succeeded is executed as a whole.
            CHECK(travel(flow, "1", "n.each", {}).result == result);
            CHECK(fails.runs == std::vector<int>{2, 3, 2, 2});
        });
    }
}

TEST_CASE("elements of a failed foreach are executed again for another list, and where the travel begins before it") {
    const Value four(std::vector<int>{0, 1, 2, 3});
    onEachDriver([&](savers::Store& store, const Travelling& travel) {
        FailsOnce fails;
        const wf::Flow flow(fails.definition(1), {.checkpointer = store.open()});
        REQUIRE((flow.start("1", four).status == RunStatus::failed));
        SUBCASE("another list") {
            CHECK(travel(flow, "1", "n.each", Value(std::vector<int>{3, 0})).result == Value(std::vector<int>{13, 10}));
            CHECK(fails.runs == std::vector<int>{2, 1, 0, 1});
        }
        SUBCASE("another state") {
            wf::RunOptions options;
            options.state = wf::Values{{"done", Value(100)}};
            CHECK(travel(flow, "1", "n.each", {}, {}, options).state.at("done") == Value(104));
            CHECK(fails.runs == std::vector<int>{2, 2, 1, 1});
        }
        SUBCASE("the workflow around it") {
            travel(flow, "1", "n", {});
            CHECK(fails.runs == std::vector<int>{2, 2, 1, 1});
        }
        SUBCASE("the run") {
            flow.start("1", four);
            CHECK(fails.runs == std::vector<int>{2, 2, 1, 1});
        }
    });
}

TEST_CASE("with the outputs of a run that has ended, a new run continues from any step to the same result") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
        wf::Definition definition{.id = "w"};
        std::vector<std::string> steps;
        for (int i = 0, count = 2 + below(5); i < count; ++i) {
            const std::string id = "s" + std::to_string(i);
            steps.push_back(id);
            const int n = below(100);
            switch (below(4)) {
                case 0:
                    definition.entries.push_back(
                        {.kind = Kind::dountil, .steps = {adds(id, n)}, .conditions = {[](const wf::Scope& scope) {
                                                                            return scope.iteration() == 2;
                                                                        }}});
                    break;
                case 1:
                    definition.entries.push_back(then(inside(id, {then(adds("i", n)), then(adds("j", 1))})));
                    break;
                case 2:
                    definition.entries.push_back(
                        {.kind = Kind::map, .id = id, .transform = [n](const wf::Scope& scope) {
                             return Value(scope.input().as<int>() * n % 1000);
                         }});
                    break;
                default:
                    definition.entries.push_back(then(adds(id, n)));
            }
        }
        const wf::Flow flow(definition, {.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto whole = flow.start("whole", Value(1));
        REQUIRE((whole.status == RunStatus::success));
        for (std::size_t i = 1; i < steps.size(); ++i) {
            CAPTURE(steps[i]);
            wf::Values outputs;
            for (std::size_t before = 0; before < i; ++before)
                outputs.emplace(steps[before], *whole.steps.at(steps[before]).output);
            const auto run = flow.timeTravel("from " + steps[i], steps[i], {}, {}, withOutputs(outputs));
            CHECK(run.result == whole.result);
        }
    }
}
