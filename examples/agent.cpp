// An agent that asks before it deletes: a model and two tools, a pause for a person, and the answer from another
// object on the same database.
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/rocksdb_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Path {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&Path::path>(); }
};

agent::Agent makeAgent() {
    return agent::Agent({
        // A script takes the place of model::openai({…}): first it requests two calls, then it answers.
        .model = model::scripted({model::assistant({{{}, "c1", "list", R"({"path":"/tmp"})"},
                                                    {{}, "c2", "remove", R"({"path":"/tmp/old"})"}}),
                                  model::assistant("I removed the old file.")}),
        .instructions = "You keep folders tidy.",
        .tools = {agent::tool<Path>("list", {.description = "Lists a folder"},
                                    [](const Path& at) { return at.path + "/old, " + at.path + "/new"; }),
                  agent::tool<Path>("remove", {.description = "Removes a file", .approval = true},
                                    [](const Path& at) { return at.path + " is gone"; })},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("agent.db")},
    });
}

int main() {
    std::cout << makeAgent().say("Tidy up /tmp", {.thread_id = "ada"}).status << "\n";  // the process may end here
    const agent::Agent again = makeAgent();
    for (const agent::OpenCall& call : again.openCalls("ada"))
        std::cout << "may I " << call.tool << " " << call.arguments << "?\n";
    const auto done = again.graph().invoke(again.decide("ada", "c2", {.approved = true}), {.thread_id = "ada"});
    for (const model::Message& message : done.values.messages) {
        if (message.result) std::cout << message.result->name << ": " << message.result->text() << "\n";
    }
    std::cout << done.values.text() << " (" << done.values.stop_reason << ", " << done.values.steps
              << " calls of the model)\n";
}
