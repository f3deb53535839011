#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>

#include "tests/support/graphs.hpp"

// The retry policy of a node.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

sg::RetryPolicy quick(int attempts) { return {.max_attempts = attempts, .initial_interval = 0.1ms, .jitter = false}; }

// A node that fails a number of times and logs what each attempt saw.
template <class E>
auto flaky(Log& log, int failures) {
    return [&log, failures](const State&, sg::Runtime& runtime) -> Update {
        log.add(std::to_string(runtime.attempt()));
        if (runtime.attempt() <= failures) throw E("not this time");
        return bar("done");
    };
}

template <class E>
App alone(Log& log, int failures, const sg::RetryPolicy& retry) {
    Graph graph;
    graph.addNode("a", flaky<E>(log, failures), {.retry = retry}).addEdge(sg::START, "a");
    return graph.compile();
}

}  // namespace

TEST_CASE("a node is tried as often as its policy says, within its superstep") {
    Log log;
    CHECK(alone<std::runtime_error>(log, 2, quick(3)).invoke(Update{}, {.recursion_limit = 1}).values.bar ==
          Strings{"done"});
    CHECK(log.take() == Strings{"1", "2", "3"});
    CHECK_THROWS_AS(alone<std::runtime_error>(log, 3, quick(3)).invoke(Update{}), sg::NodeError);
    CHECK(log.take() == Strings{"1", "2", "3"});
}

TEST_CASE("without a policy nothing is tried twice") {
    Log log;
    CHECK_THROWS_AS(alone<std::runtime_error>(log, 1, {}).invoke(Update{}), sg::NodeError);
    CHECK(log.take() == Strings{"1"});
}

// quirk 46: the default predicate
TEST_CASE("mistakes in code are not tried again, other failures are") {
    Log log;
    CHECK_THROWS_AS(alone<std::logic_error>(log, 1, quick(3)).invoke(Update{}), sg::NodeError);
    CHECK_THROWS_AS(alone<std::invalid_argument>(log, 1, quick(3)).invoke(Update{}), sg::NodeError);
    CHECK_THROWS_AS(alone<sg::InvalidArgumentError>(log, 1, quick(3)).invoke(Update{}), sg::NodeError);
    CHECK(log.take() == Strings{"1", "1", "1"});
    alone<std::range_error>(log, 1, quick(3)).invoke(Update{});
    CHECK(log.take() == Strings{"1", "2"});
}

TEST_CASE("a predicate of one's own decides") {
    Log log;
    auto policy = quick(3);
    policy.retry_on = [](const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::logic_error&) {
            return true;
        } catch (...) {
            return false;
        }
    };
    CHECK(alone<std::logic_error>(log, 1, policy).invoke(Update{}).values.bar == Strings{"done"});
    CHECK_THROWS_AS(alone<std::runtime_error>(log, 1, policy).invoke(Update{}), sg::NodeError);
    CHECK(log.take() == Strings{"1", "2", "1"});
}

TEST_CASE("the wait doubles up to its limit") {
    Log log;
    sg::RetryPolicy policy{.max_attempts = 4, .initial_interval = 8ms, .max_interval = 20ms, .jitter = false};
    const auto start = std::chrono::steady_clock::now();
    alone<std::runtime_error>(log, 3, policy).invoke(Update{});
    const auto ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    CHECK(ms >= 8 + 16 + 20);
    CHECK(ms < 300'000);
}

TEST_CASE("a failed attempt's writes are dropped, and siblings are not tried again") {
    Log log;
    Graph graph;
    graph.addNode("a", flaky<std::runtime_error>(log, 2), {.retry = quick(3)}).addNode("b", appends(log, "b"));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    CHECK(graph.compile().invoke(Update{}).values.bar == Strings{"done", "b"});
    CHECK(log.count("b") == 1);
}

TEST_CASE("a failing router is tried again with its node, which sees the state as it was") {
    struct Topics {
        Strings news = {};
        Strings seen = {};
        static constexpr auto channels() {
            return sg::channels(sg::channel("news", &Topics::news, sg::topic),
                                sg::channel("seen", &Topics::seen, sg::append));
        }
    };
    Log log;
    int failures = 1;
    sg::StateGraph<Topics> graph;
    graph.addNode("a",
                  [&log](const Topics& state) -> sg::Update<Topics> {
                      log.add(state.news.empty() ? "nothing" : state.news.front());
                      return {sg::add(&Topics::news, "new"), sg::add(&Topics::seen, "a")};
                  },
                  {.retry = quick(2)});
    graph.addConditionalEdges("a", [&failures](const Topics&) {
        if (failures-- > 0) throw std::runtime_error("which way?");
        return sg::END;
    });
    graph.addEdge(sg::START, "a");
    CHECK(graph.compile().invoke({sg::add(&Topics::news, "old")}).values.seen == Strings{"a"});
    CHECK(log.take() == Strings{"old", "old"});
}

// issue 2, bad input: limits below 1
TEST_CASE("fewer than one attempt is a fault of the graph") {
    Log log;
    CHECK_THROWS_AS(alone<std::runtime_error>(log, 0, quick(0)), sg::InvalidGraphError);
}

TEST_CASE("interrupts are not failures: they are never tried again") {
    Log log;
    Graph graph;
    graph.addNode("ask", asks(log, "ask"), {.retry = quick(3)}).addEdge(sg::START, "ask");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK((app.invoke(Update{}, {.thread_id = "t"}).status == sg::Status::interrupted));
    CHECK(log.take() == Strings{"ask"});
}

// quirk 19
TEST_CASE("a subgraph that is tried again continues inside, and what had finished there does not run again") {
    Log log;
    Graph inner;
    inner.addNode("one", appends(log, "one")).addEdge(sg::START, "one").addEdge("one", "two");
    int failures = 2;
    inner.addNode("two", [&](const State&) -> Update {
        log.add("two");
        if (failures-- > 0) throw std::runtime_error("not this time");
        return bar("two");
    });
    Graph graph;
    graph.addNode("sub", inner.compile(), {.retry = quick(3)}).addEdge(sg::START, "sub");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK(app.invoke(Update{}, {.thread_id = "t"}).values.bar == Strings{"one", "two"});
    CHECK(log.take() == Strings{"one", "two", "two", "two"});
}
