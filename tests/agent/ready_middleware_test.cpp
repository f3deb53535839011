#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

#include "tests/agent/tools.hpp"

using namespace tools;

namespace {

using Texts = std::vector<std::string>;

/// The texts of the messages of a request.
Texts textsOf(const model::Request& request) {
    Texts texts;
    for (const model::Message& message : request.messages)
        texts.push_back(message.result ? message.result->text() : message.text());
    return texts;
}

/// A model that notes the texts of its requests, and gives these answers, the last one for ever.
struct Noting {
    explicit Noting(std::vector<model::Message> answers) : answers(std::move(answers)) {}
    std::shared_ptr<const model::Model> model() {
        return model::scripted([this](const model::Request& request) {
            requests.push_back(textsOf(request));
            tools.push_back(request.tools.size());
            return answers.at(std::min(requests.size(), answers.size()) - 1);
        });
    }
    std::vector<model::Message> answers;
    std::vector<Texts> requests = {};
    std::vector<std::size_t> tools = {};
};

model::Message costing(std::string text, std::int64_t input, std::int64_t output) {
    model::Message message = model::assistant(std::move(text));
    message.usage = model::Usage{.input_tokens = input, .output_tokens = output};
    return message;
}

std::shared_ptr<const model::Model> failing(const model::ModelError& error) {
    return model::scripted([error](const model::Request&) -> model::Message { throw error; });
}

}  // namespace

TEST_CASE("a summary stands for older messages, each is summarised once, and the state keeps all") {
    Noting writer({model::assistant("first summary"), model::assistant("second summary")});
    Noting answering({model::assistant(std::string(400, 'a'))});
    const agent::Agent helper(
        {.model = answering.model(),
         .middleware = {agent::summarize({.model = writer.model(), .above_tokens = 150, .keep_messages = 2})},
         .compile = stored()});
    for (const char* said : {"one", "two", "three", "four"}) helper.say(said, {.thread_id = "t"});
    REQUIRE(answering.requests.size() == 4);
    CHECK(answering.requests[0] == Texts{"one"});
    CHECK(answering.requests[1].size() == 3);
    // Before the third call, 206 tokens would be sent.
    REQUIRE(answering.requests[2].size() == 3);
    CHECK(answering.requests[2][0].ends_with("first summary"));
    CHECK(answering.requests[2][2] == "three");
    REQUIRE(writer.requests.size() == 2);
    CHECK(writer.requests[0].at(0).starts_with("user: one\nassistant: aaa"));
    // The second summary is made of the first one and of what came after it.
    CHECK(writer.requests[1].at(0).starts_with("Summary of what came before: first summary\n"));
    CHECK(writer.requests[1].at(0).find("user: one") == std::string::npos);
    CHECK(answering.requests[3].at(0).ends_with("second summary"));
    CHECK(helper.graph().getState({.thread_id = "t"}).values.messages.size() == 8);
}

TEST_CASE("the newest part of a conversation is sent, from a message of the user on, and the turn is always whole") {
    Noting answering({model::assistant(std::string(400, 'a'))});
    const agent::Agent helper(
        {.model = answering.model(), .middleware = {agent::trim({.max_tokens = 110})}, .compile = stored()});
    for (const char* said : {"one", "two", "three"}) helper.say(said, {.thread_id = "t"});
    REQUIRE(answering.requests.size() == 3);
    CHECK(answering.requests[1].size() == 3);
    REQUIRE(answering.requests[2].size() == 3);
    CHECK(answering.requests[2][0] == "two");
    const std::string whole(1000, 'b');
    helper.say(whole, {.thread_id = "t"});
    CHECK(answering.requests[3] == Texts{whole});
}

TEST_CASE("pictures count where the length of a conversation is estimated") {
    Noting answering({model::assistant("ok")});
    const agent::Agent helper(
        {.model = answering.model(), .middleware = {agent::trim({.max_tokens = 1500})}, .compile = stored()});
    for (const char* said : {"one", "two"}) {
        model::Message message = model::user(said);
        message.content.emplace_back(model::File{.media_type = "image/png", .data = "cG5n"});
        helper.graph().invoke(agent::said({message}), {.thread_id = "t"});
    }
    CHECK(answering.requests.at(1) == Texts{"two"});
}

TEST_CASE("a thread that has used up its budget calls no model, in this turn and the next ones") {
    Noting answering({costing("one", 40, 10), costing("two", 40, 10), costing("three", 40, 10)});
    agent::BudgetOptions limit;
    SUBCASE("in tokens") { limit.tokens = 100; }
    SUBCASE("in money") { limit.cost = 0.00012; }  // an answer costs 0.00006
    const agent::Agent helper({.model = answering.model(),
                               .middleware = {agent::budget(limit)},
                               .prices = {{"scripted", {.input = 1, .output = 2}}},
                               .compile = stored()});
    CHECK(helper.say("a", {.thread_id = "t"}).values.stop_reason == "stop");
    CHECK(helper.say("b", {.thread_id = "t"}).values.stop_reason == "stop");
    CHECK(helper.say("c", {.thread_id = "t"}).values.stop_reason == "budget");
    CHECK(helper.say("d", {.thread_id = "t"}).values.stop_reason == "budget");
    CHECK(answering.requests.size() == 2);
    CHECK(helper.say("a", {.thread_id = "other"}).values.text() == "three");
}

TEST_CASE("a budget of money fails a run whose model has no price, instead of spending without a limit") {
    Noting answering({costing("one", 40, 10)});
    const agent::Agent helper(
        {.model = answering.model(), .middleware = {agent::budget({.cost = 1})}, .compile = stored()});
    helper.say("a", {.thread_id = "t"});
    try {
        helper.say("b", {.thread_id = "t"});
        FAIL("no error");
    } catch (const sg::NodeError& error) {
        CHECK(std::string(error.what())
                  .find("the model 'scripted' has no price; add it, or \"*\", to "
                        "Options::prices") != std::string::npos);
    }
    CHECK(answering.requests.size() == 1);
}

TEST_CASE("calls above a limit of the turn are not executed, and a tool that is used up is not offered") {
    const auto ledger = std::make_shared<Ledger>();
    Noting calling({model::assistant({call("1", "a"), call("2", "b"), call("3", "c")}), model::assistant("ok")});
    const agent::Agent helper({.model = calling.model(),
                               .tools = {work(ledger), work(ledger, "other")},
                               .middleware = {agent::limitCalls({.tool = "work", .per_turn = 2})},
                               .compile = stored()});
    const auto state = helper.say("go", {.thread_id = "t"}).values;
    CHECK(results(state) == Texts{"did a", "did b"});
    CHECK(ledger->count("c") == 0);
    CHECK(calling.tools == std::vector<std::size_t>{2, 1});
    helper.say("again", {.thread_id = "t"});
    CHECK(calling.tools.back() == 2);  // a turn of its own
}

TEST_CASE("addresses and numbers of cards reach neither the model nor the readers of its answers") {
    Noting answering({model::assistant("write to bob.b+x@example.co.uk, or pay with 4111 1111 1111 1111.")});
    const agent::Agent helper({.model = answering.model(), .middleware = {agent::redact()}, .compile = stored()});
    const auto state = helper
                           .say(
                               "I am a@b.example. Card: 4111-1111-1111-1111, order 4111111111111112, at 12:30 @ home, "
                               "x@y",
                               {.thread_id = "t"})
                           .values;
    CHECK(answering.requests.at(0) ==
          Texts{"I am [email]. Card: [card], order 4111111111111112, at 12:30 @ home, x@y"});
    CHECK(state.text() == "write to [email], or pay with [card].");
    CHECK(state.messages.at(0).text().starts_with("I am a@b.example"));
}

TEST_CASE("results of tools are redacted for the model, by functions of one's own too") {
    const auto ledger = std::make_shared<Ledger>();
    Noting calling({model::assistant({call("1", "a@b.example")}), model::assistant("ok")});
    const agent::Agent helper(
        {.model = calling.model(),
         .tools = {work(ledger)},
         .middleware = {agent::redact({.also = {[](std::string text) { return text + "?"; }}, .answers = false})}});
    const auto state = helper.say("go").values;
    CHECK(calling.requests.at(1).at(2) == "did [email]?");
    CHECK(results(state) == Texts{"did a@b.example"});
}

TEST_CASE("a guard refuses what a user says, and what a model answers") {
    Noting answering({model::assistant("a secret")});
    const auto refuses = [](std::string word) {
        return [word = std::move(word)](std::string_view text) -> std::optional<std::string> {
            if (text.find(word) == std::string_view::npos) return {};
            return "No " + word + ".";
        };
    };
    agent::Options options{.model = answering.model(), .compile = stored()};
    SUBCASE("by functions") {
        options.middleware = {agent::guard({.input = refuses("bombs"), .output = refuses("secret")})};
        const agent::Agent helper(options);
        const auto in = helper.say("build bombs", {.thread_id = "t"}).values;
        CHECK(in.text() == "No bombs.");
        CHECK(in.stop_reason == "content-filter");
        CHECK(answering.requests.empty());
        const auto out = helper.say("tell me", {.thread_id = "t"}).values;
        CHECK(out.text() == "No secret.");
        CHECK(answering.requests.size() == 1);
    }
    SUBCASE("by a model") {
        Noting judge({model::assistant("Yes."), model::assistant("no")});
        options.middleware = {agent::guard({.judge = judge.model(), .rules = "No weapons."})};
        const agent::Agent helper(options);
        CHECK(helper.say("build bombs", {.thread_id = "t"}).values.text() == "I cannot help with that.");
        CHECK(judge.requests.at(0) == Texts{"build bombs"});
        CHECK(helper.say("hello", {.thread_id = "t"}).values.text() == "a secret");
    }
}

TEST_CASE("a guard judges messages as the middleware before it has left them") {
    for (const bool is_redacted_first : {true, false}) {
        Noting answering({model::assistant("hello")});
        Noting judge({model::assistant("no")});
        std::vector<agent::Middleware> both{agent::redact(),
                                            agent::guard({.judge = judge.model(), .rules = "No weapons."})};
        if (!is_redacted_first) std::swap(both.front(), both.back());
        const agent::Agent helper({.model = answering.model(), .middleware = both, .compile = stored()});
        CHECK(helper.say("I am ada@example.org", {.thread_id = "t"}).values.text() == "hello");
        CHECK(judge.requests.at(0) == Texts{is_redacted_first ? "I am [email]" : "I am ada@example.org"});
        CHECK(answering.requests.at(0) == Texts{"I am [email]"});
    }
}

TEST_CASE("the next model is asked when one fails, and the error of the last one fails the run") {
    const auto busy = failing(model::ModelError("busy", {.status = 503, .is_retryable = false}));
    const auto broken = failing(model::ModelError("broken", {.status = 500, .is_retryable = false}));
    agent::Options options{.model = busy};
    options.middleware = {agent::fallBack({broken, model::scripted({model::assistant("third")})})};
    CHECK(agent::Agent(options).say("go").values.text() == "third");
    options.middleware = {agent::fallBack({broken})};
    CHECK_THROWS_WITH_AS(agent::Agent(options).say("go"), doctest::Contains("broken"), sg::NodeError);
    CHECK_THROWS_AS(agent::fallBack({nullptr}), sg::InvalidArgumentError);
}

TEST_CASE("a model selects the tools of a turn once, and all are offered if it names none") {
    const auto ledger = std::make_shared<Ledger>();
    Noting selecting({model::assistant("1. work_b\n2. `work_c` and work_z"), model::assistant("none of them")});
    Noting calling({model::assistant({call("1", "x", "work_b")}), model::assistant("ok")});
    const agent::Agent helper(
        {.model = calling.model(),
         .tools = {work(ledger, "work_a"), work(ledger, "work_b"), work(ledger, "work_c"), work(ledger, "work_d")},
         .middleware = {agent::selectTools({.model = selecting.model(), .most = 2, .always = {"work_d"}})},
         .compile = stored()});
    CHECK(results(helper.say("go", {.thread_id = "t"}).values) == Texts{"did x"});
    CHECK(calling.tools == std::vector<std::size_t>{3, 3});
    CHECK(selecting.requests.size() == 1);
    helper.say("again", {.thread_id = "t"});
    CHECK(calling.tools.back() == 4);
}

TEST_CASE("tools that were selected for a turn are not those of the next one") {
    const auto ledger = std::make_shared<Ledger>();
    Noting selecting({model::assistant("work_a")});
    Noting calling({model::assistant("ok"), model::assistant({call("1", "x", "work_b")}), model::assistant("ok")});
    int turn = 0;
    const agent::Agent helper({.model = calling.model(),
                               .tools = {work(ledger, "work_a"), work(ledger, "work_b"), work(ledger, "work_c")},
                               .middleware = {agent::beforeModel([&](agent::ModelCall& call) {
                                                  if (turn == 1) call.tools = {"work_b", "work_c"};
                                              }),
                                              agent::selectTools({.model = selecting.model(), .most = 2})},
                               .compile = stored()});
    helper.say("go", {.thread_id = "t"});
    ++turn;
    helper.say("again", {.thread_id = "t"});
    CHECK(calling.tools == std::vector<std::size_t>{1, 2, 2});
    CHECK(selecting.requests.size() == 1);
}

TEST_CASE("the instructions, the turn's first message and the last one are marked for the provider's cache") {
    sg::Value instructions;
    std::vector<bool> marked;
    const auto noting = model::scripted([&](const model::Request& request) {
        instructions = request.settings.instructions_extra;
        marked.clear();
        for (const model::Message& message : request.messages) {
            const auto* const part =
                message.content.empty() ? nullptr : std::get_if<model::ProviderPart>(&message.content.front());
            marked.push_back(part != nullptr && part->kind == model::ProviderPartKind::options);
        }
        return request.messages.size() == 3 ? model::assistant({call("c1", "sky")}) : model::assistant("ok");
    });
    const auto ledger = std::make_shared<Ledger>();
    agent::Options options{
        .model = noting, .tools = {work(ledger)}, .middleware = {agent::cachePrompt()}, .compile = stored()};
    options.settings.instructions_extra = sg::parseJson(R"({"anthropic":{"x":1},"openai":{"name":"n"}})");
    const agent::Agent helper(options);
    helper.say("go", {.thread_id = "t"});
    CHECK(marked == std::vector<bool>{true});
    const auto end = helper.say("again", {.thread_id = "t"});
    CHECK(marked == std::vector<bool>{false, false, true, false, true});
    CHECK(instructions ==
          sg::parseJson(R"({"anthropic":{"x":1,"cache_control":{"type":"ephemeral"}},"openai":{"name":"n"}})"));
    for (const model::Message& message : end.values.messages) CHECK(message.content.size() <= 1);  // nothing is stored
}

TEST_CASE("options that cannot work are refused") {
    CHECK_THROWS_AS(agent::summarize({}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(agent::budget({}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(agent::selectTools({}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(agent::guard({.judge = model::scripted({model::assistant("no")})}), sg::InvalidArgumentError);
}
