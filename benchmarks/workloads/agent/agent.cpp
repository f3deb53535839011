// Agents with a model that follows a script: a turn of ten rounds, each a call of the model and one of a tool, with
// the memory saver and without a saver. A round's time is overhead: the model and the tool do nothing.
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

void turn(benchmark::State& state, int rounds, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    std::vector<model::Message> script;
    for (int i = 0; i < rounds; ++i)
        script.push_back(model::assistant({{{}, "c" + std::to_string(i), "inc", R"({"n":1})"}}));
    script.push_back(model::assistant("done"));
    agent::Options options{.model = model::scripted(std::move(script)),
                           .tools = {agent::tool<Number>("inc", {.description = "Adds one"},
                                                         [](const Number& number) { return number.n + 1; })},
                           .stop_when = {agent::stepCountIs(rounds + 2)}};
    if (saver) options.compile.checkpointer = std::move(saver);
    const agent::Agent helper(std::move(options));
    std::uint64_t run = 0;
    for (auto _ : state) {
        const auto result = helper.say("go", {.thread_id = std::to_string(++run)});
        if (result.values.steps != rounds + 1) state.SkipWithError("wrong result");
    }
}

}  // namespace

void registerCases() {
    add("agent/rounds_10", [](benchmark::State& state) { turn(state, 10, std::make_shared<sg::MemorySaver>()); });
    add("agent/rounds_10_unsaved", [](benchmark::State& state) { turn(state, 10, nullptr); });
    add("agent/answer", [](benchmark::State& state) { turn(state, 0, std::make_shared<sg::MemorySaver>()); });
}

}  // namespace bench
