#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/json.hpp>

#include "tests/agent/tools.hpp"

// What the conversation says of calls that a person has edited or decided about, and what a turn has cost.
using namespace tools;
using Texts = std::vector<std::string>;

namespace {

/// Decides about a call, blocking or awaited.
sg::Result<agent::State> decide(const agent::Agent& helper, const char* call_id, agent::Decision decision,
                                bool is_awaited = false) {
    const auto command = helper.decide("t", call_id, std::move(decision));
    if (is_awaited) return sg::syncWait(helper.graph().asyncInvoke(command, {.thread_id = "t"}));
    return helper.graph().invoke(command, {.thread_id = "t"});
}

std::string argumentsOf(const model::Message& message, std::size_t call) {
    return sg::parseJson(message.calls.at(call).arguments).as<Job>().what;
}

}  // namespace

TEST_CASE("a call that was approved with other arguments is in the conversation as it was executed") {
    for (const bool is_coroutine : {false, true}) {
        CAPTURE(is_coroutine);
        const auto ledger = std::make_shared<Ledger>();
        Texts told;
        const auto llm = model::scripted([&told](const model::Request& request) -> model::Message {
            told.clear();
            for (const model::Message& message : request.messages) {
                for (std::size_t i = 0; i < message.calls.size(); ++i) told.push_back(argumentsOf(message, i));
            }
            if (told.empty())
                return model::assistant({call("c1", "a", "edit"), call("c2", "b", "edit"), call("c3", "c", "edit")});
            return model::assistant("ok");
        });
        const auto coroutine = agent::tool<Job>("edit", gated(), [ledger](const Job job) -> sg::Task<std::string> {
            ledger->note(job.what);
            co_return "did " + job.what;
        });
        const agent::Agent helper(
            {.model = llm, .tools = {is_coroutine ? coroutine : work(ledger, "edit", gated())}, .compile = stored()});
        helper.say("go", {.thread_id = "t"});
        // Two calls are edited at the same time, one is approved as it is.
        sg::Command<> all = helper.decide("t", "c1", {.approved = true, .arguments = sg::Value(Job{"A"})});
        for (const auto& more : {helper.decide("t", "c2", {.approved = true, .arguments = sg::Value(Job{"B"})}),
                                 helper.decide("t", "c3", {.approved = true})})
            all.answers.push_back(more.answers.front());
        const auto ended = is_coroutine ? sg::syncWait(helper.graph().asyncInvoke(all, {.thread_id = "t"}))
                                        : helper.graph().invoke(all, {.thread_id = "t"});
        CHECK(told == Texts{"A", "B", "c"});
        CHECK(results(ended.values) == Texts{"did A", "did B", "did c"});
        const model::Message& asked = ended.values.messages.at(1);
        CHECK(argumentsOf(asked, 0) == "A");
        std::vector<model::OriginalArguments> originals;
        for (const model::Part& part : asked.content) {
            if (const auto* const original = std::get_if<model::OriginalArguments>(&part))
                originals.push_back(*original);
        }
        REQUIRE(originals.size() == 2);
        CHECK(originals[0].call_id == asked.calls[0].id);
        CHECK(sg::parseJson(originals[0].arguments).as<Job>().what == "a");
        const auto stored_now = helper.graph().getState({.thread_id = "t"}).values;
        CHECK(stored_now.messages == ended.values.messages);
    }
}

TEST_CASE("a call that was edited is told as edited even if the tool fails or another call still waits") {
    const auto fails = agent::tool<Job>(
        "fails", gated(), [](const Job& job) -> std::string { throw std::runtime_error("cannot " + job.what); });
    const agent::Agent helper(
        {.model = model::scripted(
             {model::assistant({call("c1", "a", "fails"), call("c2", "b", "fails")}), model::assistant("ok")}),
         .tools = {fails},
         .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    const auto waits = decide(helper, "c1", {.approved = true, .arguments = sg::Value(Job{"A"})});
    CHECK((waits.status == sg::Status::interrupted));
    CHECK(argumentsOf(waits.values.messages.at(1), 0) == "A");
    const auto ended = decide(helper, "c2", {.approved = true, .arguments = sg::Value(Job{"B"})});
    CHECK(argumentsOf(ended.values.messages.at(1), 0) == "A");
    CHECK(argumentsOf(ended.values.messages.at(1), 1) == "B");
    CHECK(results(ended.values) == Texts{"Error: cannot A", "Error: cannot B"});
}

TEST_CASE("the question about a call in doubt names it, and it is found and decided as other open calls are") {
    for (const bool is_repeated : {true, false}) {
        CAPTURE(is_repeated);
        agent::ToolOptions options = gated();
        options.on_doubt = sg::OnDoubt::ask;
        options.retry = sg::RetryPolicy{.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)};
        int tries = 0;
        const auto pays = agent::tool<Job>("pay", options, [&tries](const Job& job) {
            if (++tries == 1) throw std::runtime_error("the line broke");
            return "paid " + job.what;
        });
        const agent::Agent helper(
            {.model = model::scripted({model::assistant({call("c1", "5000", "pay")}), model::assistant("ok")}),
             .tools = {pays},
             .compile = stored()});
        helper.say("go", {.thread_id = "t"});
        const auto doubtful = decide(helper, "c1", {.approved = true, .arguments = sg::Value(Job{"5"})});
        REQUIRE((doubtful.status == sg::Status::interrupted));
        const auto open = helper.openCalls("t");
        REQUIRE(open.size() == 1);
        CHECK(open[0].is_in_doubt);
        CHECK(open[0].tool == "pay");
        CHECK(open[0].provider_id == "c1");
        CHECK(open[0].arguments.as<Job>().what == "5");
        CHECK(helper.waiting().threads.size() == 1);
        const auto ended = decide(helper, "c1", {.approved = is_repeated, .reason = "ask the bank"});
        CHECK((ended.status == sg::Status::done));
        CHECK(tries == (is_repeated ? 2 : 1));
        const std::string told = results(ended.values).at(0);
        CHECK(told.find(is_repeated ? "paid 5" : "It may have been, and is not repeated: ask the bank") !=
              std::string::npos);
    }
}

TEST_CASE("the cost of a turn has that of its sub-agents") {
    const auto costs = [](model::Message message, std::int64_t tokens) {
        message.usage = model::Usage{.input_tokens = tokens, .output_tokens = 1};
        return message;
    };
    const auto ask = [](const char* id) { return model::ToolCall{{}, id, "helper", R"({"request":"do it"})"}; };
    const agent::Agent inner(
        {.model = model::scripted([&](const model::Request&) { return costs(model::assistant("done"), 100); })});
    const agent::Agent outer(
        {.model = model::scripted({costs(model::assistant({ask("c1"), ask("c2")}), 10),
                                   costs(model::assistant("ok"), 20), costs(model::assistant("again"), 30)}),
         .tools = {agent::agentTool("helper", {}, inner)},
         .compile = stored()});
    const auto first = outer.say("go", {.thread_id = "t"}).values.usage.total();
    CHECK(first.input_tokens == 230);
    CHECK(first.output_tokens == 4);
    CHECK(outer.say("more", {.thread_id = "t"}).values.usage.total().input_tokens == 30);
}
