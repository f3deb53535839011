#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/async.hpp>
#include <stategraph/functional.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Questions inside functions that are called once (Runtime::once, onceAsync, Calls::call, Calls::start): each receives
// its own answer.
using namespace graphs;
using namespace std::chrono_literals;

namespace {

/// Answers each question with "A(question)" until the run ends, and returns the questions in their order.
template <class S, class Run>
Strings answerAll(const sg::CompiledGraph<S>& app, const sg::RunConfig& config, Run run) {
    Strings asked;
    auto outcome = run(std::optional<std::string>());
    while (outcome.status == sg::Status::interrupted && asked.size() < 20) {
        asked.push_back(outcome.interrupts.at(0).value.template as<std::string>());
        CHECK(app.getState({.thread_id = config.thread_id}).interrupts() == outcome.interrupts);
        outcome = run("A(" + asked.back() + ")");
    }
    CHECK((outcome.status == sg::Status::done));
    return asked;
}

/// Checks a node that asks in calls, between them and after them, with every driver and saver.
template <class Node>
void checkAnswers(Node node, const Strings& questions, const Strings& results) {
    savers::onEach([&](savers::Store& store) {
        Graph graph;
        graph.addNode("n", node).addEdge(sg::START, "n");
        const App app = graph.compile({.checkpointer = store.open()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            Strings values;
            const Strings asked = answerAll(app, config, [&](const std::optional<std::string>& answer) {
                auto outcome = answer ? driver.run(app, sg::Command<State>{.resume = sg::Value(*answer)}, config)
                                      : driver.run(app, Update{}, config);
                REQUIRE(outcome.what() == "");
                values = outcome.values.bar;
                return outcome;
            });
            CHECK(asked == questions);
            CHECK(values == results);
        }
    });
}

/// Does the same for a function of calls.
template <class F>
void checkFlow(F function, const Strings& questions, const std::string& result) {
    savers::onEach([&](savers::Store& store) {
        const auto flow = sg::entrypoint("flow", function, {.checkpointer = store.open()});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const sg::RunConfig config{.thread_id = driver.name};
            using FlowState = typename decltype(flow)::State;
            std::optional<std::string> value;
            const Strings asked = answerAll(flow.graph(), config, [&](const std::optional<std::string>& answer) {
                auto outcome =
                    answer ? driver.run(flow.graph(), sg::Command<FlowState>{.resume = sg::Value(*answer)}, config)
                           : driver.run(flow.graph(), sg::Update<FlowState>{sg::set(&FlowState::input, 1)}, config);
                REQUIRE(outcome.what() == "");
                value = outcome.values.output;
                return outcome;
            });
            CHECK(asked == questions);
            CHECK(value == result);
        }
    });
}

}  // namespace

TEST_CASE("a question after one that a function asked, which is called once, gets its own answer") {
    checkAnswers(
        [](const State&, sg::Runtime& rt) -> Update {
            const auto zero = sg::interrupt<std::string>(rt, "zero");
            const auto one = rt.once("one", [&] {
                const auto a = sg::interrupt<std::string>(rt, "one a");
                return a + sg::interrupt<std::string>(rt, "one b");
            });
            const auto two = sg::interrupt<std::string>(rt, "two");
            const auto three = rt.once("three", [&] {
                const auto inner = rt.once("inner", [&] { return sg::interrupt<std::string>(rt, "inner"); });
                return inner + sg::interrupt<std::string>(rt, "three");
            });
            const auto four = sg::interrupt<std::string>(rt, "four");
            return {sg::add(&State::bar, zero), sg::add(&State::bar, one), sg::add(&State::bar, two),
                    sg::add(&State::bar, three), sg::add(&State::bar, four)};
        },
        {"zero", "one a", "one b", "two", "inner", "three", "four"},
        {"A(zero)", "A(one a)A(one b)", "A(two)", "A(inner)A(three)", "A(four)"});
}

TEST_CASE("questions of the function that finds out about an effect in doubt are not those of the effect") {
    checkAnswers(
        [](const State&, sg::Runtime& rt) -> Update {
            const auto paid = rt.once(
                "pay", [&] { return sg::interrupt<std::string>(rt, "pay?"); },
                [&]() -> std::optional<std::string> {
                    (void)sg::interrupt<std::string>(rt, "was it paid?");
                    return {};
                });
            return {sg::add(&State::bar, paid), sg::add(&State::bar, sg::interrupt<std::string>(rt, "next?"))};
        },
        {"pay?", "was it paid?", "next?"}, {"A(pay?)", "A(next?)"});
}

TEST_CASE("a question of an awaited effect gets its own answer, and several at once are refused") {
    const auto node = [](const State&, sg::Runtime& rt) -> sg::Task<Update> {
        auto ask = [&rt]() -> sg::Task<std::string> {
            co_await sg::sleepFor(std::chrono::microseconds(10));
            std::string answer = sg::interrupt<std::string>(rt, "in an effect");
            co_return answer;
        };
        std::string one = co_await sg::onceAsync(rt, "one", std::move(ask));
        std::string two = sg::interrupt<std::string>(rt, "behind it");
        Update update{sg::add(&State::bar, one), sg::add(&State::bar, two)};
        co_return update;
    };
    checkAnswers(node, {"in an effect", "behind it"}, {"A(in an effect)", "A(behind it)"});

    Graph graph;
    graph.addNode("n", [](const State&, sg::Runtime& rt) -> sg::Task<Update> {
        auto inner = [&rt]() -> sg::Task<std::string> { co_return sg::interrupt<std::string>(rt, "which?"); };
        auto outer = [&rt, inner]() mutable -> sg::Task<std::string> {
            std::string answer = co_await sg::onceAsync(rt, "inner", std::move(inner));
            co_return answer;
        };
        (void)co_await sg::onceAsync(rt, "outer", std::move(outer));
        Update update;
        co_return update;
    });
    graph.addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    CHECK_THROWS_WITH_AS(app.invoke(Update{}, {.thread_id = "t"}), doctest::Contains("awaits several effects"),
                         sg::NodeError);
}

TEST_CASE("an answer of the wrong type to a function that is called once is withdrawn, and the right one is taken") {
    Graph graph;
    graph.addNode("n", [](const State&, sg::Runtime& rt) -> Update {
        const int number = rt.once("number", [&] { return sg::interrupt<int>(rt, "how many?"); });
        return bar(std::to_string(number) + sg::interrupt<std::string>(rt, "of what?"));
    });
    graph.addEdge(sg::START, "n");
    const App app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const sg::RunConfig t{.thread_id = "t"};
    const auto asked = app.invoke(Update{}, t);
    CHECK_THROWS_AS(app.invoke(sg::Command<State>{.resume = "many"}, t), sg::WrongTypeError);
    CHECK(app.getState({.thread_id = "t"}).interrupts() == asked.interrupts);
    CHECK(app.invoke(sg::Command<State>{.resume = 7}, t).interrupts.at(0).value == sg::Value("of what?"));
    CHECK(app.invoke(sg::Command<State>{.resume = "pears"}, t).values.bar == Strings{"7pears"});
}

TEST_CASE("each call of a flow asks for itself, also if it is tried again") {
    checkFlow(
        [](const int&, sg::Calls& flow) {
            auto ask = [&flow](const std::string& question) { return flow.interrupt<std::string>(question); };
            const auto one = flow.call("ask", ask, std::string("first?"));
            const auto two = flow.call("ask", ask, std::string("second?"));
            const auto between = flow.interrupt<std::string>("between?");
            int tries = 0;
            const auto three =
                flow.callWith("try", {.retry = {.max_attempts = 3, .initial_interval = 0ms, .jitter = false}}, [&] {
                    const auto answer = flow.interrupt<std::string>("third?");
                    if (++tries < 3) throw std::runtime_error("again");
                    return answer + flow.interrupt<std::string>("fourth?");
                });
            return one + two + between + three;
        },
        {"first?", "second?", "between?", "third?", "fourth?"}, "A(first?)A(second?)A(between?)A(third?)A(fourth?)");
}

TEST_CASE("functions that a flow starts at once each get their own answer, whichever asks first") {
    int runs = 0;
    checkFlow(
        [&runs](const int&, sg::Calls& flow) {
            auto ask = [&flow](const std::string& question) { return flow.interrupt<std::string>(question); };
            const bool swapped = runs++ % 2 == 1;
            std::optional<sg::CallFuture<std::string>> a;
            std::optional<sg::CallFuture<std::string>> b;
            if (!swapped) a = flow.start("a", ask, std::string("for a?"));
            b = flow.start("b", ask, std::string("for b?"));
            if (swapped) a = flow.start("a", ask, std::string("for a?"));
            const std::string of_a = a->get();
            return "a=" + of_a + " b=" + b->get();
        },
        {"for a?", "for b?"}, "a=A(for a?) b=A(for b?)");
}
