// A research team that streams to a page: an editor asks two researchers at once, over HTTP for `useChat` of the AI
// SDK.
#include <csignal>
#include <fstream>
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;

struct Query {
    std::string query = {};
    static constexpr auto fields() { return sg::fields<&Query::query>(); }
};
std::string search(const Query& at) {
    std::ofstream("effects.log", std::ios::app) << at.query << std::endl;
    if (std::getenv("DIE")) std::raise(SIGKILL);
    return "pages about " + at.query;
}
auto gpt(const std::string& name) { return model::openai({.base_url = std::getenv("MODEL_URL"), .model = name}); }
agent::Tool researcher(const std::string& name, const std::string& about) {
    return agent::agentTool(name, {.description = "Knows the " + about},
                            agent::Agent({.model = gpt(name),
                                          .instructions = "You research the " + about + ".",
                                          .tools = {agent::tool("search", "Searches the web", search)}}));
}

int main() {
    const agent::Agent editor({
        .model = gpt("editor"),
        .instructions = "You write reports.",
        .tools = {researcher("historian", "past"), researcher("economist", "prices")},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("research.db")},
    });
    serve::Server server;
    server.add("research", serve::endpoint(editor, {.protocols = {serve::uiMessages()}}));
    std::cout << "http://127.0.0.1:" << server.port() << "/research" << std::endl;
    editor.graph().recover();
    server.wait();
}
