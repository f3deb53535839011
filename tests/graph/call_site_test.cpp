// How nodes, tables and commands are written, and what the shorter forms are equal to.
#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"

namespace sg = stategraph;

namespace {

struct Decision {
    bool approved = false;
    std::string by = {};
    static constexpr auto fields() { return sg::fields<&Decision::approved, &Decision::by>(); }
};

struct Payment {
    int amount = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Payment::amount>(),
                            sg::channel<&Payment::log>(sg::append, sg::formerly("notes")));
    }
};

template <class T>
struct Box {
    T value = {};
    int count = 0;
    static constexpr auto channels() { return sg::channels<&Box::value, &Box::count>(); }
};

struct HttpError : std::runtime_error {
    explicit HttpError(int code) : std::runtime_error("HTTP " + std::to_string(code)), status(code) {}
    int status;
};
struct Broken : std::runtime_error {
    using runtime_error::runtime_error;
};

sg::CompiledGraph<Payment> payments(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Payment> graph;
    graph
        .addNode("approve",
                 [](const Payment&, sg::Runtime& runtime) {
                     const auto decision = sg::interrupt<Decision>(runtime, "Pay this?");
                     return sg::go(decision.approved ? "pay" : "cancel", sg::add<&Payment::log>(decision.by));
                 },
                 {.ends = {"pay", "cancel"}})
        .addNode(
            "pay",
            [](const Payment&) { return sg::update(sg::add<&Payment::log>("paid"), sg::set<&Payment::amount>(0)); })
        .addNode("cancel", [](const Payment&) { return sg::go("nothing"); }, {.ends = {"nothing"}})
        .addNode("nothing", [](const Payment&) {})
        .addNode("one", [](const Payment&) { return sg::add<&Payment::log>("one"); })
        .addEdge(sg::START, "approve")
        .addEdge("pay", "one");
    return graph.compile({.checkpointer = std::move(saver)});
}

}  // namespace

TEST_CASE("a channel and a field have the member's name unless another is given") {
    static_assert(sg::detail::memberName<&Payment::log>() == "log");
    static_assert(sg::detail::memberName<&Box<std::vector<std::string>>::value>() == "value");
    CHECK(sg::Value(Decision{true, "Ada"}).toJson() == R"({"by":"Ada","approved":true})");
    CHECK(sg::Value(Box<int>{7, 2}).toJson() == R"({"count":2,"value":7})");
    const auto old = sg::Value::fromCbor(
        sg::Value(std::map<std::string, std::vector<std::string>>{{"notes", {"a"}}}).bytes().data());
    CHECK(old.as<Payment>().log == std::vector<std::string>{"a"});
}

TEST_CASE("a node returns one write, an update, a command or nothing, and its type need not be written") {
    const auto app = payments(std::make_shared<sg::MemorySaver>());
    app.invoke({sg::set<&Payment::amount>(120)}, {.thread_id = "A"});
    const auto paid = app.invoke(sg::resume(Decision{true, "Ada"}), {.thread_id = "A"});
    CHECK((paid.status == sg::Status::done));
    CHECK(paid.values.log == std::vector<std::string>{"Ada", "paid", "one"});
    CHECK(paid.values.amount == 0);

    app.invoke({sg::set<&Payment::amount>(80)}, {.thread_id = "B"});
    const auto open = app.getState({.thread_id = "B"}).interrupts();
    REQUIRE(open.size() == 1);
    const auto cancelled = app.invoke(sg::resume({{open[0].id, Decision{false, "Bob"}}}), {.thread_id = "B"});
    CHECK((cancelled.status == sg::Status::done));
    CHECK(cancelled.values.log == std::vector<std::string>{"Bob"});
    CHECK(cancelled.values.amount == 80);
}

TEST_CASE("a command without a state fits every graph") {
    sg::Command<Payment> command = sg::go({"pay", "cancel"});
    CHECK(std::distance(command.go_to.begin(), command.go_to.end()) == 2);
    command = sg::go<Payment>("pay", {sg::set<&Payment::amount>(1)});
    CHECK_FALSE(command.update.empty());
}

TEST_CASE("a write to a member that is chosen at run time is checked when it is applied") {
    struct Pair {
        int last = 0;
        int sum = 0;
        static constexpr auto channels() {
            return sg::channels(sg::channel<&Pair::last>(), sg::channel<&Pair::sum>(sg::sum));
        }
    };
    sg::StateGraph<Pair> graph;
    graph.addNode("node", [](const Pair&) -> sg::Update<Pair> {
        return {sg::add(&Pair::sum, 2), sg::set(&Pair::last, 3)};
    });
    graph.addEdge(sg::START, "node");
    const auto app = graph.compile();
    CHECK(app.invoke({}).values.sum == 2);
    CHECK_THROWS_WITH_AS(app.invoke({sg::add(&Pair::last, 1)}), doctest::Contains("has no reducer"),
                         sg::InvalidUpdateError);
    CHECK_THROWS_WITH_AS(app.invoke({sg::set(&Pair::sum, 1)}), doctest::Contains("'sum'"), sg::InvalidUpdateError);
}

TEST_CASE("retry_on takes types, a closure over one exception, or a function of the error") {
    const auto attempts = [](const sg::RetryPolicy& policy, auto fail) {
        int count = 0;
        sg::StateGraph<Payment> graph;
        graph.addNode("node", [&](const Payment&) { fail(++count); }, {.retry = policy});
        graph.addEdge(sg::START, "node");
        try {
            graph.compile().invoke({});
        } catch (const sg::NodeError&) {
            return -count;
        }
        return count;
    };
    const auto with = [](sg::RetryOn retry_on, int max_attempts = 3) {
        return sg::RetryPolicy{
            .max_attempts = max_attempts, .initial_interval = {}, .jitter = false, .retry_on = std::move(retry_on)};
    };
    const auto http = [](int) { throw HttpError(503); };
    const auto broken = [](int) { throw Broken("broken"); };
    CHECK(attempts(with(sg::on<HttpError>()), http) == -3);
    CHECK(attempts(with(sg::on<HttpError>()), broken) == -1);
    CHECK(attempts(with(sg::on<HttpError, Broken>()), broken) == -3);
    CHECK(attempts(with(sg::on<std::exception>()), broken) == -3);
    static constexpr int limit = 500;
    CHECK(attempts(with([](const HttpError& error) { return error.status >= limit; }), http) == -3);
    CHECK(attempts(with([](const HttpError& error) { return error.status < limit; }), http) == -1);
    CHECK(attempts(with([](const HttpError&) { return limit > 0; }), broken) == -1);
    CHECK(attempts(with([](const std::exception_ptr&) { return limit > 0; }), broken) == -3);
    CHECK(attempts(with([](const HttpError&) -> bool { throw Broken("in the predicate"); }), http) == -1);

    int asked = 0;
    CHECK(attempts(with([&asked](const std::exception_ptr&) { return ++asked > 0; }), http) == -3);
    CHECK(asked == 2);  // not about the last attempt

    SUBCASE("of several policies the first that accepts the error decides") {
        sg::RetryPolicy policy = with(sg::on<HttpError>(), 2);
        policy.otherwise = {with(sg::on<Broken>(), 4)};
        CHECK(attempts(policy, http) == -2);
        CHECK(attempts(policy, broken) == -4);
        CHECK(attempts(policy, [](int) { throw std::range_error("other"); }) == -1);
        CHECK(attempts(policy, [](int count) {
                  if (count == 1) throw HttpError(503);
                  if (count < 4) throw Broken("broken");
              }) == 4);
    }
    SUBCASE("an impossible one among several is named") {
        sg::StateGraph<Payment> graph;
        sg::RetryPolicy policy = with(sg::on<HttpError>());
        policy.otherwise = {with(nullptr)};
        graph.addNode("node", [](const Payment&) {}, {.retry = policy}).addEdge(sg::START, "node");
        CHECK_THROWS_WITH_AS(graph.compile(), doctest::Contains("retry.otherwise[0].retry_on is null"),
                             sg::InvalidGraphError);
    }
}

TEST_CASE("a step of a sequence may have options") {
    sg::StateGraph<Payment> graph;
    int count = 0;
    const sg::NodeOptions retried{.retry = {.max_attempts = 2, .initial_interval = {}}};
    graph.addSequence(
        "first", [](const Payment&) { return sg::add<&Payment::log>("first"); },  //
        "second",
        [&](const Payment&) {
            if (++count == 1) throw Broken("once");
            return sg::add<&Payment::log>("second");
        },
        retried,  //
        "third", [](const Payment&) { return sg::add<&Payment::log>("third"); });
    graph.setEntryPoint("first");
    CHECK(graph.compile().invoke({}).values.log == std::vector<std::string>{"first", "second", "third"});
}

TEST_CASE("a run's configuration names its state too") {
    const auto app = payments(std::make_shared<sg::MemorySaver>());
    const sg::RunConfig config{.thread_id = "A", .recursion_limit = 10};
    app.invoke({sg::set<&Payment::amount>(120)}, config);
    CHECK(app.getState(config).values.amount == 120);
    CHECK(app.getState(config, {.subgraphs = true}).next == std::vector<std::string>{"approve"});
    int count = 0;
    for (const auto& snapshot : app.getStateHistory(config)) count += snapshot.step < 10 ? 1 : 0;
    CHECK(count == 2);
    app.updateState(config, {sg::set<&Payment::amount>(7)}, {.as_node = "one"});
    CHECK(app.getState(config).values.amount == 7);
}

TEST_CASE("results, statuses and states can be printed") {
    const auto app = payments(std::make_shared<sg::MemorySaver>());
    const auto result = app.invoke({sg::set<&Payment::amount>(120)}, {.thread_id = "A"});
    std::ostringstream out;
    out << result.status << ' ' << result.values << ' ' << sg::Source::loop << ' ' << Decision{true, "Ada"};
    CHECK(out.str() == R"(interrupted {"amount":120,"log":[]} loop {"approved":true,"by":"Ada"})");
    std::ostringstream whole;
    whole << result;
    CHECK(whole.str() == R"({"status":"interrupted","values":{"amount":120,"log":[]},"interrupts":[{"id":")" +
                             result.interrupts.at(0).id.toString() + R"(","value":"Pay this?"}]})");
}

TEST_CASE("a stream's outcome has the values, once, after the last event") {
    const auto app = payments(std::make_shared<sg::MemorySaver>());
    auto events = app.stream({sg::set<&Payment::amount>(120)}, {.thread_id = "A"}, {.modes = {sg::StreamMode::values}});
    CHECK_THROWS_WITH_AS(events.outcome(), doctest::Contains("before its last event"), sg::InvalidArgumentError);
    int count = 0;
    for (const auto& event : events) count += event.data.isNull() ? 0 : 1;
    CHECK(count == 2);  // the input, and the question
    const auto result = events.outcome();
    CHECK(result.values.amount == 120);
    CHECK((result.status == sg::Status::interrupted));
    CHECK(result.interrupts.size() == 1);
    CHECK(result.config.thread_id == sg::ThreadId("A"));
    CHECK_THROWS_AS(events.outcome(), sg::InvalidArgumentError);
}
