#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/interrupt.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>
#include <stategraph/workflow/async.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/manual_clock.hpp"
#include "tests/support/savers.hpp"
#include "tests/workflow/definitions.hpp"
#include "tests/workflow/refusal.hpp"

// Runs that meet another definition of their workflow, with which they cannot be continued.
namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;
using sg::Value;
using sg::testing::FaultSaver;
using sg::testing::SaverCalls;
using wf::RunStatus;
using Kind = wf::Entry::Kind;

namespace {

using definitions::inc;
using definitions::inside;
using definitions::then;

wf::Entry nap(std::string id) {
    return {.kind = Kind::sleep, .id = std::move(id), .transform = [](const wf::Scope&) { return Value(3'600'000.0); }};
}

/// The definitions before and after the change, around the same steps.
struct Versions {
    std::vector<wf::Entry> before, after;
};

// A sleep inside has another id. In the second one its workflow is inside another, in the third one in a list.
std::vector<Versions> renamed() {
    const auto list = wf::Entry{.kind = Kind::map, .id = "list", .transform = [](const wf::Scope& scope) {
                                    return Value(std::vector<Value>{scope.input(), scope.input()});
                                }};
    const auto each = [](wf::Step step) {
        return wf::Entry{.kind = Kind::foreach, .steps = {std::move(step)}, .concurrency = 2};
    };
    const auto napping = [](const std::string& id) { return inside("n", {then(inc("a")), nap(id), then(inc("b"))}); };
    return {{{then(napping("nap"))}, {then(napping("rest"))}},
            {{then(inside("o", {then(napping("nap"))}))}, {then(inside("o", {then(napping("rest"))}))}},
            {{list, each(napping("nap"))}, {list, each(napping("rest"))}}};
}

wf::RunView restart(const wf::Flow& flow, bool is_awaited) {
    return is_awaited ? sg::syncWait(wf::asyncRestart(flow, "1")) : flow.restart("1");
}

}  // namespace

TEST_CASE("a run that was left at a step inside that is no longer there is refused, and continues where it is") {
    savers::onEachAndLater([](savers::Store& store) {
        const auto clock = ManualClock::make();
        int number = 0;
        for (const Versions& versions : renamed()) {
            for (const bool is_awaited : {false, true}) {
                CAPTURE(number);
                const std::string id = "w" + std::to_string(++number);
                sg::CompileOptions options{.checkpointer = store.open()};
                options.ids = clock;
                const wf::Flow before({.id = id, .entries = versions.before}, options);
                const wf::Flow after({.id = id, .entries = versions.after}, options);
                CHECK((before.start("1", Value(1)).status == RunStatus::waiting));
                clock->passMs(2 * 3'600'000);
                CHECK((refusalOf([&] { restart(after, is_awaited); }) == wf::Refusal::changed_definition));
                CHECK((after.get("1").status == RunStatus::running));
                CHECK((restart(before, is_awaited).status == RunStatus::success));
            }
        }
    });
}

TEST_CASE("an answer that is stored for a step inside that is no longer there stays, and nothing has failed") {
    const wf::Step asks{.id = "ask", .execute = [](const Value& in, wf::StepContext& context) {
                            if (context.resumeData() == nullptr) context.suspend(Value("how much?"));
                            return Value(in.as<int>() + context.resumeData()->as<int>());
                        }};
    for (const bool is_awaited : {false, true}) {
        bool has_failed = true;
        for (std::size_t nth = 1; has_failed; ++nth) {
            CAPTURE(nth);
            const auto saver = std::make_shared<FaultSaver>(std::make_shared<sg::MemorySaver>());
            const sg::CompileOptions options{.checkpointer = saver};
            const wf::Flow before(
                {.id = "w", .entries = {then(inside("n", {then(inc("a")), then(inc("b")), then(asks)}))}}, options);
            const wf::Flow after({.id = "w", .entries = {then(inside("n", {then(inc("a"))}))}}, options);
            before.start("1", Value(1));
            saver->arm({.fail_at = nth, .once = false, .calls = SaverCalls::put});  // the process dies
            try {
                before.resume("1", {}, Value(10));
            } catch (const sg::SaverError&) {
            }
            has_failed = saver->failures() > 0;
            saver->disarm();
            const RunStatus status = before.get("1").status;
            if (status == RunStatus::running) {
                CHECK_THROWS_AS(restart(after, is_awaited), sg::Error);
                CHECK(restart(before, is_awaited).result == Value(13));
            } else {
                CHECK((status == RunStatus::suspended || status == RunStatus::success));
            }
        }
    }
}

namespace {

struct Sum {
    int total = 0;
    static constexpr auto channels() { return sg::channels<&Sum::total>(); }
};

// A graph as a step, with a node that asks.
wf::Flow summing(const std::string& node, const std::shared_ptr<sg::MemorySaver>& saver) {
    sg::StateGraph<Sum> graph;
    graph.addNode(node, [](const Sum& s, sg::Runtime& runtime) {
        return sg::set<&Sum::total>(s.total + sg::interrupt<int>(runtime, "how much?"));
    });
    graph.addEdge(sg::START, node);
    const auto sum = wf::step(
        "sum", graph.compile(), [](const int& n) { return sg::Update<Sum>{sg::set<&Sum::total>(n)}; },
        [](const Sum& s) { return s.total; });
    return wf::workflow<int>("w").then(sum).commit({.checkpointer = saver}).flow();
}

}  // namespace

TEST_CASE("a run whose graph in a step asked at a node that is no longer there is refused, and has not failed") {
    for (const bool is_awaited : {false, true}) {
        CAPTURE(is_awaited);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const wf::Flow before = summing("ask", saver), after = summing("renamed", saver);
        CHECK((before.start("1", Value(5)).status == RunStatus::suspended));
        const auto resume = [&] {
            if (is_awaited) return void(sg::syncWait(wf::asyncResume(after, "1", {}, Value(3))));
            after.resume("1", {}, Value(3));
        };
        CHECK((refusalOf(resume) == wf::Refusal::changed_definition));
        // The answer is stored.
        CHECK((after.get("1").status == RunStatus::running));
        CHECK(restart(before, is_awaited).result == Value(8));
    }
}

namespace {

wf::Step asking(std::string id) {
    return {.id = std::move(id), .execute = [](const Value& in, wf::StepContext& context) {
                if (context.resumeData() == nullptr) context.suspend(Value("how much?"));
                return Value(in.as<int>() + context.resumeData()->as<int>());
            }};
}

wf::RunView resume(const wf::Flow& flow, bool is_awaited, const std::string& step = {}) {
    const wf::ResumeTarget target{.step = step};
    return is_awaited ? sg::syncWait(wf::asyncResume(flow, "1", target, Value(10)))
                      : flow.resume("1", target, Value(10));
}

// What has asked is after one step, or after three. The first definition asks itself, the second one inside, the third
// one in a list, the fourth one in a block.
std::vector<Versions> moved() {
    const auto list = wf::Entry{.kind = Kind::map, .id = "list", .transform = [](const wf::Scope& scope) {
                                    return Value(std::vector<Value>{scope.input()});
                                }};
    const auto each = wf::Entry{.kind = Kind::foreach, .steps = {asking("ask")}};
    const auto first = wf::Entry{.kind = Kind::map, .id = "only", .transform = [](const wf::Scope& scope) {
                                     return scope.input().as<std::vector<Value>>().front();
                                 }};
    const auto block = wf::Entry{.kind = Kind::parallel,
                                 .steps = {asking("ask")},
                                 .combine = [](const wf::Values& all) { return all.at("ask"); }};
    const std::vector<wf::Entry> few = {then(inc("a"))}, many = {then(inc("x")), then(inc("y")), then(inc("a"))};
    std::vector<Versions> versions;
    for (const std::vector<wf::Entry>& asked : {std::vector{then(asking("ask"))}, {list, each, first}, {block}}) {
        Versions both{few, many};
        for (std::vector<wf::Entry>* entries : {&both.before, &both.after}) {
            entries->insert(entries->end(), asked.begin(), asked.end());
            entries->push_back(then(inc("last")));
        }
        versions.push_back(both);
        versions.push_back({{then(inside("n", both.before))}, {then(inc("w")), then(inside("n", both.after))}});
    }
    return versions;
}

}  // namespace

TEST_CASE("a question can be answered although its definition has other entries before it by now") {
    savers::onEachAndLater([](savers::Store& store) {
        int number = 0;
        for (const Versions& versions : moved()) {
            const bool is_inside = versions.before.size() == 1;
            for (const bool is_awaited : {false, true}) {
                for (const bool removes : {false, true}) {
                    CAPTURE(number);
                    const std::string id = "w" + std::to_string(++number);
                    const sg::CompileOptions options{.checkpointer = store.open()};
                    const wf::Flow before({.id = id, .entries = removes ? versions.after : versions.before}, options);
                    const wf::Flow after({.id = id, .entries = removes ? versions.before : versions.after}, options);
                    CHECK((before.start("1", Value(1)).status == RunStatus::suspended));
                    CHECK(after.get("1").questions.front().id == before.get("1").questions.front().id);
                    const wf::RunView done = resume(after, is_awaited);
                    CHECK((done.status == RunStatus::success));
                    CHECK(done.result->as<int>() == (!removes ? 13 : is_inside ? 16 : 15));
                    CHECK((after.get("1").status == RunStatus::success));
                }
            }
        }
    });
}

TEST_CASE("after time travel past a question, a graph that asks later is answered, and not the question") {
    // The steps that time travel went past keep their questions, which are not due, whatever the number of the entry.
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<Sum> graph;
    graph.addNode("node", [](const Sum& s, sg::Runtime& runtime) {
        return sg::set<&Sum::total>(s.total + sg::interrupt<int>(runtime, "how much?"));
    });
    graph.addEdge(sg::START, "node");
    const auto sum = wf::step(
        "sum", graph.compile(), [](const int& n) { return sg::Update<Sum>{sg::set<&Sum::total>(n)}; },
        [](const Sum& s) { return s.total; });
    const wf::Flow flow({.id = "w", .entries = {then(asking("ask")), then(inc("a")), then(sum.step)}},
                        {.checkpointer = saver});
    CHECK((flow.start("1", Value(1)).status == RunStatus::suspended));
    wf::RunOptions options;
    options.outputs.emplace("a", Value(7));
    CHECK((flow.timeTravel("1", "sum", {}, {}, options).status == RunStatus::suspended));
    CHECK(flow.resume("1", {}, Value(10)).result == Value(17));
}

TEST_CASE("a member that a parallel gets while the run waits is executed with the answer") {
    savers::onEachAndLater([](savers::Store& store) {
        int number = 0;
        for (const bool is_inside : {false, true}) {
            for (const bool is_awaited : {false, true}) {
                CAPTURE(is_inside);
                CAPTURE(is_awaited);
                const std::string id = "w" + std::to_string(++number);
                const sg::CompileOptions options{.checkpointer = store.open()};
                const auto flow = [&](std::vector<wf::Step> members) {
                    std::vector<wf::Entry> entries = {{.kind = Kind::parallel, .steps = std::move(members)}};
                    if (is_inside) entries = {then(inside("n", std::move(entries)))};
                    return wf::Flow({.id = id, .entries = std::move(entries)}, options);
                };
                const wf::Flow before = flow({asking("ask"), inc("b")}),
                               after = flow({asking("ask"), inc("b"), inc("c")});
                CHECK((before.start("1", Value(1)).status == RunStatus::suspended));
                const wf::RunView done = resume(after, is_awaited);
                CHECK(done.result == Value(wf::Values{{"ask", Value(11)}, {"b", Value(2)}, {"c", Value(2)}}));
            }
        }
    });
}

TEST_CASE("a run that a dead process left in a parallel that has more members by now is refused, and has not failed") {
    for (const bool is_awaited : {false, true}) {
        CAPTURE(is_awaited);
        const auto store = std::make_shared<sg::MemorySaver>();
        const auto saver = std::make_shared<FaultSaver>(store);
        wf::Step dies = inc("b");
        dies.execute = [saver](const Value& in, wf::StepContext&) {
            saver->arm({.fail_at = 1, .once = false, .calls = SaverCalls::put});
            return in;
        };
        const wf::Flow dead({.id = "w", .entries = {{.kind = Kind::parallel, .steps = {inc("a"), dies}}}},
                            {.checkpointer = saver});
        CHECK_THROWS_AS(dead.start("1", Value(1)), sg::SaverError);
        const sg::CompileOptions options{.checkpointer = store};
        const wf::Flow before({.id = "w", .entries = {{.kind = Kind::parallel, .steps = {inc("a"), inc("b")}}}},
                              options);
        const wf::Flow after(
            {.id = "w", .entries = {{.kind = Kind::parallel, .steps = {inc("a"), inc("b"), inc("c")}}}}, options);
        CHECK((refusalOf([&] { restart(after, is_awaited); }) == wf::Refusal::changed_definition));
        CHECK((after.get("1").status == RunStatus::running));
        CHECK((restart(before, is_awaited).status == RunStatus::success));
    }
}

TEST_CASE("an answer for a step inside that the definition no longer has is refused") {
    for (const bool is_awaited : {false, true}) {
        CAPTURE(is_awaited);
        const auto saver = std::make_shared<FaultSaver>(std::make_shared<sg::MemorySaver>());
        const sg::CompileOptions options{.checkpointer = saver};
        const wf::Flow before({.id = "w", .entries = {then(inside("n", {then(inc("a")), then(asking("ask"))}))}},
                              options);
        const wf::Flow after({.id = "w", .entries = {then(inside("n", {then(inc("a")), then(inc("b"))}))}}, options);
        before.start("1", Value(1));
        // The process dies when the answer is stored, and the step that gets it has not run.
        for (std::size_t nth = 1;; ++nth) {
            REQUIRE(nth < 20);
            saver->arm({.fail_at = nth, .once = false, .calls = SaverCalls::put});
            CHECK_THROWS_AS(before.resume("1", {}, Value(10)), sg::SaverError);
            saver->disarm();
            if (before.get("1").status == RunStatus::running) break;
        }
        CHECK((refusalOf([&] { restart(after, is_awaited); }) == wf::Refusal::changed_definition));
        CHECK((after.get("1").status == RunStatus::running));
        CHECK(restart(before, is_awaited).result == Value(12));
    }
}
