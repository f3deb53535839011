// A supervisor with two workers that ask before they act: `supervisor ask` begins, `approve` answers, each in a process
// of its own.
#include <csignal>
#include <fstream>
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/rocksdb_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Bed {
    std::string bed = {};
    static constexpr auto fields() { return sg::fields<&Bed::bed>(); }
};
auto gpt(const std::string& name) { return model::openai({.base_url = std::getenv("MODEL_URL"), .model = name}); }
agent::Tool worker(const std::string& name, const std::string& verb) {
    const auto act = [verb](const Bed& at) {
        std::ofstream("effects.log", std::ios::app) << verb << std::endl;
        if (std::getenv("DIE")) std::raise(SIGKILL);
        return verb + "ed bed " + at.bed;
    };
    return agent::agentTool(name, {.description = "Can " + verb},
                            agent::Agent({.model = gpt(name),
                                          .instructions = "You " + verb + " beds.",
                                          .tools = {agent::tool(verb, {.approval = true}, act)}}));
}

int main(int, char** argv) {
    const agent::Agent chief({
        .model = gpt("chief"),
        .instructions = "You lead a team of gardeners.",
        .tools = {worker("weeder", "weed"), worker("planter", "plant")},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("team.db")},
    });
    const sg::RunConfig ada{.thread_id = "ada"};
    if (argv[1] == std::string("ask")) {
        chief.say("Prepare bed 7", ada);
        for (const agent::OpenCall& call : chief.openCalls("ada"))
            std::cout << "may I " << call.tool << " " << call.arguments << "?" << std::endl;
    } else {
        chief.graph().recover();
        for (const agent::OpenCall& call : chief.openCalls("ada"))
            chief.graph().invoke(chief.decide("ada", call.id, {.approved = true}), ada);
        std::cout << chief.graph().getState(ada).values.text() << std::endl;
    }
}
