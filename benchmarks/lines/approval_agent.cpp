// An agent that asks before it removes a file. `ask` begins a conversation, `approve` answers, each in a process of its own.
#include <csignal>
#include <fstream>
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
std::string list(const Path& at) {
    std::ofstream("listed.log", std::ios::app) << at.path << "\n";
    return at.path + "/old, " + at.path + "/new";
}
std::string removeFile(const Path& at) {
    std::ofstream("removed.log", std::ios::app) << at.path << "\n";
    if (std::getenv("DIE")) std::raise(SIGKILL);
    return at.path + " is gone";
}

int main(int, char** argv) {
    // [begin agent]
    const agent::Agent helper({
        .model = model::scripted({model::assistant({{{}, "c1", "list", R"({"path":"/tmp"})"},
                                                    {{}, "c2", "remove", R"({"path":"/tmp/old"})"}}),
                                  model::assistant("I removed the old file.")}),
        .instructions = "You keep folders tidy.",
        .tools = {agent::tool<Path>("list", {.description = "Lists a folder"}, list),
                  agent::tool<Path>("remove", {.description = "Removes a file", .approval = true}, removeFile)},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("agent.db")},
    });
    // [end agent]
    const sg::RunConfig ada{.thread_id = "ada"};
    if (argv[1] == std::string("ask")) {
        // [begin agent]

        helper.say("Tidy up /tmp", ada);
        for (const agent::OpenCall& call : helper.openCalls("ada"))
            std::cout << "may I " << call.tool << " " << call.arguments << "?\n";
        // [end agent]
    } else {
        // [begin agent]

        helper.graph().recover();  // a process that died in a tool leaves its run to the next one
        for (const agent::OpenCall& call : helper.openCalls("ada"))
            helper.graph().invoke(helper.decide("ada", call.id, {.approved = true}), ada);
        std::cout << helper.graph().getState(ada).values.text() << "\n";
        // [end agent]
    }
}
