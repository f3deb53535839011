#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

#include "tests/agent/tools.hpp"

using namespace tools;

namespace {

/// A model with a name, whose answers cost so many tokens each.
class Named final : public model::Model {
public:
    Named(std::string name, std::int64_t input, std::vector<model::Message> answers)
        : name_(std::move(name)), input_(input), answers_(model::scripted(std::move(answers))) {}
    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        auto asked = answers_->ask(std::move(request), asking);
        model::Reply reply = co_await std::move(asked);
        reply.model = name_ + "-2026-01-31";
        reply.message.usage = model::Usage{.input_tokens = input_, .output_tokens = 1, .cached_tokens = input_ / 10};
        co_return reply;
    }
    model::ModelName name() const override { return {.provider = "test", .model = name_}; }

private:
    std::string name_;
    std::int64_t input_;
    std::shared_ptr<const model::Model> answers_;
};

std::shared_ptr<const model::Model> named(const char* name, std::int64_t input, std::vector<model::Message> answers) {
    return std::make_shared<Named>(name, input, std::move(answers));
}

model::ToolCall asksHelper(const char* id) { return {{}, id, "helper", R"({"request":"do it"})"}; }

}  // namespace

TEST_CASE("the account of a turn and of its thread has sub-agents and middleware, each by its model's price") {
    const agent::Agent inner({.model = named("small", 100, {model::assistant("done")})});
    const auto judging = named("tiny", 5, {model::assistant("no")});
    const agent::Agent outer({.model = named("large", 1000,
                                             {model::assistant({asksHelper("1"), asksHelper("2")}),
                                              model::assistant("ok"), model::assistant("again")}),
                              .tools = {agent::agentTool("helper", {}, inner)},
                              .middleware = {agent::guard({.judge = judging, .rules = "none"})},
                              .prices = {{"large", {.input = 10, .output = 100, .cache_read = 1}},
                                         {"small", {.input = 1, .output = 2}},
                                         {"tiny", {}}},
                              .compile = stored()});
    const auto first = outer.say("go", {.thread_id = "t"}).values;
    CHECK(first.usage.models.at("large-2026-01-31") ==
          model::Usage{.input_tokens = 2000, .output_tokens = 2, .cached_tokens = 200});
    CHECK(first.usage.models.at("small-2026-01-31").input_tokens == 200);
    agent::Account account = outer.account(first);
    CHECK(account.turn.input_tokens == first.usage.total().input_tokens);
    CHECK(account.thread == account.turn);
    // 1800 * 10 + 200 * 1 + 2 * 100 and 200 * 1 + 2 * 2, by million
    CHECK(account.turn_cost->money.text() == "0.018604");
    CHECK(account.turn_cost->unpriced.empty());

    const auto second = outer.say("more", {.thread_id = "t"}).values;
    CHECK(second.usage.models.at("tiny-2026-01-31").input_tokens == 5);
    account = outer.account(second);
    CHECK(account.turn.input_tokens == 1005);
    CHECK(account.thread.input_tokens == first.usage.total().input_tokens + 1005);
    CHECK(account.thread_cost->money.text() == "0.027804");
    CHECK(!agent::accountOf(second).turn_cost);
    CHECK(agent::accountOf(second, {{"large", {}}}).thread_cost->unpriced ==
          std::vector<std::string>{"small-2026-01-31", "tiny-2026-01-31"});
}

TEST_CASE("messages that are removed do not take back what their answers cost, and a fork has what its branch cost") {
    const agent::Agent helper(
        {.model = named("m", 10, {model::assistant("one"), model::assistant("two")}), .compile = stored()});
    helper.say("a", {.thread_id = "t"});
    const auto after_first = helper.graph().getState({.thread_id = "t"});
    helper.say("b", {.thread_id = "t"});
    CHECK(agent::accountOf(helper.graph().getState({.thread_id = "t"}).values).thread.input_tokens == 20);
    CHECK(agent::accountOf(after_first.values).thread.input_tokens == 10);
    model::Message removal;
    removal.role = model::Role::remove;
    removal.id = after_first.values.messages.back().id;
    helper.graph().updateState({.thread_id = "t"}, agent::said({removal}));
    CHECK(agent::accountOf(helper.graph().getState({.thread_id = "t"}).values).thread.input_tokens == 20);
}

TEST_CASE("each answer that came counts once, whatever middleware makes of it and however often the run is resumed") {
    const auto ledger = std::make_shared<Ledger>();
    int failures = 2;
    const agent::Agent helper(
        {.model = named("m", 10, {model::assistant({{{}, "1", "work", R"({"what":"x"})"}}), model::assistant("ok")}),
         .tools = {work(ledger)},
         .middleware = {{.name = "twice",
                         .around_model = [](agent::ModelCall&, const agent::NextModel& next) -> sg::Task<model::Reply> {
                             auto first = next();
                             (void)co_await std::move(first);
                             auto second = next();
                             model::Reply reply = co_await std::move(second);
                             reply.message.usage.reset();
                             co_return reply;
                         }},
                        {.name = "breaks",
                         .after_model =
                             [&](agent::ModelCall& call, model::Reply&) {
                                 if (call.state.steps == 1 && failures-- > 0) throw std::logic_error("no");
                             }}},
         .compile = stored()});
    CHECK_THROWS_AS(helper.say("go", {.thread_id = "t"}), sg::NodeError);
    CHECK(agent::accountOf(helper.graph().getState({.thread_id = "t"}).values).turn.input_tokens == 20);
    CHECK_THROWS_AS(helper.graph().invoke(sg::RESUME, {.thread_id = "t"}), sg::NodeError);
    const auto ended = helper.graph().invoke(sg::RESUME, {.thread_id = "t"}).values;
    // What the two failed attempts have used is not stored with them.
    CHECK(agent::accountOf(ended).turn.input_tokens == 40);
    CHECK(ledger->count("x") == 1);
}
