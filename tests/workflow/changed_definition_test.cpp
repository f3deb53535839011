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

wf::Entry then(wf::Step step) { return {.kind = Kind::then, .steps = {std::move(step)}}; }
wf::Step inc(std::string id) {
    return {.id = std::move(id), .execute = [](const Value& in, wf::StepContext&) { return Value(in.as<int>() + 1); }};
}
wf::Entry nap(std::string id) {
    return {.kind = Kind::sleep, .id = std::move(id), .transform = [](const wf::Scope&) { return Value(3'600'000.0); }};
}
wf::Step inside(std::string id, std::vector<wf::Entry> entries) {
    return {.id = id,
            .workflow = std::make_shared<wf::Definition>(wf::Definition{.id = id, .entries = std::move(entries)})};
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
                CHECK((refusalOf([&] { restart(after, is_awaited); }) == wf::Refusal::already_claimed));
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
        CHECK((refusalOf(resume) == wf::Refusal::already_claimed));
        // The answer is stored.
        CHECK((after.get("1").status == RunStatus::running));
        CHECK(restart(before, is_awaited).result == Value(8));
    }
}
