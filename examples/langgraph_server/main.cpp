// A chat whose tool a person approves, for LangGraph's clients: an agent in a SQLite file, and a page with `useStream`.
//
//     browser ──► GET /: the page
//        └──────► /threads, /runs … ──► the model ──► remove: a person approves ──► the model
//
// With a port as its argument it serves until SIGTERM: open http://localhost:PORT/. Kill it when you like, also with
// -9, and start it again in the same folder: conversations, open questions and runs continue. Without an argument it
// ends as soon as it serves.
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include <stategraph/agent/agent.hpp>
#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
using namespace std::chrono_literals;

struct Path {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&Path::path>(); }
};

// What a model would answer. It takes the place of model::openai({…}), so that the example needs no key.
model::Message answer(const model::Request& request) {
    const model::Message& last = request.messages.back();
    if (last.result) return model::assistant("The tool says: " + last.result->text());
    const std::string text = last.text();
    if (!text.starts_with("remove "))
        return model::assistant("Write \"remove /tmp/old\" for a call. You wrote: " + text);
    return model::assistant({{{}, "c1", "remove", sg::toJson(Path{text.substr(7)})}});
}

int main(int argc, char** argv) {
    const auto port = static_cast<std::uint16_t>(argc > 1 ? std::stoi(argv[1]) : 0);
    std::ifstream page(LANGGRAPH_SERVER_PAGE, std::ios::binary);
    if (!page) throw std::runtime_error("the page cannot be read: " LANGGRAPH_SERVER_PAGE);
    // [begin serve]
    const agent::Agent helper({
        .model = model::scripted(answer, 40ms),
        .tools = {agent::tool<Path>("remove", {.description = "Removes a file", .approval = true},
                                    [](const Path& at) { return at.path + " is gone"; })},
        .compile = {.checkpointer = std::make_shared<sg::SqliteSaver>("chat.db")},
    });
    sg::serve::Server server({.port = port, .handle_signals = true});
    server.page("/", "text/html; charset=utf-8", std::string(std::istreambuf_iterator<char>(page), {}));
    sg::langgraph::serve(server, {{"agent", sg::langgraph::graph(helper.graph())}},
                         {.store = std::make_shared<sg::SqliteStore>("chat.db")});
    // [end serve]
    std::cout << "http://localhost:" << server.port() << "/" << std::endl;
    if (argc > 1) server.wait();
}
