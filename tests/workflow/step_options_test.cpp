#include <atomic>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/enough_time.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;
using namespace std::chrono_literals;

namespace {

sg::CompileOptions stored() { return {.checkpointer = std::make_shared<sg::MemorySaver>()}; }

// The first call lasts longer than any limit: until `may_end` is set.
struct Slow {
    std::atomic<int> calls = 0;
    std::atomic<bool> may_end = false;

    int call(int n) {
        if (calls++ == 0) {
            patience::until([&]() -> bool { return may_end; });
        }
        return n + 1;
    }
};

}  // namespace

TEST_CASE("a step that takes longer than it may has failed, and is retried as its policy says") {
    const auto slow = std::make_shared<Slow>();
    wf::StepOptions options{.timeout = 20ms};
    SUBCASE("in another attempt") {
        options.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = 1ms};
        std::vector<std::shared_ptr<Slow>> all;
        CHECK(withEnoughTime(20ms, [&](std::chrono::milliseconds limit) {
            options.timeout = limit;
            const auto other = all.emplace_back(std::make_shared<Slow>());
            const auto step = wf::step(
                "slow", [other](const int& n) { return other->call(n); }, options);
            const auto run = wf::workflow<int>("w").then(step).commit(stored()).start("1", 1);
            return run.status == RunStatus::success && run.view.steps.at("slow").attempts == 2;
        }));
        for (const auto& each : all) each->may_end = true;
    }
    SUBCASE("without one") {
        const auto step = wf::step(
            "slow", [slow](const int& n) { return slow->call(n); }, options);
        const auto flow = wf::workflow<int>("w").then(step).commit(stored());
        const auto run = flow.start("1", 1);
        CHECK((run.status == RunStatus::failed));
        CHECK(run.error.find("20 ms") != std::string::npos);
    }
    SUBCASE("as an element of a foreach") {
        const auto step = wf::step(
            "slow", [slow](const int& n) { return slow->call(n); }, options);
        const auto flow = wf::workflow<std::vector<int>>("w").foreach (step).commit(stored());
        CHECK((flow.start("1", {1, 2}).status == RunStatus::failed));
    }
    SUBCASE("as a workflow") {
        const auto inner = wf::workflow<int>("inner")
                               .then(wf::step("slow", [slow](const int& n) { return slow->call(n); }))
                               .commit({});
        wf::Definition outer{.id = "outer"};
        outer.entries.push_back({.steps = {{.id = "inside", .workflow = inner.definition(), .timeout = 20ms}}});
        const wf::Flow flow(std::move(outer), stored());
        CHECK((flow.start("1", 1).status == RunStatus::failed));
    }
    slow->may_end = true;
}

TEST_CASE("a step with a cache is executed once for equal inputs") {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    const auto cached = wf::step("square",
                                 [calls](const int& n) {
                                     ++*calls;
                                     return n * n;
                                 },
                                 {.cache = wf::StepCache{}});
    sg::CompileOptions options = stored();
    options.cache = std::make_shared<sg::MemoryCache>();
    const auto flow = wf::workflow<int>("w").then(cached).commit(options);
    CHECK(flow.start("1", 3).result == 9);
    CHECK(flow.start("2", 3).result == 9);
    CHECK(*calls == 1);
    CHECK(flow.start("3", 4).result == 16);
    CHECK(*calls == 2);
    // Another workflow, or another version, has its own cached outputs.
    const auto other = wf::workflow<int>("other").then(cached).commit(options);
    CHECK(other.start("1", 3).result == 9);
    CHECK(*calls == 3);
}

TEST_CASE("an execution that asked, or that set the state, is not kept in the cache") {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    const auto asking = wf::step("asking",
                                 [calls](const int& n, wf::Suspending<std::string, int>& context) {
                                     ++*calls;
                                     if (n == 0) {
                                         context.setState("seen", true);
                                         return 0;
                                     }
                                     return n + context.suspend("how much?");
                                 },
                                 {.cache = wf::StepCache{}});
    sg::CompileOptions options = stored();
    options.cache = std::make_shared<sg::MemoryCache>();
    const auto flow = wf::workflow<int>("w").then(asking).commit(options);
    for (const char* run : {"1", "2"}) {
        CHECK((flow.start(run, 5).status == RunStatus::suspended));
        CHECK(flow.resume(run, asking, 1).result == 6);
    }
    CHECK(*calls == 4);
    for (const char* run : {"3", "4"}) CHECK(flow.start(run, 0).view.state.contains("seen"));
    CHECK(*calls == 6);
}

TEST_CASE("a step's description and metadata are in the snapshot's graph") {
    const auto step = wf::step("a", [](const int& n) { return n; }, {.description = "does nothing", .metadata = 7});
    const auto flow = wf::workflow<int>("w").then(step).commit(stored());
    flow.start("1", 1);
    CHECK(flow.flow().snapshot("1").find(R"("step":{"id":"a","description":"does nothing","metadata":7})") !=
          std::string::npos);
}

TEST_CASE("a workflow as a step is not cached, and commit says so") {
    const auto inner = wf::workflow<int>("inner").then(wf::step("a", [](const int& n) { return n; })).commit({});
    wf::Definition outer{.id = "outer"};
    outer.entries.push_back({.steps = {{.id = "inside", .workflow = inner.definition(), .cache = wf::StepCache{}}}});
    CHECK_THROWS_WITH_AS(wf::Flow(std::move(outer), {}), doctest::Contains("cache its steps"), sg::InvalidGraphError);
}

TEST_CASE("a node's function is a step") {
    const auto node = wf::step("node", [](const int& n, sg::Runtime& runtime) { return n + runtime.attempt(); });
    CHECK(wf::workflow<int>("w").then(node).commit(stored()).start("1", 1).result == 2);
}
