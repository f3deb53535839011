// What docs/langgraph_clients.md shows: a graph for the clients of LangGraph's server. The program ends as soon as it
// serves; with the argument `stay` it serves until SIGTERM.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/json.hpp>
// [begin serve]
#include <stategraph/langgraph/api.hpp>
// [end serve]
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Settings {
    std::string language = "English";
    static constexpr auto fields() { return sg::fields(sg::field("language", &Settings::language, sg::defaulted)); }
};

sg::JsonSchema conversation() {
    sg::JsonSchema schema;
    schema.channel("messages", sg::JsonReducer::messages());
    return schema;
}

sg::CompiledGraph<sg::JsonState> makeApp() {
    sg::StateGraph<sg::JsonState> graph(conversation());
    graph.addNode("answer", [](const sg::JsonState&) -> sg::Update<sg::JsonState> {
        return {sg::write("messages", {{{"type", "ai"}, {"content", "hello"}}})};
    });
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

sg::CompiledGraph<sg::JsonState> makeTranslator() {
    sg::StateGraph<sg::JsonState> graph(conversation());
    // [begin node]
    graph.addNode("answer", [](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
        const std::string language = runtime.context<Settings>().language;
        return {sg::write("messages", {{{"type", "ai"}, {"content", "I answer in " + language}}})};
    });
    // [end node]
    graph.addEdge(sg::START, "answer").addEdge("answer", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

void serveApp(std::uint16_t port, bool stays) {
    const auto app = makeApp();
    const auto store = std::make_shared<sg::MemoryStore>();
    // [begin serve]
    sg::serve::Server server({.port = port, .origins = {"http://localhost:3000"}, .handle_signals = true});
    sg::langgraph::serve(server, {{"agent", sg::langgraph::graph(app)}}, {.store = store});
    // [end serve]
    std::cout << "the graph is served\n";
    if (!stays) return;
    // [begin serve]
    server.wait();  // SIGTERM drains it
    // [end serve]
}

std::shared_ptr<sg::langgraph::Graph> withSettings(const sg::CompiledGraph<sg::JsonState>& app) {
    // [begin settings]
    return sg::langgraph::graph(app, {.prepare = sg::langgraph::contextAs<Settings>()});
    // [end settings]
}

int main(int argc, char** argv) {
    const bool stays = argc > 1 && std::string(argv[1]) == "stay";
    serveApp(stays ? 2024 : 0, stays);
    (void)withSettings(makeTranslator());
}
