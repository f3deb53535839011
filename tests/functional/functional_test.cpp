#include <atomic>
#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/cache.hpp>
#include <stategraph/control.hpp>
#include <stategraph/functional.hpp>

#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

using namespace std::chrono_literals;

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
        const auto flow = sg::entrypoint("flow",
                                         [&log](const int& input, sg::Calls& fn) {
                                             const int doubled = fn.call(
                                                 "double",
                                                 [&log](int n) {
                                                     log.add("double");
                                                     return 2 * n;
                                                 },
                                                 input);
                                             const auto name = fn.interrupt<std::string>("whose?");
                                             const std::string text = fn.call(
                                                 "text",
                                                 [&log](const std::string& of, int n) {
                                                     log.add("text");
                                                     return of + ":" + std::to_string(n);
                                                 },
                                                 name, doubled);
                                             return text;
                                         },
                                         {.checkpointer = store.open()});
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
        const auto flow =
            sg::entrypoint("flow",
                           [&](const std::string& input, sg::Calls& fn) {
                               std::string text = input;
                               for (int i = 0; i < 3; ++i) {
                                   text = fn.call(
                                       "step",
                                       [&](const std::string& before) {
                                           log.add(before);
                                           if (before == "ab" && fails) throw std::runtime_error("broken");
                                           return before + static_cast<char>('a' + static_cast<int>(before.size()));
                                       },
                                       text);
                               }
                               return text;
                           },
                           {.checkpointer = saver});
        CHECK_THROWS_WITH_AS(flow.invoke("a", thread_t), doctest::Contains("broken"), sg::NodeError);
        fails = false;
        CHECK(flow.invoke(sg::RESUME, thread_t).values == "abcd");
        CHECK(log.take() == Strings{"a", "ab", "ab", "abc"});
    });
}

TEST_CASE("the next run of a thread finds what the last one returned, or what it asked to be saved") {
    auto saver = std::make_shared<sg::MemorySaver>();
    const auto sum = sg::entrypoint(
        "sum",
        [](const int& input, sg::Calls&, const std::optional<int>& previous) { return input + previous.value_or(0); },
        {.checkpointer = saver});
    CHECK(sum.invoke(1, thread_t).values == 1);
    CHECK(sum.invoke(2, thread_t).values == 3);
    CHECK(sum.invoke(3, thread_t).values == 6);

    const auto counts = sg::entrypoint(
        "counts",
        [](const std::string& input, sg::Calls&, const std::optional<int>& previous) {
            return sg::Final<std::string, int>{input + std::to_string(previous.value_or(0)), previous.value_or(0) + 1};
        },
        {.checkpointer = saver});
    CHECK(counts.invoke("a", {.thread_id = "u"}).values == "a0");
    CHECK(counts.invoke("b", {.thread_id = "u"}).values == "b1");
}

TEST_CASE("calls that are started run at the same time, and are stored like others") {
    savers::onEach([](savers::Store& store) {
        auto saver = store.open();
        std::atomic<int> calls{0};
        std::atomic<bool> fails{true};
        const auto flow = sg::entrypoint("flow",
                                         [&](const int& input, sg::Calls& fn) {
                                             std::vector<sg::CallFuture<int>> futures;
                                             for (int i = 0; i < input; ++i) {
                                                 futures.push_back(fn.start(
                                                     "square",
                                                     [&calls](int n) {
                                                         ++calls;
                                                         return n * n;
                                                     },
                                                     i));
                                             }
                                             int sum = 0;
                                             for (const auto& future : futures) sum += future.get();
                                             if (fails) throw std::runtime_error("broken");
                                             return sum;
                                         },
                                         {.checkpointer = saver});
        CHECK_THROWS_AS(flow.invoke(10, thread_t), sg::NodeError);
        fails = false;
        CHECK(flow.invoke(sg::RESUME, thread_t).values == 285);
        CHECK(calls == 10);
    });
}

TEST_CASE("a started call that fails fails where it is waited for, and the others are waited for all the same") {
    std::atomic<int> ended{0};
    const auto flow = sg::entrypoint("flow", [&](const int&, sg::Calls& fn) {
        auto broken = fn.start(
            "broken", [](int n) -> int { throw std::runtime_error("broken " + std::to_string(n)); }, 7);
        for (int i = 0; i < 3; ++i)
            fn.start(
                "other", [&ended](int) { return ++ended; }, i);
        return broken.get();
    });
    CHECK_THROWS_WITH_AS(flow.invoke(0), doctest::Contains("broken 7"), sg::NodeError);
    CHECK(ended == 3);
}

TEST_CASE("a call is tried as often as its policy says") {
    std::atomic<int> calls{0};
    const auto flow = sg::entrypoint("flow", [&](const int&, sg::Calls& fn) {
        return fn.callWith("flaky", {.retry = {.max_attempts = 3, .initial_interval = 0ms, .jitter = false}}, [&calls] {
            if (++calls < 3) throw std::runtime_error("not yet");
            return static_cast<int>(calls);
        });
    });
    CHECK(flow.invoke(0).values == 3);
}

TEST_CASE("a call whose policy cannot be is refused before it is made") {
    const sg::RetryPolicy no_predicate{.max_attempts = 3, .retry_on = nullptr};
    const sg::RetryPolicy no_attempt{.max_attempts = 0};
    for (const sg::RetryPolicy& policy : {no_predicate, no_attempt}) {
        CAPTURE(policy.max_attempts);
        int calls = 0;
        const auto work = [&calls] { return ++calls; };
        const auto direct = sg::entrypoint(
            "direct", [&](const int&, sg::Calls& fn) { return fn.callWith("work", {.retry = policy}, work); });
        CHECK_THROWS_WITH(direct.invoke(0),
                          doctest::Contains(policy.max_attempts == 0 ? "call 'work': retry.max_attempts is 0"
                                                                     : "call 'work': retry.retry_on is null"));
        const auto started = sg::entrypoint(
            "started", [&](const int&, sg::Calls& fn) { return fn.startWith("work", {.retry = policy}, work).get(); });
        CHECK_THROWS_WITH(started.invoke(0), doctest::Contains("call 'work': retry."));
        CHECK(calls == 0);
    }
}

TEST_CASE("an entrypoint sleeps, is stopped and has state and history like any graph") {
    auto saver = std::make_shared<sg::MemorySaver>();
    const auto flow = sg::entrypoint("flow",
                                     [](const int& input, sg::Calls& fn) {
                                         fn.sleepUntil(std::chrono::system_clock::time_point(4'000'000'000s));
                                         return input;
                                     },
                                     {.checkpointer = saver});
    CHECK((flow.invoke(1, thread_t).status == Status::sleeping));
    CHECK(flow.graph().getState(thread_t).next == Strings{"flow"});
    auto control = std::make_shared<sg::RunControl>();
    control->requestStop();
    sg::RunConfig config = thread_t;
    config.control = control;
    CHECK((flow.invoke(sg::RESUME, config).status == Status::cancelled));
}

TEST_CASE("a call without a name is refused") {
    const auto flow = sg::entrypoint("flow", [](const int& input, sg::Calls& fn) {
        return fn.call(
            "", [](int n) { return n; }, input);
    });
    CHECK_THROWS_WITH_AS(flow.invoke(1), doctest::Contains("with a name of 0 bytes"), sg::NodeError);
}

namespace {

// Counts the requests to a cache, and makes it fail.
class WatchedCache final : public sg::BaseCache {
public:
    bool fails = false;
    std::optional<std::string> get(std::string_view ns, std::string_view key) override {
        if (fails) throw std::runtime_error("no cache");
        return inner_.get(ns, key);
    }
    void set(std::string_view ns, std::string_view key, std::string_view value,
             std::optional<std::chrono::milliseconds> ttl) override {
        if (fails) throw std::runtime_error("no cache");
        names.add(std::string(ns));
        inner_.set(ns, key, damages ? "damaged" : value, ttl);
    }
    void remove(std::string_view ns, std::string_view key) override { inner_.remove(ns, key); }
    void clear(std::string_view ns) override { inner_.clear(ns); }
    void clear() override { inner_.clear(); }
    bool damages = false;
    Log names;

private:
    sg::MemoryCache inner_;
};

}  // namespace

TEST_CASE("a cached call is made once for its arguments, whichever thread and run makes it") {
    savers::onEach([](savers::Store& store) {
        Log log;
        const auto cache = std::make_shared<sg::MemoryCache>();
        const auto flow = sg::entrypoint(
            "flow",
            [&log](const std::string& input, sg::Calls& fn) {
                const auto length = [&log](const std::string& text, int) {
                    log.add(text);
                    return static_cast<int>(text.size());
                };
                const int once = fn.callWith("length", {.cache = sg::CallCache{}}, length, input, 1);
                return once + fn.startWith("length", {.cache = sg::CallCache{}}, length, "fixed", 2).get();
            },
            {.checkpointer = store.open(), .cache = cache});
        for (const char* thread : {"a", "b"}) {
            CHECK(flow.invoke("four", {.thread_id = thread}).values == 9);
            CHECK(flow.invoke("sixsix", {.thread_id = thread}).values == 11);
        }
        CHECK(log.takeSorted() == Strings{"fixed", "four", "sixsix"});
        cache->clear();
        flow.invoke("four", {.thread_id = "a"});
        CHECK(log.takeSorted() == Strings{"fixed", "four"});
    });
}

TEST_CASE("cached calls are kept apart by name and namespace, and not kept when they fail") {
    Log log;
    int failures = 1;
    const auto flow =
        sg::entrypoint("flow",
                       [&](const int& input, sg::Calls& fn) {
                           const auto called = [&log](std::string what) {
                               return [&log, what](int) {
                                   log.add(what);
                                   return what;
                               };
                           };
                           fn.callWith("one", {.cache = sg::CallCache{}}, called("one"), input);
                           fn.callWith("two", {.cache = sg::CallCache{}}, called("two"), input);
                           fn.callWith("one", {.cache = sg::CallCache{.ns = "v2"}}, called("one v2"), input);
                           fn.callWith("a|b", {.cache = sg::CallCache{}}, called("a|b"), input);
                           fn.callWith("a", {.cache = sg::CallCache{.ns = "b|"}}, called("a in b|"), input);
                           return fn.callWith(
                               "fails", {.cache = sg::CallCache{}},
                               [&](int) {
                                   log.add("fails");
                                   if (failures-- > 0) throw std::runtime_error("broken");
                                   return std::string("done");
                               },
                               input);
                       },
                       {.cache = std::make_shared<sg::MemoryCache>()});
    CHECK_THROWS_AS(flow.invoke(1), sg::NodeError);
    CHECK(log.take() == Strings{"one", "two", "one v2", "a|b", "a in b|", "fails"});
    CHECK(flow.invoke(1).values == "done");
    CHECK(log.take() == Strings{"fails"});
    CHECK(flow.invoke(1).values == "done");
    CHECK(log.take().empty());
    CHECK(flow.invoke(2).values == "done");
    CHECK(log.take() == Strings{"one", "two", "one v2", "a|b", "a in b|", "fails"});
}

TEST_CASE("without a cache, with one that fails and with one that returns something else calls are made") {
    for (const int kind : {0, 1, 2}) {
        Log log;
        const auto cache = std::make_shared<WatchedCache>();
        cache->fails = kind == 1;
        cache->damages = kind == 2;
        const auto flow = sg::entrypoint("flow",
                                         [&log](const int& input, sg::Calls& fn) {
                                             return fn.callWith(
                                                 "call", {.cache = sg::CallCache{}},
                                                 [&log](int n) {
                                                     log.add("call");
                                                     return n + 1;
                                                 },
                                                 input);
                                         },
                                         {.cache = kind == 0 ? nullptr : cache});
        CHECK(flow.invoke(1).values == 2);
        CHECK(flow.invoke(1).values == 2);
        CHECK(log.take() == Strings{"call", "call"});
    }
}

TEST_CASE("a cached call whose arguments cannot be stored, or whose time to live is none, is refused") {
    struct Handle {};
    const auto cache = std::make_shared<sg::MemoryCache>();
    const auto unstorable = sg::entrypoint("flow",
                                           [](const int& input, sg::Calls& fn) {
                                               return fn.callWith(
                                                   "call", {.cache = sg::CallCache{}},
                                                   [](const Handle&, int n) { return n; }, Handle{}, input);
                                           },
                                           {.cache = cache});
    CHECK_THROWS_WITH_AS(unstorable.invoke(1), doctest::Contains("cannot be stored"), sg::NodeError);
    const auto over =
        sg::entrypoint("flow",
                       [](const int& input, sg::Calls& fn) {
                           return fn.callWith(
                               "call", {.cache = sg::CallCache{.ttl = 0ms}}, [](int n) { return n; }, input);
                       },
                       {.cache = cache});
    CHECK_THROWS_WITH_AS(over.invoke(1), doctest::Contains("ttl of 0 ms"), sg::NodeError);
}
