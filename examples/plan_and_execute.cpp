// A planner writes down steps, an executor with tools carries out one of them, and the planner looks at the result
// before the next: it may change the plan, or answer.
//
//                ┌────────────────┐
//                ▼                │
//     START ──► plan ──► execute ─┘
//                └─────► END
//
// Scripts take the place of two models; with model::openai({…}) the rest stays as it is. Each step is a checkpoint, so
// a run that is killed continues with the step that it was at.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

// [begin types]
// What the planner returns: steps that are left, or an answer.
struct Plan {
    std::vector<std::string> steps = {};
    std::string answer = {};
    static constexpr auto fields() { return sg::fields<&Plan::steps, &Plan::answer>(); }
};
struct Done {
    std::string step = {};
    std::string result = {};
    static constexpr auto fields() { return sg::fields<&Done::step, &Done::result>(); }
};
struct Work {
    std::string goal = {};
    Plan plan = {};
    std::vector<Done> done = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Work::goal>(), sg::channel<&Work::plan>(),
                            sg::channel<&Work::done>(sg::append));
    }
};
// [end types]
struct Item {
    std::string item = {};
    static constexpr auto fields() { return sg::fields<&Item::item>(); }
};

// The script of the planner: it sees what is done in the request.
model::Message plans(const model::Request& request) {
    const std::string asked = request.messages.back().text();
    if (asked.find("cake: 4 euro") != std::string::npos)
        return model::assistant(R"({"steps":[],"answer":"Together they cost 7 euro."})");
    if (asked.find("tea: 3 euro") != std::string::npos)
        return model::assistant(R"({"steps":["find the price of cake"],"answer":""})");
    return model::assistant(R"({"steps":["find the price of tea","find the price of cake","add both"],"answer":""})");
}
// The script of the executor: it calls the tool, and then answers with its result.
model::Message executes(const model::Request& request) {
    if (request.messages.back().result) return model::assistant(request.messages.back().result->text());
    const bool is_tea = request.messages.back().text().find("tea") != std::string::npos;
    return model::assistant({{{}, "c1", "price", is_tea ? R"({"item":"tea"})" : R"({"item":"cake"})"}});
}

int main() {
    // [begin agents]
    const agent::Agent planner({.model = model::scripted(plans),
                                .instructions = "Write the steps that are left, or the answer if there are none.",
                                .output = agent::output<Plan>()});
    const agent::Agent executor(
        {.model = model::scripted(executes),
         .instructions = "Carry out one step.",
         .tools = {agent::tool<Item>("price", {.description = "The price of an item"}, [](const Item& of) {
             return of.item + (of.item == "tea" ? ": 3 euro" : ": 4 euro");
         })}});
    // [end agents]

    // [begin graph]
    sg::StateGraph<Work> graph;
    graph.addNode("plan", [planner](const Work& work, sg::Runtime& runtime) {
        std::string text = "Goal: " + work.goal + "\n";
        for (const Done& each : work.done) text += each.step + " -> " + each.result + "\n";
        // The agent's run is a part of this one: its questions, its checkpoints and a stop are those of the thread.
        const agent::State said =
            runtime.invoke(planner.graph(), {sg::add(&agent::State::messages, model::user(text))}, "planner");
        return sg::set<&Work::plan>(said.output.as<Plan>());
    });
    graph.addNode("execute", [executor](const Work& work, sg::Runtime& runtime) {
        const std::string& step = work.plan.steps.front();
        const agent::State said =
            runtime.invoke(executor.graph(), {sg::add(&agent::State::messages, model::user(step))}, "executor");
        return sg::add<&Work::done>(Done{step, said.text()});
    });
    graph.addEdge(sg::START, "plan").addEdge("execute", "plan");
    graph.addConditionalEdges(
        "plan", [](const Work& work) { return work.plan.steps.empty() ? "answer" : "next step"; },
        sg::PathMap{{"answer", sg::END}, {"next step", "execute"}});
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    // [end graph]

    // [begin run]
    const sg::RunConfig config{.thread_id = "shopping", .recursion_limit = 20};  // at most ten steps
    for (const auto& event :
         app.stream({sg::set<&Work::goal>("What do tea and cake cost?")}, config, {.modes = sg::StreamMode::updates})) {
        std::cout << event << "\n";
    }
    std::cout << app.getState({.thread_id = "shopping"}).values.plan.answer << "\n";
    // [end run]
}
