#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/workflow/acceptance.hpp"

// Situations that a workflow engine must handle, each from start to end: failures, cancellation, time travel, a crash,
// and events.
using namespace acceptance;
using namespace std::chrono_literals;

namespace {

const sg::RetryPolicy thrice{.max_attempts = 3, .initial_interval = 20ms, .backoff_factor = 1, .jitter = false};

sg::CompileOptions inMemory() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }

}  // namespace

TEST_CASE("a failing step is executed three times with a wait between, and the third failure is the run's") {
    Notes notes;
    std::vector<std::chrono::steady_clock::time_point> times;
    const auto broken = wf::step("broken", [&](const int&, wf::Context& context) -> int {
        notes.add(std::to_string(context.attempt()));
        times.push_back(std::chrono::steady_clock::now());
        throw std::runtime_error("out of order");
    });
    const auto run = wf::workflow<int>("tries").then(broken).then(inc).retry(thrice).commit(inMemory()).start("1", 1);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error == "out of order");
    CHECK(notes.take() == Strings{"1", "2", "3"});
    REQUIRE(times.size() == 3);
    CHECK(times[1] - times[0] >= 19ms);
    CHECK(times[2] - times[1] >= 19ms);
    CHECK(run.view.steps.at("broken").attempts == 3);
    CHECK(!run.view.steps.contains("inc"));
}

TEST_CASE("a permanent failure is not retried") {
    int executed = 0;
    const auto broken = wf::step("broken", [&](const int&) -> int {
        ++executed;
        throw wf::PermanentError("never");
    });
    const auto run = wf::workflow<int>("tries").then(broken).retry(thrice).commit(inMemory()).start("1", 1);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error == "never");
    CHECK(executed == 1);
}

TEST_CASE("a step that was resumed is retried as often as any other, each time with the answer") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Notes notes;
    const auto broken = wf::step("broken", [&](const int&, Asks& context) -> int {
        notes.add(std::to_string(context.attempt()));
        const int answer = context.suspend("how many?");
        throw std::runtime_error("not with " + std::to_string(answer));
    });
    const auto process = [&] {
        return wf::workflow<int>("tries").then(broken).retry(thrice).commit({.checkpointer = saver});
    };
    REQUIRE((process().start("1", 1).status == RunStatus::suspended));
    CHECK(notes.take() == Strings{"1"});
    const auto run = process().resume("1", broken, 7);
    CHECK((run.status == RunStatus::failed));
    CHECK(run.error == "not with 7");
    CHECK(notes.take() == Strings{"1", "2", "3"});
}

TEST_CASE("a run that is cancelled during a step ends after the step, whose output is kept") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::function<void()> cancel;
    const auto step = wf::step("step", [&](const int& n) {
        cancel();
        return n + 1;
    });
    const auto flow = wf::workflow<int>("long").then(step).then(inc).commit({.checkpointer = saver});
    cancel = [&] { flow.cancel("1"); };
    Notes events;
    wf::RunOptions options;
    options.on_event = [&](const wf::RunEvent& event) { events.add(describe(event)); };
    const auto run = flow.start("1", 1, options);
    CHECK((run.status == RunStatus::canceled));
    CHECK(events.take() ==
          Strings{"start", "step-start step", "step-result step success", "canceled", "finish canceled"});
    const auto stored = flow.get("1");
    CHECK((stored.status == RunStatus::canceled));
    CHECK((stored.view.steps.at("step").status == StepStatus::success));
    CHECK(stored.view.steps.at("step").output == sg::Value(2));
    CHECK(!stored.view.steps.contains("inc"));
}

namespace {

/// Adds 1, 10 and 100, and the caller's bonus at the end.
struct Sum {
    Notes notes;
    wf::TypedStep<int, int> a = wf::step("a", [this](const int& n) { return add("a", n, 1); });
    wf::TypedStep<int, int> b = wf::step("b", [this](const int& n) { return add("b", n, 10); });
    wf::TypedStep<int, int> c = wf::step("c", [this](const int& n, wf::Context& context) {
        return add("c", n, 100 + context.requestContext<int>("bonus").value_or(0));
    });
    wf::Workflow<int, int> flow = wf::workflow<int>("sum").then(a).then(b).then(c).commit(inMemory());

private:
    int add(const char* name, int n, int more) {
        notes.add(name);
        return n + more;
    }
};

}  // namespace

TEST_CASE("time travel executes a step and those after it with another input, which replaces the output before it") {
    Sum sum;
    CHECK(sum.flow.start("1", 1, {.context = {{"bonus", sg::Value(1000)}}}).result == 1112);
    const auto history = sum.flow.flow().history("1");
    sum.notes.take();
    const auto travelled = sum.flow.timeTravel("1", sum.c, 5000, {.context = {{"bonus", sg::Value(2000)}}});
    CHECK(travelled.result == 7100);
    CHECK(sum.notes.take() == Strings{"c"});
    CHECK(travelled.view.steps.at("b").output == sg::Value(5000));
    CHECK(travelled.view.steps.at("c").payload == sg::Value(5000));
    CHECK(sum.flow.flow().get("1", history.front()).result == sg::Value(1112));
    const auto one = sum.flow.timeTravel("1", sum.b, 7, {.single_step = true});
    CHECK((one.status == RunStatus::paused));
    CHECK(sum.notes.take() == Strings{"b"});
    CHECK(one.view.steps.at("b").output == sg::Value(17));
    CHECK(!one.view.steps.contains("c"));
    CHECK((sum.flow.get("1").status == RunStatus::paused));
    CHECK(sum.flow.timeTravel("1", sum.c).result == 2117);
}

TEST_CASE("time travel to a step that does not exist is refused and writes nothing") {
    Sum sum;
    sum.flow.start("1", 1);
    const auto history = sum.flow.flow().history("1");
    const auto before = sum.flow.flow().snapshot("1");
    sum.notes.take();
    checkRefused(Refusal::invalid_target, [&] { sum.flow.flow().timeTravel("1", "nowhere", sg::Value(5), {}); });
    CHECK(sum.flow.flow().history("1") == history);
    CHECK(sum.flow.flow().snapshot("1") == before);
    CHECK(sum.notes.take().empty());
}

TEST_CASE("time travel to a step after a block gives it what the block has returned") {
    const auto a = wf::clone(inc, "a");
    const auto b = wf::clone(inc, "b");
    const auto add =
        wf::step("add", [](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); });
    const auto flow = wf::workflow<int>("block").parallel(a, b).then(add).commit(inMemory());
    CHECK(flow.start("1", 1).result == 4);
    const auto travelled = flow.timeTravel("1", add);
    CHECK(travelled.error == "");
    CHECK(travelled.result == 4);
}

TEST_CASE("a process that dies in a parallel block leaves its finished members, which are not executed again") {
    const auto store = std::make_shared<sg::MemorySaver>();
    Notes notes;
    const auto first = std::make_shared<ProcessSaver>(store);
    std::promise<void> stored;
    first->after_put = [&](const sg::PutRequest& request) {
        for (const auto& write : request.writes) {
            if (write.path == "pull:done") stored.set_value();
        }
    };
    const auto done = wf::step("done", [&](const int& n) {
        notes.add("done");
        return n + 1;
    });
    const auto dies = wf::step("dies", [&](const int& n) -> int {
        notes.add("dies");
        if (first->is_dead) return n + 2;
        CHECK((stored.get_future().wait_for(5min) == std::future_status::ready));
        first->is_dead = true;
        throw wf::PermanentError("the process has ended");
    });
    const auto process = [&](const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
        return wf::workflow<int>("block").parallel(done, dies).commit({.checkpointer = saver});
    };
    CHECK_THROWS_AS(process(first).start("1", 1), sg::SaverError);
    CHECK(notes.takeSorted() == Strings{"dies", "done"});
    CHECK((process(store).get("1").status == RunStatus::running));
    const auto run = process(store).restart("1");
    CHECK((run.result == std::tuple{2, 3}));
    CHECK(notes.take() == Strings{"dies"});
}

namespace {

/// Events of two members of a block: both begin before either ends.
void checkOverlapping(Strings events, const std::string& a, const std::string& b) {
    REQUIRE(events.size() == 4);
    std::sort(events.begin(), events.begin() + 2);
    std::sort(events.begin() + 2, events.end());
    CHECK(events == Strings{"step-start " + a, "step-start " + b, "step-result " + a + " success",
                            "step-result " + b + " success"});
}

}  // namespace

TEST_CASE("a run reports its steps in order, also those of blocks, loops, lists and workflows inside") {
    std::barrier meet(2);
    const auto says = wf::step("says", [](const int& n, wf::Context& context) {
        context.write(sg::Value("working"));
        return n + 1;
    });
    const auto meets = wf::step("p", [&](const int& n) {
        meet.arrive_and_wait();
        return n;
    });
    const auto inner = wf::workflow<int>("inner").then(says).commit();
    const auto flow =
        wf::workflow<int>("events")
            .then(wf::clone(says, "a"))
            .parallel(meets, wf::clone(meets, "q"))
            .map([](const std::tuple<int, int>& both) {
                return std::vector<int>{std::get<0>(both), 5};
            })
            .foreach (wf::clone(inc, "each"))
            .map([](const std::vector<int>& all) { return all.at(0) + all.at(1); })
            .dountil(wf::clone(inc, "loop"), [](const int&, const wf::Scope& scope) { return scope.iteration() == 2; })
            .then("nested", inner)
            .then(gate)
            .commit(inMemory());
    Notes notes;
    wf::RunOptions options;
    options.on_event = [&](const wf::RunEvent& event) { notes.add(describe(event)); };
    REQUIRE((flow.start("1", 1, options).status == RunStatus::suspended));
    Strings events = notes.take();
    REQUIRE(events.size() > 8);
    checkOverlapping(Strings(events.begin() + 4, events.begin() + 8), "p", "q");
    events.erase(events.begin() + 4, events.begin() + 8);
    CHECK(events == Strings{"start",
                            "step-start a",
                            "step-output a working",
                            "step-result a success",
                            "step-start mapping_events_2",
                            "step-result mapping_events_2 success",
                            "step-start each",
                            "step-progress each 0 success",
                            "step-progress each 1 success",
                            "step-result each success",
                            "step-start mapping_events_4",
                            "step-result mapping_events_4 success",
                            "step-start loop",
                            "step-result loop success",
                            "step-start loop",
                            "step-result loop success",
                            "step-start nested",
                            "step-start nested.says",
                            "step-output nested.says working",
                            "step-result nested.says success",
                            "step-result nested success",
                            "step-start gate",
                            "step-suspended gate suspended",
                            "finish suspended"});
    CHECK((flow.resume("1", gate, 1, options).status == RunStatus::success));
    CHECK(notes.take() == Strings{"start", "step-start gate", "step-result gate success", "finish success"});
}

TEST_CASE("retries are not reported, a bail and a failure are") {
    int executed = 0;
    const auto flaky = wf::step("flaky",
                                [&](const int& n) {
                                    if (++executed < 3) throw std::runtime_error("not yet");
                                    return n;
                                },
                                {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = 0ms}});
    const auto decides = wf::step("decides", [](const int& n, wf::Context& context) {
        if (n > 1) context.bail(n);
        if (n < 0) throw std::runtime_error("negative");
        return n;
    });
    const auto flow = wf::workflow<int>("ends").then(flaky).then(decides).then(inc).commit(inMemory());
    Notes notes;
    wf::RunOptions options;
    options.on_event = [&](const wf::RunEvent& event) { notes.add(describe(event)); };
    CHECK(flow.start("bails", 5, options).result == 5);
    CHECK(notes.take() == Strings{"start", "step-start flaky", "step-result flaky success", "step-start decides",
                                  "step-result decides bailed", "finish success"});
    CHECK(flow.start("fails", -5, options).error == "negative");
    CHECK(notes.take() == Strings{"start", "step-start flaky", "step-result flaky success", "step-start decides",
                                  "step-result decides failed", "finish failed"});
}
