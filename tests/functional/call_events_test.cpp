#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/functional.hpp>
#include <stategraph/stream_hub.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// How the calls of an entrypoint are reported to listeners.
using graphs::contains;
using graphs::Strings;
namespace sg = stategraph;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

std::string field(const sg::StreamEvent& event, const std::string& name) {
    const std::string json = event.data.toJson();
    const std::size_t at = json.find('"' + name + "\":") + name.size() + 3;
    return json.substr(at, json.find_first_of(",}", at) - at);
}
/// Returns text such as "double begin 1" or "text failed 2 broken".
std::string brief(const sg::StreamEvent& event) {
    const auto bare = [](std::string text) {
        std::erase(text, '"');
        return text;
    };
    const std::string error = field(event, "error");
    return bare(field(event, "name")) + " " + bare(field(event, "event")) + " " + field(event, "attempt") +
           (error == "null" ? "" : " " + bare(error));
}
template <class Events>
Strings calls(const Events& events) {
    Strings all;
    for (const auto& event : events) {
        if (event.mode == StreamMode::calls) all.push_back(brief(event));
    }
    return all;
}

}  // namespace

TEST_CASE(
    "each call of an entrypoint is reported when it begins and when it has ended, and what was restored, in every "
    "driver") {
    for (const drivers::Driver& driver : drivers::crossed()) {
        CAPTURE(driver.name);
        std::atomic<bool> fails = true;
        const auto flow =
            sg::entrypoint("flow",
                           [&fails](const int& input, sg::Calls& fn) {
                               const int doubled = fn.call(
                                   "double", [](int n) { return 2 * n; }, input);
                               return fn.callWith(
                                   "flaky", {.retry = {.max_attempts = 2, .initial_interval = 1ms, .jitter = false}},
                                   [&fails](int n) {
                                       if (fails) throw std::runtime_error("broken");
                                       return n + 1;
                                   },
                                   doubled);
                           },
                           {.checkpointer = std::make_shared<sg::MemorySaver>()});
        const auto& app = flow.graph();
        sg::StreamHub hub(app);
        auto first = hub.subscribe("t", {.modes = StreamMode::calls, .until = sg::Until::run_end});
        using State = std::remove_cvref_t<decltype(flow)>::State;
        const auto failed =
            driver.run(app, sg::Update<State>{sg::set(&State::input, 4)}, {.thread_id = "t", .hub = &hub});
        CHECK(contains(failed.what(), "broken"));
        const Strings expected{"double begin 1",         "double done 1", "flaky begin 1",
                               "flaky retried 1 broken", "flaky begin 2", "flaky failed 2 broken"};
        Strings told;
        while (const auto event = first.next()) {
            told.push_back(brief(*event));
            CHECK(event->node == "flow");
            CHECK(!event->durable);
        }
        CHECK(told == expected);
        if (!calls(failed.events).empty()) CHECK(calls(failed.events) == expected);

        fails = false;
        auto second = hub.subscribe("t", {.modes = StreamMode::calls, .until = sg::Until::run_end});
        (void)driver.run(app, sg::RESUME, {.thread_id = "t", .hub = &hub}).get();
        Strings again;
        while (const auto event = second.next()) again.push_back(brief(*event));
        CHECK(again == Strings{"double restored 0", "flaky begin 1", "flaky done 1"});
    }
}

TEST_CASE(
    "a call that asks is reported as paused, one whose result is in the cache as cached, and several of one name by "
    "their keys") {
    const auto flow = sg::entrypoint(
        "flow",
        [](const int& input, sg::Calls& fn) {
            const sg::CallOptions cached{.cache = sg::CallCache{}};
            int sum = fn.callWith(
                "known", cached, [](int n) { return n; }, input);
            sum += fn.call(
                "twice", [](int n) { return n; }, 1);
            sum += fn.call(
                "twice", [](int n) { return n; }, 2);
            sum += fn.call("asks", [&fn] { return fn.interrupt<int>("how many?"); });
            return sum;
        },
        {.checkpointer = std::make_shared<sg::MemorySaver>(), .cache = std::make_shared<sg::MemoryCache>()});
    const auto& app = flow.graph();
    using State = std::remove_cvref_t<decltype(flow)>::State;
    const auto told = [&](const sg::ThreadId& thread, auto input, bool keys = false) {
        Strings all;
        const sg::RunConfig config{.thread_id = thread};
        for (const auto& event : app.stream(std::move(input), config, {.modes = StreamMode::calls})) {
            all.push_back(keys ? field(event, "key") : brief(event));
        }
        return all;
    };
    const sg::Update<State> input{sg::set(&State::input, 5)};
    CHECK(told("a", input) == Strings{"known begin 1", "known done 1", "twice begin 1", "twice done 1", "twice begin 1",
                                      "twice done 1", "asks begin 1", "asks paused 1"});
    CHECK(told("a", sg::Command<State>{.resume = 7}) ==
          Strings{"known restored 0", "twice restored 0", "twice restored 0", "asks begin 1", "asks done 1"});
    CHECK(told("b", input, true).front() == "\"call:known#0\"");
    CHECK(told("c", input).front() == "known cached 0");
}

TEST_CASE("calls that run at once are reported one at a time, each with its beginning and its end") {
    const auto flow = sg::entrypoint("flow", [](const int& input, sg::Calls& fn) {
        std::vector<sg::CallFuture<int>> futures;
        for (int i = 0; i < input; ++i)
            futures.push_back(fn.start(
                "square", [](int n) { return n * n; }, i));
        int sum = 0;
        for (const auto& future : futures) sum += future.get();
        return sum;
    });
    using State = std::remove_cvref_t<decltype(flow)>::State;
    int begun = 0;
    int done = 0;
    flow.graph().stream(sg::Update<State>{sg::set(&State::input, 20)}, {}, {.modes = StreamMode::calls},
                        [&](const sg::StreamEvent& event) {
                            begun += field(event, "event") == "\"begin\"";
                            done += field(event, "event") == "\"done\"";
                        });
    CHECK(begun == 20);
    CHECK(done == 20);
}
