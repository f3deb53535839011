// A tool and a graph as an MCP server, for the programs of others. Without arguments this program is also the client:
// it starts itself as the server.
//
//     research: plan → write      (asks for the tone between the two)
//
//     mcp_server --stdio          serves a client on standard input and output
//     mcp_server --http 8080      serves clients at http://127.0.0.1:8080/mcp
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/mcp/client.hpp>
#include <stategraph/mcp/serve.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace mcp = stategraph::mcp;

struct City {
    std::string name;
    static constexpr auto fields() { return sg::fields(sg::field("name", &City::name)); }
};

struct State {
    std::string topic;
    std::vector<std::string> lines;
    static constexpr auto channels() {
        return sg::channels(sg::channel("topic", &State::topic), sg::channel("lines", &State::lines, sg::append));
    }
};

sg::CompiledGraph<State> researchGraph() {
    sg::StateGraph<State> graph;
    graph.addNode("plan", [](const State& state) -> sg::Update<State> {
        return {sg::add(&State::lines, std::vector<std::string>{"What is known of " + state.topic})};
    });
    graph.addNode("write", [](const State& state, sg::Runtime& runtime) -> sg::Update<State> {
        const auto tone = sg::interrupt<std::string>(runtime, "In which tone?");
        return {sg::add(&State::lines, std::vector<std::string>{"A " + tone + " text about " + state.topic})};
    });
    graph.addEdge(sg::START, "plan").addEdge("plan", "write").addEdge("write", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

mcp::Server makeServer() {
    // [begin server]
    mcp::Server server({.name = "research", .version = "1.0"});
    server.add(agent::tool<City>("weather", {.description = "The weather of a city"},
                                 [](const City& city) { return "It is sunny in " + city.name; }));
    server.add("research", researchGraph(), {.description = "Writes about a topic", .input_channels = {{"topic"}}});
    // [end server]
    return server;
}

void serveHttp(std::uint16_t port) {
    // [begin http]
    sg::serve::Server http({.port = port, .handle_signals = true});
    mcp::serve(http, "mcp", makeServer());  // http://127.0.0.1:PORT/mcp
    http.wait();
    // [end http]
}

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "--stdio") {
        mcp::serveStdio(makeServer());
        return 0;
    }
    if (what == "--http") {
        serveHttp(static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 0));
        return 0;
    }
    const mcp::Client client(mcp::process({.command = "/proc/self/exe", .arguments = {"--stdio"}}),
                             {.name = "research", .timeout = std::chrono::minutes(1)});
    for (const mcp::ToolInfo& tool : client.listTools()) std::cout << tool.name << ": " << tool.description << "\n";
    std::cout << client.callTool("weather", sg::parseJson(R"({"name":"Oslo"})")).text() << "\n\n";
    // This client cannot ask people, so the question is an error that says how to answer it.
    const auto asked = client.callTool("research", sg::parseJson(R"({"topic":"bees","thread_id":"t1"})"));
    std::cout << (asked.is_error ? "an error: " : "") << asked.text() << "\n\n";
    const auto done = client.callTool("research", sg::parseJson(R"({"thread_id":"t1","resume":"cheerful"})"));
    std::cout << done.structured.toJson() << "\n";
}
