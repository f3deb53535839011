// LangGraph's react_agent: a fake model requests one tool call after the other, n times, each with an argument of 3,600
// characters and an answer of 36 KB; then it answers. There are 2n + 1 supersteps, and a conversation of 2n + 2
// messages.
#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>

#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

struct Call {
    std::string id = {};
    std::string query = {};
    static constexpr auto fields() { return sg::fields(sg::field("id", &Call::id), sg::field("query", &Call::query)); }
};
struct Message {
    std::string role = {};
    std::string content = {};
    std::vector<Call> calls = {};
    std::string id = {};
    bool isRemoval() const { return false; }
    static constexpr auto fields() {
        return sg::fields(sg::field("role", &Message::role), sg::field("content", &Message::content),
                          sg::field("calls", &Message::calls), sg::field("id", &Message::id));
    }
};
struct Agent {
    std::vector<Message> messages = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Agent::messages, sg::addMessages));
    }
};

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}
/// Returns the model's message after `said` messages.
Message modelSays(std::size_t said, std::size_t tool_calls) {
    const std::size_t turn = said / 2;
    const std::string id = "m" + std::to_string(said);
    if (turn >= tool_calls) return {.role = "ai", .content = repeated("answer", 100), .id = id};
    return {.role = "ai",
            .calls = {{.id = std::to_string(turn), .query = repeated("0b9d9c3e-4a57-4f0c-9c0e-1f2d3c4b5a69", 100)}},
            .id = id};
}
Message toolSays(const Call& call) {
    return {.role = "tool", .content = repeated("result for query: " + call.query, 10), .id = "t" + call.id};
}

sg::StateGraph<Agent> agentGraph(std::size_t tool_calls) {
    const sg::NodeId<Call> tools{"tools"};
    sg::StateGraph<Agent> graph;
    graph
        .addNode("agent",
                 [=](const Agent& s) -> sg::Update<Agent> {
                     return {sg::add(&Agent::messages, modelSays(s.messages.size(), tool_calls))};
                 })
        .addNode(tools,
                 [](const Call& call) -> sg::Update<Agent> { return {sg::add(&Agent::messages, toolSays(call))}; })
        .addEdge(sg::START, "agent")
        .addConditionalEdges("agent",
                             [=](const Agent& s) {
                                 sg::Targets targets;
                                 for (const Call& call : s.messages.back().calls) targets.add(tools(call));
                                 return targets;
                             },
                             {"tools", sg::END})
        .addEdge("tools", "agent");
    return graph;
}

void agent(benchmark::State& state, std::size_t tool_calls, Store store) {
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = agentGraph(tool_calls).compile({.checkpointer = fresh.saver});
        state.ResumeTiming();
        const auto result =
            app.invoke({sg::add(&Agent::messages, Message{.role = "human", .content = "hi?", .id = "h"})},
                       {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 3000});
        if (result.values.messages.size() != 2 * tool_calls + 2) state.SkipWithError("wrong result");
    }
}

void byHand(benchmark::State& state, std::size_t tool_calls) {
    for (auto _ : state) {
        std::vector<Message> messages = {{.role = "human", .content = "hi?"}};
        for (;;) {
            messages.push_back(modelSays(messages.size(), tool_calls));
            if (messages.back().calls.empty()) break;
            const auto calls = messages.back().calls;
            for (const Call& call : calls) messages.push_back(toolSays(call));
        }
        benchmark::DoNotOptimize(messages.data());
    }
}

}  // namespace

void registerCases() {
    for (const std::size_t tool_calls : {10, 100, 1000}) {
        add("react_loop/no_saver", tool_calls, [=](benchmark::State& state) { agent(state, tool_calls, Store::none); });
        addFloor("react_loop/no_saver", tool_calls, [=](benchmark::State& state) { byHand(state, tool_calls); });
        add("react_loop/memory", tool_calls, [=](benchmark::State& state) { agent(state, tool_calls, Store::memory); });
    }
}

}  // namespace bench
