// What docs/langgraph_clients.md shows: webhooks for the ends of runs.
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
// [begin webhooks]
#include <stategraph/langgraph/webhooks.hpp>
// [end webhooks]
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

int main() {
    sg::JsonSchema schema;
    schema.channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("answer", [](const sg::JsonState&) -> sg::Update<sg::JsonState> { return {}; });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto store = std::make_shared<sg::MemoryStore>();
    const std::string key = "a secret that the receiver has too";
    sg::serve::Server server;
    // [begin webhooks]
    const auto webhooks = sg::langgraph::httpWebhooks({.hosts = {"hooks.example.com"}, .key = key});
    sg::langgraph::serve(server, {{"agent", sg::langgraph::graph(app)}}, {.store = store, .webhooks = webhooks});
    // [end webhooks]
    std::cout << "ends of runs are reported\n";
}
