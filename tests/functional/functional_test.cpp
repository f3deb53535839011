#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>
#include <stategraph/functional.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Ordinary functions whose calls are stored.
using graphs::Log;
using graphs::Strings;
namespace sg = stategraph;
using sg::Status;

namespace {

const sg::Config thread_t{.thread_id = "t"};

}  // namespace

TEST_CASE("an entrypoint returns what its function does, and stores what its calls returned") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto flow = sg::entrypoint("flow", [&log](const int& input, sg::Flow& fn) {
            const int doubled = fn.call("double", [&log](int n) {
                log.add("double");
                return 2 * n;
            }, input);
            const auto name = fn.interrupt<std::string>("whose?");
            const std::string text = fn.call("text", [&log](const std::string& of, int n) {
                log.add("text");
                return of + ":" + std::to_string(n);
            }, name, doubled);
            return text;
        }, {.checkpointer = store.open()});
        const auto asked = flow.invoke(21, thread_t);
        CHECK((asked.status == Status::interrupted));
        CHECK_FALSE(asked.values);
        const auto result = flow.invoke(sg::Command<>{.resume = "Ada"}, thread_t);
        CHECK((result.status == Status::done));
        CHECK(result.values == "Ada:42");
        CHECK(log.take() == Strings{"double", "text"});
    });
}

TEST_CASE("a run that failed is resumed with the results of the calls that were made") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        std::atomic<bool> fails{true};
        Log log;
        const auto flow = sg::entrypoint("flow", [&](const std::string& input, sg::Flow& fn) {
            std::string text = input;
            for (int i = 0; i < 3; ++i) {
                text = fn.call("step", [&](const std::string& before) {
                    log.add(before);
                    if (before == "ab" && fails) throw std::runtime_error("broken");
                    return before + static_cast<char>('a' + static_cast<int>(before.size()));
                }, text);
            }
            return text;
        }, {.checkpointer = saver});
        CHECK_THROWS_WITH_AS(flow.invoke("a", thread_t), doctest::Contains("broken"), sg::NodeError);
        fails = false;
        CHECK(flow.invoke(sg::RESUME, thread_t).values == "abcd");
        CHECK(log.take() == Strings{"a", "ab", "ab", "abc"});
    });
}

TEST_CASE("the next run of a thread finds what the last one returned, or what it asked to be saved") {
    auto saver = std::make_shared<sg::MemorySaver>();
    const auto sum = sg::entrypoint("sum", [](const int& input, sg::Flow&, const std::optional<int>& previous) {
        return input + previous.value_or(0);
    }, {.checkpointer = saver});
    CHECK(sum.invoke(1, thread_t).values == 1);
    CHECK(sum.invoke(2, thread_t).values == 3);
    CHECK(sum.invoke(3, thread_t).values == 6);

    const auto counts = sg::entrypoint("counts", [](const std::string& input, sg::Flow&, const std::optional<int>& previous) {
        return sg::Final<std::string, int>{input + std::to_string(previous.value_or(0)), previous.value_or(0) + 1};
    }, {.checkpointer = saver});
    CHECK(counts.invoke("a", {.thread_id = "u"}).values == "a0");
    CHECK(counts.invoke("b", {.thread_id = "u"}).values == "b1");
}

TEST_CASE("calls that are started go on at once, and are stored like others") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        std::atomic<int> calls{0};
        std::atomic<bool> fails{true};
        const auto flow = sg::entrypoint("flow", [&](const int& input, sg::Flow& fn) {
            std::vector<sg::FlowFuture<int>> futures;
            for (int i = 0; i < input; ++i) {
                futures.push_back(fn.start("square", [&calls](int n) {
                    ++calls;
                    return n * n;
                }, i));
            }
            int sum = 0;
            for (const auto& future : futures) sum += future.get();
            if (fails) throw std::runtime_error("broken");
            return sum;
        }, {.checkpointer = saver});
        CHECK_THROWS_AS(flow.invoke(10, thread_t), sg::NodeError);
        fails = false;
        CHECK(flow.invoke(sg::RESUME, thread_t).values == 285);
        CHECK(calls == 10);
    });
}

TEST_CASE("a started call that fails fails where it is waited for, and the others are waited for all the same") {
    std::atomic<int> ended{0};
    const auto flow = sg::entrypoint("flow", [&](const int&, sg::Flow& fn) {
        auto broken = fn.start("broken", [](int n) -> int { throw std::runtime_error("broken " + std::to_string(n)); }, 7);
        for (int i = 0; i < 3; ++i) fn.start("other", [&ended](int) { return ++ended; }, i);
        return broken.get();
    });
    CHECK_THROWS_WITH_AS(flow.invoke(0), doctest::Contains("broken 7"), sg::NodeError);
    CHECK(ended == 3);
}

TEST_CASE("a call is tried as often as its policy says") {
    std::atomic<int> calls{0};
    const auto flow = sg::entrypoint("flow", [&](const int&, sg::Flow& fn) {
        return fn.callWith("flaky", {.retry = {.max_attempts = 3, .initial_interval_ms = 0, .jitter = false}}, [&calls] {
            if (++calls < 3) throw std::runtime_error("not yet");
            return static_cast<int>(calls);
        });
    });
    CHECK(flow.invoke(0).values == 3);
}

TEST_CASE("an entrypoint sleeps, is stopped and has state and history like any graph") {
    auto saver = std::make_shared<sg::MemorySaver>();
    const auto flow = sg::entrypoint("flow", [](const int& input, sg::Flow& fn) {
        fn.sleepUntil(4'000'000'000'000);
        return input;
    }, {.checkpointer = saver});
    CHECK((flow.invoke(1, thread_t).status == Status::sleeping));
    CHECK(flow.graph().getState(thread_t).next == Strings{"flow"});
    auto control = std::make_shared<sg::RunControl>();
    control->requestStop();
    sg::RunConfig config = thread_t;
    config.control = control;
    CHECK((flow.invoke(sg::RESUME, config).status == Status::cancelled));
}

TEST_CASE("a call without a name is refused") {
    const auto flow = sg::entrypoint("flow", [](const int& input, sg::Flow& fn) { return fn.call("", [](int n) { return n; }, input); });
    CHECK_THROWS_WITH_AS(flow.invoke(1), doctest::Contains("with a name of 0 bytes"), sg::NodeError);
}
