// An agent with the tools of an MCP server. The server is another program; the agent asks before it calls a tool that
// the server calls destructive.
//
//     begin → model ⇄ awaited_tool (add, remove: calls of the server)
//
// MCP_SERVER names the program of the server; the test gives it tests/mcp/server.
#include <cstdlib>
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/mcp/client.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace mcp = stategraph::mcp;
namespace model = stategraph::model;

int main() {
    const char* const program = std::getenv("MCP_SERVER");
    if (program == nullptr) {
        std::cerr << "Set MCP_SERVER to the program of an MCP server that has the tools add and remove.\n";
        return 1;
    }
    // [begin client]
    const mcp::Client client(mcp::process({.command = program}), {.name = "files", .timeout = std::chrono::minutes(1)});
    const agent::Agent agent({
        // A script takes the place of model::openai({…}).
        .model = model::scripted({model::assistant({{{}, "c1", "files_add", R"({"a":2,"b":3})"},
                                                    {{}, "c2", "files_remove", R"({"path":"old.txt"})"}}),
                                  model::assistant("The sum is 5, and old.txt is gone.")}),
        .tools = client.tools({.prefix = "files_", .only = {"add", "remove"}}),
        .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()},
    });
    // [end client]
    for (const agent::Tool& tool : client.tools({.only = {"add", "remove"}}))
        std::cout << tool.name() << ": " << tool.description.description << "\n";
    std::cout << agent.say("Add 2 and 3, and remove old.txt", {.thread_id = "ada"}).status << "\n";
    for (const agent::OpenCall& call : agent.openCalls("ada"))
        std::cout << "may I " << call.tool << " " << call.arguments << "?\n";
    const auto done = agent.graph().invoke(agent.decide("ada", "c2", {.approved = true}), {.thread_id = "ada"});
    for (const model::Message& message : done.values.messages) {
        if (message.result) std::cout << message.result->name << ": " << message.result->text() << "\n";
    }
    std::cout << done.values.text() << "\n";
}
