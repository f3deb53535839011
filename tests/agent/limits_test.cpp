#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/cache.hpp>
#include <stategraph/control.hpp>

#include "tests/agent/tools.hpp"
#include "tests/support/drivers.hpp"

using namespace tools;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

namespace {

sg::RetryPolicy attempts(int number) { return {.max_attempts = number, .initial_interval = 0ms, .jitter = false}; }

/// Returns a tool that fails this many times for each job and then works, as a blocking function or as a coroutine.
agent::Tool flaky(const std::shared_ptr<Ledger>& ledger, int failures, agent::ToolOptions options, bool awaited) {
    const auto run = [ledger, failures](const Job& job) -> std::string {
        ledger->note(job.what);
        if (ledger->count(job.what) <= failures) throw std::runtime_error("the line is busy");
        return "did " + job.what;
    };
    if (!awaited) return agent::tool<Job>("work", std::move(options), run);
    return agent::tool<Job>("work", std::move(options),
                            [run](const Job& job) -> sg::Task<std::string> { co_return run(job); });
}

/// Returns a tool that waits until it is to end.
agent::Tool stuck(agent::ToolOptions options, bool awaited) {
    if (awaited) {
        return agent::tool<Job>("stuck", std::move(options),
                                [](const Job&, agent::ToolContext& context) -> sg::Task<std::string> {
                                    co_await sg::sleepFor(context.runtime(), 1h);
                                    co_return "never";
                                });
    }
    return agent::tool<Job>("stuck", std::move(options), [](const Job&, agent::ToolContext& context) {
        context.runtime().waitFor(1h);
        return std::string("never");
    });
}

agent::Options twoAnswers(std::vector<model::ToolCall> calls, std::vector<agent::Tool> given) {
    return {.model = model::scripted({model::assistant(std::move(calls)), model::assistant("done")}),
            .tools = std::move(given),
            .compile = stored()};
}

}  // namespace

TEST_CASE("a tool is tried again as its own policy says, and its last failure is a result") {
    for (const bool awaited : {false, true}) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(awaited);
            CAPTURE(driver.name);
            for (const int failures : {2, 3}) {
                const auto ledger = std::make_shared<Ledger>();
                const agent::Agent helper(
                    twoAnswers({call("c1", "dig"), call("c2", "rake", "plain")},
                               {flaky(ledger, failures, {.retry = attempts(3)}, awaited), work(ledger, "plain")}));
                const auto end = driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"});
                REQUIRE(end.what() == "");
                const agent::State state = helper.graph().getState({.thread_id = "t"}).values;
                CHECK(results(state) == Texts{failures == 2 ? "did dig" : "Error: the line is busy", "did rake"});
                CHECK(ledger->count("dig") == 3);
                CHECK(ledger->count("rake") == 1);
                CHECK(state.text() == "done");
                CHECK(state.steps == 2);  // the model is called once after the results, whichever way they came
            }
        }
    }
}

TEST_CASE("a retry of an approved call does not ask again, nor run after its success") {
    for (const bool awaited : {false, true}) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(awaited);
            CAPTURE(driver.name);
            const auto ledger = std::make_shared<Ledger>();
            const agent::Agent helper(
                twoAnswers({call("c1", "dig"), call("c2", "rake")},
                           {flaky(ledger, 2, {.approval = true, .timeout = 1min, .retry = attempts(3)}, awaited)}));
            REQUIRE(driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"}).what() == "");
            CHECK(helper.openCalls("t").size() == 2);
            CHECK(ledger->count("dig") == 0);
            REQUIRE(
                driver.run(helper.graph(), helper.decide("t", "c1", {.approved = true}), {.thread_id = "t"}).what() ==
                "");
            CHECK(ledger->count("dig") == 3);
            CHECK(helper.openCalls("t").size() == 1);
            REQUIRE(
                driver.run(helper.graph(), helper.decide("t", "c2", {.approved = true}), {.thread_id = "t"}).what() ==
                "");
            CHECK(ledger->count("dig") == 3);
            CHECK(ledger->count("rake") == 3);
            CHECK(results(helper.graph().getState({.thread_id = "t"}).values) == Texts{"did dig", "did rake"});
        }
    }
}

TEST_CASE("a tool that may have done its work is not repeated by a policy before somebody was asked") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(twoAnswers(
        {call("c1", "dig")}, {flaky(ledger, 1, {.on_doubt = sg::OnDoubt::ask, .retry = attempts(3)}, false)}));
    const auto begun = helper.say("go", {.thread_id = "t"});
    REQUIRE((begun.status == sg::Status::interrupted));
    CHECK(ledger->count("dig") == 1);
    SUBCASE("it is to be repeated") {
        const auto end = helper.graph().invoke(sg::resume(sg::Value("repeat")), {.thread_id = "t"});
        CHECK(results(end.values) == Texts{"did dig"});
        CHECK(ledger->count("dig") == 2);
    }
    SUBCASE("it did its work") {
        const auto end = helper.graph().invoke(sg::resume(sg::parseJson(R"({"result": "dug"})")), {.thread_id = "t"});
        CHECK(results(end.values) == Texts{"dug"});
        CHECK(ledger->count("dig") == 1);
    }
}

TEST_CASE("a tool whose time is up is a result for the model, and its siblings keep theirs") {
    for (const bool awaited : {false, true}) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(awaited);
            CAPTURE(driver.name);
            const auto ledger = std::make_shared<Ledger>();
            const agent::Agent helper(twoAnswers({call("c1", "dig", "stuck"), call("c2", "rake")},
                                                 {stuck({.timeout = 20ms}, awaited), work(ledger)}));
            REQUIRE(driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"}).what() == "");
            const auto state = helper.graph().getState({.thread_id = "t"}).values;
            REQUIRE(results(state).size() == 2);
            CHECK(results(state)[0].find("20 ms") != std::string::npos);
            CHECK(results(state)[1] == "did rake");
            CHECK(ledger->count("rake") == 1);
            CHECK(state.text() == "done");
        }
    }
}

TEST_CASE("a run that is stopped while a limited tool works is cancelled, and no result of it is stored") {
    const auto control = std::make_shared<sg::RunControl>();
    agent::Tool tool = agent::tool<Job>("work", {.timeout = 1h, .retry = attempts(3)},
                                        [control](const Job&, agent::ToolContext& context) {
                                            control->requestStop();
                                            context.runtime().waitFor(1h);
                                            return std::string("never");
                                        });
    const agent::Agent helper(twoAnswers({call("c1", "dig")}, {std::move(tool)}));
    sg::RunConfig config{.thread_id = "t"};
    config.control = control;
    const auto end = helper.say("go", config);
    CHECK((end.status == sg::Status::cancelled));
    CHECK(results(helper.graph().getState({.thread_id = "t"}).values).empty());
}

TEST_CASE("a cached result serves a call with equal arguments, under the call's own id, and is approved as any") {
    for (const bool awaited : {false, true}) {
        CAPTURE(awaited);
        const auto ledger = std::make_shared<Ledger>();
        agent::Options options =
            twoAnswers({call("c1", "dig")}, {flaky(ledger, 0, {.cache = sg::CallCache{}}, awaited)});
        options.compile.cache = std::make_shared<sg::MemoryCache>();
        options.approval = [](std::string_view, const sg::Value&) { return true; };
        const agent::Agent helper(options);
        std::vector<std::string> ids;
        for (const char* thread : {"a", "b"}) {
            REQUIRE((helper.say("go", {.thread_id = thread}).status == sg::Status::interrupted));
            const auto open = helper.openCalls(thread);
            REQUIRE(open.size() == 1);
            const auto end =
                helper.graph().invoke(helper.decide(thread, "c1", {.approved = true}), {.thread_id = thread});
            CHECK(results(end.values) == Texts{"did dig"});
            for (const auto& message : end.values.messages) {
                if (message.result) CHECK(message.result->call_id == open[0].id);
            }
        }
        CHECK(ledger->count("dig") == 1);
    }
}

TEST_CASE("a failure is not cached") {
    const auto ledger = std::make_shared<Ledger>();
    agent::Options options = twoAnswers({call("c1", "dig")}, {flaky(ledger, 1, {.cache = sg::CallCache{}}, false)});
    options.compile.cache = std::make_shared<sg::MemoryCache>();
    const agent::Agent helper(options);
    CHECK(results(helper.say("go", {.thread_id = "a"}).values) == Texts{"Error: the line is busy"});
    CHECK(results(helper.say("go", {.thread_id = "b"}).values) == Texts{"did dig"});
}

TEST_CASE("a result that is too long is cut between characters, and says so") {
    const auto longAnswer = [](agent::ToolOptions options, const sg::Value& output) {
        return agent::Agent(
            twoAnswers({call("c1", "dig")},
                       {agent::tool<Job>("work", std::move(options), [output](const Job&) { return output; })}));
    };
    std::string text;
    for (int i = 0; i < 50; ++i) text += "€";  // three bytes each
    const auto cut = results(longAnswer({.result_max = 64}, sg::Value(text)).say("go", {.thread_id = "t"}).values);
    REQUIRE(cut.size() == 1);
    CHECK(cut[0].starts_with(text.substr(0, 63) + "\n[The result was cut: these are the first 63 of its 150 bytes"));
    CHECK(results(longAnswer({.result_max = 150}, sg::Value(text)).say("go", {.thread_id = "t"}).values) ==
          Texts{text});
    const sg::Value list(std::vector<std::string>(10, std::string(10, '\x01')));  // its JSON is much longer
    CHECK(results(longAnswer({.result_max = 130}, list).say("go", {.thread_id = "t"}).values)[0].size() < 300);
    const auto huge =
        results(longAnswer({}, sg::Value(std::string(10'000'000, 'a'))).say("go", {.thread_id = "t"}).values);
    CHECK(huge[0].size() < 66'000);
}

TEST_CASE("the check of a tool that takes a Value refuses, fills in, and holds for edited arguments too") {
    const auto seen = std::make_shared<Ledger>();
    agent::ToolOptions options{.approval = true};
    options.check = [](sg::Value arguments) -> sg::Value {
        if (arguments.toJson() == R"({"what":"dig"})") return sg::parseJson(R"({"what":"dig","times":1})");
        throw std::invalid_argument("what: it must be dig");
    };
    const agent::Agent helper(twoAnswers({call("c1", "dig"), call("c2", "sing")},
                                         {agent::tool<sg::Value>("work", options, [seen](const sg::Value& arguments) {
                                             seen->note(arguments.toJson());
                                         })}));
    REQUIRE((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    REQUIRE(helper.openCalls("t").size() == 1);
    CHECK(helper.openCalls("t")[0].arguments.toJson() == R"({"what":"dig","times":1})");
    CHECK_THROWS_WITH((void)helper.decide("t", "c1", {.approved = true, .arguments = sg::parseJson("{}")}),
                      doctest::Contains("it must be dig"));
    const auto end = helper.graph().invoke(
        helper.decide("t", "c1", {.approved = true, .arguments = sg::parseJson(R"({"what":"dig"})")}),
        {.thread_id = "t"});
    CHECK(results(end.values)[1] == "Error: what: it must be dig");
    CHECK(seen->count(R"({"what":"dig","times":1})") == 1);
}

TEST_CASE("limits that cannot be are refused with the tool's name") {
    const auto refused = [](agent::Tool tool) {
        CHECK_THROWS_WITH_AS(agent::Agent(twoAnswers({}, {std::move(tool)})), doctest::Contains("'work'"),
                             sg::InvalidGraphError);
    };
    const auto ledger = std::make_shared<Ledger>();
    refused(work(ledger, "work", {.timeout = 0ms}));
    refused(work(ledger, "work", {.cache = sg::CallCache{.ttl = 0ms}}));
    refused(work(ledger, "work", {.result_max = 5}));
    refused(agent::clientTool<Job>("work", {.timeout = 1s}));
    refused(agent::clientTool<Job>("work", {.retry = attempts(2)}));
    refused(agent::clientTool<Job>("work", {.cache = sg::CallCache{}}));
}

TEST_CASE("a tool whose failure ends the run throws what it threw, and a resume calls it again") {
    for (const bool awaited : {false, true}) {
        for (const bool has_own_node : {false, true}) {
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(awaited);
                CAPTURE(has_own_node);
                CAPTURE(driver.name);
                const auto ledger = std::make_shared<Ledger>();
                agent::ToolOptions options{.on_failure = agent::OnToolFailure::end_run};
                if (has_own_node) options.retry = attempts(2);
                const int failures = has_own_node ? 3 : 1;
                const agent::Agent helper(
                    twoAnswers({call("c1", "dig"), call("c2", "rake", "plain")},
                               {flaky(ledger, failures, options, awaited), work(ledger, "plain")}));
                const auto first = driver.run(helper.graph(), agent::said("go"), {.thread_id = "t"});
                CHECK(first.what().find("the line is busy") != std::string::npos);
                CHECK(results(helper.graph().getState({.thread_id = "t"}).values) == Texts{"did rake"});  // is kept

                const auto end = driver.run(helper.graph(), sg::RESUME, {.thread_id = "t"});
                REQUIRE(end.what() == "");
                const agent::State state = helper.graph().getState({.thread_id = "t"}).values;
                CHECK(results(state) == Texts{"did dig", "did rake"});
                CHECK(ledger->count("dig") == failures + 1);
                CHECK(ledger->count("rake") == 1);
                CHECK(state.text() == "done");
            }
        }
    }
}

TEST_CASE("a tool whose failure ends the run tells the model what is wrong with a call") {
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent helper(twoAnswers({{{}, "c1", "work", R"({"what":1})"}},
                                         {work(ledger, "work", {.on_failure = agent::OnToolFailure::end_run})}));
    const agent::State state = helper.say("go", {.thread_id = "t"}).values;
    REQUIRE(results(state).size() == 1);
    CHECK(results(state).front().find("what") != std::string::npos);
    CHECK(state.text() == "done");
}

TEST_CASE("the exception of a tool whose failure ends the run is the original of the run's error") {
    struct Broken : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    for (const bool has_own_node : {false, true}) {
        CAPTURE(has_own_node);
        agent::ToolOptions options{.on_failure = agent::OnToolFailure::end_run};
        if (has_own_node) options.retry = attempts(1);
        const agent::Agent helper(twoAnswers(
            {call("c1", "dig")},
            {agent::tool<Job>("work", options, [](const Job&) -> std::string { throw Broken("no spade"); })}));
        try {
            helper.say("go", {.thread_id = "t"});
            FAIL("the run has not failed");
        } catch (const sg::NodeError& error) {
            CHECK_THROWS_AS(std::rethrow_exception(error.original()), Broken);
        }
    }
}

TEST_CASE("what is no std::exception is a result for the model as well, and a text that is not UTF-8 is readable") {
    for (const bool awaited : {false, true}) {
        CAPTURE(awaited);
        const auto resultOf = [awaited](auto thrown, agent::ToolOptions options) {
            const auto run = [thrown](const Job&) -> std::string { throw thrown; };
            agent::Tool tool = agent::tool<Job>("work", options, run);
            if (awaited) {
                tool = agent::tool<Job>("work", options,
                                        [run](const Job& job) -> sg::Task<std::string> { co_return run(job); });
            }
            const agent::Agent assistant(twoAnswers({call("1", "x")}, {tool}));
            const auto messages = assistant.say("go", {.thread_id = "t"}).values.messages;
            REQUIRE(messages.size() == 4);
            REQUIRE(messages[2].result);
            CHECK(messages[2].result->is_error);
            return messages[2].result->text();
        };
        CHECK(resultOf(42, {}) == "Error: unknown exception");
        CHECK(resultOf(42, {.retry = attempts(2)}) == "Error: unknown exception");
        CHECK(resultOf(std::runtime_error("caf\xe9"), {}) == "Error: caf\xef\xbf\xbd");
        CHECK(resultOf(std::runtime_error("x"), {.check = [](sg::Value) -> sg::Value { throw 42; }}) ==
              "Error: unknown exception");
    }
}

TEST_CASE("a budget of tokens holds whatever usage a provider reports") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t reported : {most, most - 1, most / 2}) {
        CAPTURE(reported);
        const auto greedy = model::scripted([reported](const model::Request&) {
            model::Message answer = model::assistant(std::vector{call("1", "x")});
            answer.usage = model::Usage{.input_tokens = reported, .output_tokens = reported};
            return answer;
        });
        agent::Options options{.model = greedy, .tools = {work(std::make_shared<Ledger>())}, .compile = stored()};
        options.stop_when = {agent::tokensAre(most), agent::stepCountIs(10)};
        const auto end = agent::Agent(options).say("go", {.thread_id = "t"}).values;
        CHECK(end.stop_reason == "max-tokens");
        CHECK(end.usage.total().input_tokens >= reported);
    }
    CHECK((model::Usage{.input_tokens = -5} + model::Usage{.input_tokens = 7}).input_tokens == 7);
}
