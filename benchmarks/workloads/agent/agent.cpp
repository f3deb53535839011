// Agents with a model that follows a script: a turn of ten rounds, each a call of the model and one of a tool, with
// the memory saver and without a saver, with a model that reports its tokens, and with middleware whose hooks do
// nothing. A round's time is overhead: the model and the tool do nothing.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Number {
    int n = 0;
    static constexpr auto fields() { return sg::fields(sg::field("n", &Number::n)); }
};

sg::Task<model::Reply> justAsks(agent::ModelCall&, const agent::NextModel& next) {
    auto asked = next();
    auto reply = co_await std::move(asked);
    co_return reply;
}
sg::Task<sg::Value> justCalls(const agent::ToolUse&, const agent::NextTool& next) {
    auto called = next();
    auto value = co_await std::move(called);
    co_return value;
}
// Every hook that there is; each does nothing.
agent::Middleware idle(std::string name) {
    return {.name = std::move(name),
            .before_model = [](agent::ModelCall&) {},
            .around_model = justAsks,
            .after_model = [](agent::ModelCall&, model::Reply&) {},
            .around_tool = justCalls};
}

struct Case {
    int rounds = 10;
    bool is_saved = true;
    bool counts_tokens = false;  // the model reports what it used
    std::vector<agent::Middleware> middleware = {};
};

void turn(benchmark::State& state, const Case& how) {
    const int rounds = how.rounds;
    std::vector<model::Message> script;
    for (int i = 0; i < rounds; ++i)
        script.push_back(model::assistant({{{}, "c" + std::to_string(i), "inc", R"({"n":1})"}}));
    script.push_back(model::assistant("done"));
    if (how.counts_tokens) {
        for (model::Message& each : script) each.usage = model::Usage{.input_tokens = 1000, .output_tokens = 100};
    }
    agent::Options options{.model = model::scripted(std::move(script)),
                           .tools = {agent::tool<Number>("inc", {.description = "Adds one"},
                                                         [](const Number& number) { return number.n + 1; })},
                           .stop_when = {agent::stepCountIs(rounds + 2)},
                           .middleware = how.middleware};
    if (how.is_saved) options.compile.checkpointer = std::make_shared<sg::MemorySaver>();
    const agent::Agent helper(std::move(options));
    std::uint64_t run = 0;
    for (auto _ : state) {
        const auto result = helper.say("go", {.thread_id = std::to_string(++run)});
        if (result.values.steps != rounds + 1) state.SkipWithError("wrong result");
    }
}

}  // namespace

void registerCases() {
    add("agent/rounds_10", [](benchmark::State& state) { turn(state, {}); });
    add("agent/rounds_10_unsaved", [](benchmark::State& state) { turn(state, {.is_saved = false}); });
    add("agent/rounds_10_tokens", [](benchmark::State& state) { turn(state, {.counts_tokens = true}); });
    // Each middleware adds 33 hooks of model calls and 10 of tools. Between one and two lies the price of hooks alone;
    // the first also has what an agent with middleware does in each round.
    add("agent/rounds_10_hooks", [](benchmark::State& state) { turn(state, {.middleware = {idle("a")}}); });
    add("agent/rounds_10_hooks_twice", [](benchmark::State& state) {
        turn(state, {.middleware = {idle("a"), idle("b")}});
    });
    add("agent/answer", [](benchmark::State& state) { turn(state, {.rounds = 0}); });
}

}  // namespace bench
