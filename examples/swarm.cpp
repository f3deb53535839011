// Agents that hand a conversation over to each other. Whoever has it last gets the next message; two that get it at the
// same time both ask a person before they act.
//
//              ┌──► triage ──┬──► billing ◄──► shipping
//     START ───┤             └──► shipping        "──►" between agents: the tools that handOff makes
//              └──► the one that is active
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Desk {
    std::vector<model::Message> messages = {};
    std::string active = "triage";
    // Two agents that work at the same time may both hand over: the last one counts.
    static constexpr auto channels() {
        return sg::channels(sg::channel("messages", &Desk::messages, sg::addMessages),
                            sg::channel("active", &Desk::active, sg::reduce("last", last)));
    }
    static std::string last(const std::string& /*before*/, const std::string& given) { return given; }
};
struct Order {
    std::string order = {};
    static constexpr auto fields() { return sg::fields<&Order::order>(); }
};

agent::Tool toAgent(const std::string& name) {
    return agent::handOff(name, {.description = "For " + name}, sg::add<&Desk::active>(name));
}

// A script takes the place of a model: it acts, says so, and hands over what is not its own.
sg::CompiledGraph<agent::State> clerk(const std::string& act, const std::string& other) {
    return agent::Agent({.model = model::scripted([act, other](const model::Request& request) {
                             const model::Message& last = request.messages.back();
                             if (last.text() == "And the money?" && act == "send")
                                 return model::assistant({{{}, "c9", "transfer_to_" + other, "{}"}});
                             for (const model::Message& each : request.messages)
                                 if (each.result && each.result->name == act) return model::assistant(act + ": done");
                             return model::assistant({{{}, act + "-1", act, R"({"order":"17"})"}});
                         }),
                         .tools = {agent::tool<Order>(act, {.approval = true},
                                                      [act](const Order& at) { return act + " " + at.order; }),
                                   toAgent(other)}})
        .graph();
}

sg::CompiledGraph<Desk> makeDesk(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    const agent::Agent triage({.model = model::scripted({model::assistant({{{}, "c1", "transfer_to_billing", "{}"},
                                                                           {{}, "c2", "transfer_to_shipping", "{}"}})}),
                               .tools = {toAgent("billing"), toAgent("shipping")}});
    sg::StateGraph<Desk> graph;
    graph.addNode("triage", triage.graph(), {.ends = {"billing", "shipping", sg::END}});
    graph.addNode("billing", clerk("refund", "shipping"), {.ends = {"shipping", sg::END}});
    graph.addNode("shipping", clerk("send", "billing"), {.ends = {"billing", sg::END}});
    graph.addConditionalEdges(sg::START, [](const Desk& desk) { return desk.active; },
                              {"triage", "billing", "shipping"});
    return graph.compile({.checkpointer = saver});
}

int main() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto desk = makeDesk(saver);
    const sg::RunConfig config{.thread_id = "ada"};
    for (const char* const text : {"Order 17 is broken: a new one, and the money for the old one", "And the money?"}) {
        auto result = desk.invoke({sg::add(&Desk::messages, model::user(text))}, config);
        while (result.status == sg::Status::interrupted) {
            const sg::Interrupt& asked = result.interrupts.front();
            const auto request = std::get<agent::ApprovalRequest>(asked.value.as<agent::Question>());
            std::cout << "(" << result.interrupts.size() << " open) " << request.tool << "?  yes\n";
            result = desk.invoke(sg::resume({{asked.id, sg::Value(agent::Decision{.approved = true})}}), config);
        }
        std::cout << "active: " << result.values.active << "\n";
    }
    for (const model::Message& each : desk.getState(config).values.messages) {
        std::cout << (each.result ? "tool: " + each.result->text() : each.text());
        for (const model::ToolCall& call : each.calls) std::cout << "[" << call.name << "]";
        std::cout << "\n";
    }
}
