#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/answer.hpp>

#include "tests/agent/tools.hpp"

// What people have said of a call counts, whatever became of its task: no answer is used for less than it says.
using namespace tools;
using Texts = std::vector<std::string>;

namespace {

std::string argumentsOf(const agent::State& state, const std::string& tool) {
    for (const model::Message& message : state.messages) {
        for (const model::ToolCall& each : message.calls) {
            if (each.name == tool) return sg::parseJson(each.arguments).as<Job>().what;
        }
    }
    return {};
}

/// Stores an answer without running anything, as a server does that ends at that moment.
void keep(sg::BaseCheckpointSaver& saver, const sg::Command<>& command) {
    sg::answer(saver, {.thread_id = "t"}, command.answers);
}

}  // namespace

TEST_CASE("a result of a client, and a refusal, count even if the user writes before the call has used them") {
    for (const bool is_exit : {false, true}) {
        CAPTURE(is_exit);
        const auto ledger = std::make_shared<Ledger>();
        const auto saver = std::make_shared<sg::MemorySaver>();
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({call("c1", "a", "pay"), call("c2", "b", "show"),
                                                         call("c3", "c", "fail"), call("c4", "d", "gated")}),
                                       model::assistant("ok")}),
             .tools = {work(ledger, "pay"), agent::clientTool<Job>("show"), agent::clientTool<Job>("fail"),
                       work(ledger, "gated", gated())},
             .compile = stored(saver)});
        sg::RunConfig config{.thread_id = "t"};
        if (is_exit) config.durability = sg::Durability::exit;
        helper.say("go", config);
        keep(*saver, helper.give("t", "c2", {.output = sg::Value("form filled")}));
        keep(*saver, helper.give("t", "c3", {.output = sg::Value("no form"), .is_error = true}));
        keep(*saver, helper.decide("t", "c4", {.approved = false, .reason = "too much"}));
        const auto ended = helper.say("and now?", config);
        CHECK(results(ended.values) ==
              Texts{"did a", "form filled", "no form", "Error: The call was not approved: too much"});
        for (const model::Message& each : ended.values.messages) {
            if (!each.result) continue;
            const std::string text = each.result->text();
            CHECK(each.result->is_error == (text == "no form" || text.starts_with("Error")));
        }
        CHECK(ledger->count("d") == 0);
    }
}

TEST_CASE("the model hears the arguments that a person has changed, even if the tool has a node of its own and fails") {
    agent::ToolOptions options = gated();
    options.retry = sg::RetryPolicy{.max_attempts = 1};
    const auto removes = agent::tool<Job>("remove", options, [](const Job& job) -> std::string {
        throw std::runtime_error("cannot remove " + job.what);
    });
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "/etc", "remove")}), model::assistant("ok")}),
         .tools = {removes},
         .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    const auto ended = helper.graph().invoke(
        helper.decide("t", "c1", {.approved = true, .arguments = sg::Value(Job{"/tmp/x"})}), {.thread_id = "t"});
    REQUIRE(results(ended.values).size() == 1);
    CHECK(results(ended.values)[0].find("cannot remove /tmp/x") != std::string::npos);
    CHECK(argumentsOf(ended.values, "remove") == "/tmp/x");
}

TEST_CASE(
    "the model hears the arguments that a person has changed, even if the call was broken off when the user wrote") {
    agent::ToolOptions options = gated();
    options.on_failure = agent::OnToolFailure::end_run;
    const auto breaks = agent::tool<Job>("remove", options,
                                         [](const Job&) -> std::string { throw std::runtime_error("the line broke"); });
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "/etc", "remove")}), model::assistant("ok")}),
         .tools = {breaks},
         .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    const auto command = helper.decide("t", "c1", {.approved = true, .arguments = sg::Value(Job{"/tmp/x"})});
    CHECK_THROWS(helper.graph().invoke(command, {.thread_id = "t"}));
    const auto ended = helper.say("what happened?", {.thread_id = "t"});
    CHECK(argumentsOf(ended.values, "remove") == "/tmp/x");
    CHECK(results(ended.values).size() == 1);
}

TEST_CASE("a decision about a call in doubt that it cannot say is refused, and the call stays open") {
    agent::ToolOptions options;
    options.on_doubt = sg::OnDoubt::ask;
    options.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = {}, .jitter = false};
    int tries = 0;
    const auto pays = agent::tool<Job>("pay", options, [&tries](const Job&) -> std::string {
        ++tries;
        throw std::runtime_error("the line broke");
    });
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({call("c1", "5000", "pay")}), model::assistant("ok")}),
         .tools = {pays},
         .compile = stored()});
    REQUIRE((helper.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    CHECK_THROWS_WITH_AS(helper.decide("t", "c1", {.approved = true, .arguments = sg::Value(Job{"5"})}),
                         doctest::Contains("it can only be repeated as it was begun"), sg::InvalidArgumentError);
    CHECK_THROWS_WITH_AS(helper.give("t", "c1", {.output = sg::Value("refused"), .is_error = true}),
                         doctest::Contains("say in `output` that it failed"), sg::InvalidArgumentError);
    CHECK(helper.openCalls("t").size() == 1);
    const auto ended = helper.graph().invoke(helper.give("t", "c1", {.output = sg::Value("paid")}), {.thread_id = "t"});
    CHECK(results(ended.values) == Texts{"paid"});
    CHECK(tries == 1);
}

TEST_CASE("changed arguments of a call of an agent inside are not checked by a tool of the same name outside") {
    struct Other {
        int number = 0;
        static constexpr auto fields() { return sg::fields(sg::field("number", &Other::number)); }
    };
    const auto ledger = std::make_shared<Ledger>();
    const agent::Agent inner(
        {.model = model::scripted({model::assistant({call("c1", "a", "work")}), model::assistant("inner ok")}),
         .tools = {work(ledger, "work", gated())}});
    const agent::Agent outer(
        {.model = model::scripted({model::assistant({model::ToolCall{{}, "o1", "helper", R"({"request":"do it"})"}}),
                                   model::assistant("ok")}),
         .tools = {agent::agentTool("helper", {}, inner),
                   agent::tool<Other>("work", gated(), [](const Other&) { return std::string(); })},
         .compile = stored()});
    REQUIRE((outer.say("go", {.thread_id = "t"}).status == sg::Status::interrupted));
    const auto command = outer.decide("t", "c1", {.approved = true, .arguments = sg::Value(Job{"A"})});
    CHECK((outer.graph().invoke(command, {.thread_id = "t"}).status == sg::Status::done));
    CHECK(ledger->count("A") == 1);
}
