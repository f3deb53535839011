// A coding agent that looks at pictures and has a budget: `coder TASK` begins; without a task it finishes what a dead
// process has left.
#include <csignal>
#include <fstream>
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/rocksdb_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Path {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&Path::path>(); }
};
struct Edit {
    std::string path = {}, text = {};
    static constexpr auto fields() { return sg::fields<&Edit::path, &Edit::text>(); }
};
std::string readFile(const Path& at) {
    std::ifstream file(at.path);
    return {std::istreambuf_iterator<char>(file), {}};
}
std::string writeFile(const Edit& edit) {
    std::ofstream(edit.path) << edit.text;
    std::ofstream("effects.log", std::ios::app) << edit.path << std::endl;
    if (std::getenv("DIE")) std::raise(SIGKILL);
    return "written";
}
model::ToolOutput look(const Path& at) {
    const model::File picture{.media_type = "image/png", .data = std::getenv("PICTURE")};
    return {.output = sg::Value("a picture of " + at.path), .content = {picture}};
}

int main(int argc, char** argv) {
    const agent::Agent coder({
        .model = model::openai({.base_url = std::getenv("MODEL_URL"), .model = "coder"}),
        .instructions = "You write pages.",
        .tools = {agent::tool("read", "Reads a file", readFile), agent::tool("write", "Writes a file", writeFile),
                  agent::tool("look", "Shows a page", look)},
        .stop_when = {agent::stepCountIs(50)},
        .middleware = {agent::budget({.tokens = 10'000})},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("coder.db")},
    });
    coder.graph().recover();
    if (argc > 1) coder.say(argv[1], {.thread_id = "ada"});
    const agent::State at = coder.graph().getState({.thread_id = "ada"}).values;
    std::cout << at.text() << " (" << at.stop_reason << ", " << at.threadUsage().totalTokens() << " tokens)\n";
}
