#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/error.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/functional.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Functions of calls that make calls themselves, each on Calls of its own.
using graphs::Log;
using graphs::Strings;
namespace sg = stategraph;
using sg::Status;

namespace {

const sg::Config thread_t{.thread_id = "t"};

/// Returns the sum of a tree of started calls, with `width` calls at each of `depth` levels. The leaves are 1.
int sumOf(sg::Calls& flow, Log& log, int depth, int width) {
    if (depth == 0) {
        log.add("leaf");
        return 1;
    }
    std::vector<sg::CallFuture<int>> parts;
    for (int i = 0; i < width; ++i) {
        parts.push_back(flow.start(
            "part", [&log](sg::Calls& own, int left, int wide) { return sumOf(own, log, left, wide); }, depth - 1,
            width));
    }
    int sum = 0;
    for (const auto& part : parts) sum += part.get();
    return sum;
}

}  // namespace

TEST_CASE("a function that was started starts others, in every driver, and each leaf is made once") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            Log log;
            const auto tree =
                sg::entrypoint("tree", [&log](const int& depth, sg::Calls& flow) { return sumOf(flow, log, depth, 3); },
                               {.checkpointer = saver});
            using State = typename decltype(tree)::State;
            const auto outcome =
                driver.run(tree.graph(), sg::Update<State>{sg::set(&State::input, 3)}, {.thread_id = driver.name});
            REQUIRE(outcome.what() == "");
            CHECK(outcome.values.output == 27);
            CHECK(log.entries().size() == 27);
        }
    });
}

TEST_CASE("threads of a small executor that all wait for nested calls do not wait for ever") {
    for (const std::size_t threads : {1, 2}) {
        CAPTURE(threads);
        Log log;
        const auto executor = std::make_shared<sg::Executor>(sg::ExecutorOptions{.threads_max = threads});
        const auto tree =
            sg::entrypoint("tree", [&log](const int& depth, sg::Calls& flow) { return sumOf(flow, log, depth, 2); },
                           {.executor = executor});
        CHECK(tree.invoke(7).values == 128);
        CHECK(log.entries().size() == 128);
    }
}

TEST_CASE(
    "what nested calls returned is stored under their caller's: after a failure, an answer or a crash nothing is made "
    "twice") {
    savers::onEach([](savers::Store& store) {
        Log log;
        std::atomic<bool> fails{true};
        // Both branches make calls of the same names.
        const auto branch = [&](sg::Calls& flow, const std::string& name) {
            const std::string first = flow.call(
                "step",
                [&](const std::string& of) {
                    log.add(of + "1");
                    return of + "1";
                },
                name);
            const auto second = flow.start(
                "step",
                [&](const std::string& of) {
                    if (of == "b" && fails) throw std::runtime_error("broken");
                    log.add(of + "2");
                    return of + "2";
                },
                name);
            return first + second.get();
        };
        const auto flow = sg::entrypoint("flow",
                                         [&](const int&, sg::Calls& fn) {
                                             const auto a = fn.start("branch", branch, std::string("a"));
                                             const auto b = fn.start("branch", branch, std::string("b"));
                                             const std::string both = a.get() + b.get();
                                             return both + fn.interrupt<std::string>("more?");
                                         },
                                         {.checkpointer = store.open()});
        CHECK_THROWS_AS(flow.invoke(0, thread_t), sg::NodeError);
        CHECK(log.takeSorted() == Strings{"a1", "a2", "b1"});
        fails = false;
        CHECK((flow.invoke(sg::RESUME, thread_t).status == Status::interrupted));
        CHECK(log.takeSorted() == Strings{"b2"});
        const auto done = flow.invoke(sg::Command<>{.resume = "!"}, thread_t);
        CHECK(done.values == "a1a2b1b2!");
        CHECK(log.take().empty());
    });
}

TEST_CASE("nested functions ask and sleep on their own Calls, and each gets its own answer") {
    savers::onEach([](savers::Store& store) {
        const auto flow = sg::entrypoint(
            "flow",
            [](const int&, sg::Calls& fn) {
                const auto asks = [](sg::Calls& own, const std::string& name) {
                    return own.call(
                        "inner",
                        [](sg::Calls& in, const std::string& of) { return of + "=" + in.interrupt<std::string>(of); },
                        name);
                };
                const std::string first = fn.start("ask", asks, std::string("x")).get();
                const std::string second = fn.start("ask", asks, std::string("y")).get();
                const auto sleeps = [](sg::Calls& own) {
                    own.sleepUntil(std::chrono::system_clock::time_point(std::chrono::milliseconds(1)));  // long over
                    return 1;
                };
                return first + second + std::to_string(fn.start("sleep", sleeps).get());
            },
            {.checkpointer = store.open()});
        auto asked = flow.invoke(0, thread_t);
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].value.toJson() == "\"x\"");
        asked = flow.invoke(sg::Command<>{.resume = "1"}, thread_t);
        REQUIRE(asked.interrupts.size() == 1);
        CHECK(asked.interrupts[0].value.toJson() == "\"y\"");
        auto done = flow.invoke(sg::Command<>{.resume = "2"}, thread_t);
        if (done.status == Status::sleeping) done = flow.invoke(sg::RESUME, thread_t);
        CHECK((done.status == Status::done));
        CHECK(done.values == "x=1y=21");
    });
}

TEST_CASE("an attempt of a function counts its calls from the beginning") {
    Log log;
    const auto flow = sg::entrypoint("flow", [&log](const int&, sg::Calls& fn) {
        int attempts = 0;
        return fn.callWith(
            "outer", {.retry = {.max_attempts = 3, .initial_interval = std::chrono::milliseconds(0), .jitter = false}},
            [&](sg::Calls& own) {
                const int a = own.call("in", [&log] {
                    log.add("in");
                    return 1;
                });
                const int b = own.call("in", [&log] {
                    log.add("in");
                    return 2;
                });
                if (++attempts < 3) throw std::runtime_error("again");
                return a * 10 + b;
            });
    });
    CHECK(flow.invoke(0).values == 12);
    CHECK(log.entries().size() == 2);
}

TEST_CASE("a started function that calls on the Calls it was started on is refused, and the error says what to do") {
    for (const bool starts : {false, true}) {
        const auto flow = sg::entrypoint("flow", [starts](const int&, sg::Calls& fn) {
            return fn
                .start("outer",
                       [&fn, starts] {
                           const auto inner = [] { return 1; };
                           return starts ? fn.start("inner", inner).get() : fn.call("inner", inner);
                       })
                .get();
        });
        try {
            flow.invoke(0);
            FAIL("it ran");
        } catch (const sg::Error& error) {
            CHECK(std::string(error.what()).find("take a Calls&") != std::string::npos);
            CHECK(std::string(error.what()).find("'inner'") != std::string::npos);
        }
    }
}

TEST_CASE("keys stay short at any depth, and calls of one name at several depths are different calls") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const std::string name(150, 'n');
    const auto flow = sg::entrypoint(
        "flow",
        [&](const int& depth, sg::Calls& fn) {
            const auto down = [&name](const auto& self, sg::Calls& own, int left) -> int {
                if (left == 0) return 0;
                return left + own.call(name, [&](sg::Calls& next) { return self(self, next, left - 1); });
            };
            return down(down, fn, depth);
        },
        {.checkpointer = saver});
    CHECK(flow.invoke(10, thread_t).values == 55);
}

TEST_CASE("cached results of one call can be cleared, by name and namespace") {
    Log log;
    const auto cache = std::make_shared<sg::MemoryCache>();
    const auto flow = sg::entrypoint(
        "flow",
        [&log](const int& n, sg::Calls& fn) {
            const auto logged = [&log](const char* name) {
                return [&log, name](int of) {
                    log.add(name);
                    return of;
                };
            };
            const sg::CallOptions cached{.cache = sg::CallCache{}};
            const sg::CallOptions versioned{.cache = sg::CallCache{.ns = "v2"}};
            return fn.callWith("a", cached, logged("a"), n) + fn.callWith("b", cached, logged("b"), n) +
                   fn.callWith("a", versioned, logged("a2"), n) +
                   fn.call("nest", [&](sg::Calls& own) { return own.callWith("a", cached, logged("nested"), n); });
        },
        {.cache = cache});
    CHECK(flow.invoke(5).values == 20);
    CHECK(log.take() == Strings{"a", "b", "a2"});
    CHECK(flow.invoke(5).values == 20);
    CHECK(log.take().empty());
    flow.clearCache("a");
    CHECK(flow.invoke(5).values == 20);
    CHECK(log.take() == Strings{"a"});
    flow.clearCache("a", "v2");
    CHECK(flow.invoke(5).values == 20);
    CHECK(log.take() == Strings{"a2"});
    flow.clearCache("unknown");
    CHECK(flow.invoke(5).values == 20);
    CHECK(log.take().empty());
    const auto uncached = sg::entrypoint("flow", [](const int& n, sg::Calls&) { return n; });
    CHECK_THROWS_AS(uncached.clearCache("a"), sg::InvalidArgumentError);
}
