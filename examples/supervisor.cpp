// A supervisor that hands a task to two workers at once. Each worker asks a person before it acts, and the supervisor
// gets the conversation back when both have ended.
//
//               ┌──► weeder ───┐
//     START ──► chief          ├──► chief ──► END        "──►" out of chief: the tools that handOff makes
//               └──► planter ──┘
#include <algorithm>
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Team {
    std::vector<model::Message> messages = {};  // the channel that the agents share with this graph
    static constexpr auto channels() { return sg::channels(sg::channel("messages", &Team::messages, sg::addMessages)); }
};
struct Bed {
    std::string bed = {};
    static constexpr auto fields() { return sg::fields<&Bed::bed>(); }
};

// Scripts take the place of models: each looks for what it has not done yet.
bool has(const model::Request& request, const std::string& text) {
    return std::ranges::any_of(request.messages, [&](const model::Message& each) {
        return each.text() == text || (each.result && each.result->text() == text);
    });
}

sg::CompiledGraph<agent::State> worker(const std::string& verb) {
    return agent::Agent({.model = model::scripted([verb](const model::Request& request) {
                             if (has(request, verb + "ed bed 7")) return model::assistant("I have " + verb + "ed.");
                             return model::assistant({{{}, verb + "-1", verb, R"({"bed":"7"})"}});
                         }),
                         .instructions = "You " + verb + ".",
                         .tools = {agent::tool<Bed>(verb, {.approval = true},
                                                    [verb](const Bed& at) { return verb + "ed bed " + at.bed; })}})
        .graph();
}

sg::CompiledGraph<Team> makeTeam(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    const agent::Agent chief({.model = model::scripted([](const model::Request& request) {
                                  if (has(request, "I have planted.")) return model::assistant("Bed 7 is ready.");
                                  return model::assistant({{{}, "c1", "transfer_to_weeder", "{}"},  // both at once
                                                           {{}, "c2", "transfer_to_planter", "{}"}});
                              }),
                              .instructions = "You lead a team of gardeners.",
                              .tools = {agent::handOff("weeder", {.description = "For weeding"}),
                                        agent::handOff("planter", {.description = "For planting"})}});
    // [begin team]
    sg::StateGraph<Team> graph;
    graph.addNode("chief", chief.graph(), {.ends = {"weeder", "planter", sg::END}});
    graph.addNode("weeder", worker("weed")).addNode("planter", worker("plant"));
    graph.addEdge(sg::START, "chief").addEdge("weeder", "chief").addEdge("planter", "chief");
    // [end team]
    return graph.compile({.checkpointer = saver});
}

int main() {
    const auto saver = std::make_shared<sg::MemorySaver>();  // any saver: the process may end between the runs
    const sg::RunConfig config{.thread_id = "ada"};
    auto result = makeTeam(saver).invoke({sg::add(&Team::messages, model::user("Prepare bed 7"))}, config);
    while (result.status == sg::Status::interrupted) {
        std::cout << result.interrupts.size() << " open\n";
        const sg::Interrupt& asked = result.interrupts.back();  // in any order
        const auto request = std::get<agent::ApprovalRequest>(asked.value.as<agent::Question>());
        std::cout << "may I " << request.tool << " " << request.arguments << "?  yes\n";
        result = makeTeam(saver).invoke(sg::resume({{asked.id, sg::Value(agent::Decision{.approved = true})}}), config);
    }
    for (const model::Message& each : result.values.messages) {
        std::cout << (each.result ? "tool: " + each.result->text() : each.text());
        for (const model::ToolCall& call : each.calls) std::cout << "[" << call.name << "]";
        std::cout << "\n";
    }
}
