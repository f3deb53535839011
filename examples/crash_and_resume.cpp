// A process is killed in the middle of a graph, and the next one continues where it was.
//
//     START ──► fetch ──► parse ──► index ──► report ──► END
//                                     ▲
//                                     └── here, with SIGKILL: no destructor, no handler, nothing is flushed
//
// Each node writes a line to journal.txt when it runs, so that the journal shows which node ran how often, in either
// process.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::vector<std::string> done = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::done>(sg::append)); }
};

// Returns a node that does its work, and notes it.
auto step(std::string name) {
    return [name](const State&) -> sg::Update<State> {
        std::ofstream("journal.txt", std::ios::app) << name << "\n";
        return {sg::add<&State::done>(name)};
    };
}

sg::CompiledGraph<State> makeApp(bool is_doomed) {
    sg::StateGraph<State> graph;
    graph.addNode("fetch", step("fetch"))
        .addNode("parse", step("parse"))
        .addNode("index",
                 [is_doomed](const State&) -> sg::Update<State> {
                     std::ofstream("journal.txt", std::ios::app) << (is_doomed ? "index, killed\n" : "index\n");
                     if (is_doomed) kill(getpid(), SIGKILL);
                     return {sg::add<&State::done>("index")};
                 })
        .addNode("report", step("report"))
        .addEdge(sg::START, "fetch")
        .addEdge("fetch", "parse")
        .addEdge("parse", "index")
        .addEdge("index", "report")
        .addEdge("report", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("crash_checkpoints")});
}

int main() {
    std::filesystem::remove_all("crash_checkpoints");
    std::filesystem::remove("journal.txt");

    std::cout << "A child process runs the graph.\n" << std::flush;
    const pid_t child = fork();
    if (child == 0) {
        makeApp(true).invoke({}, {.thread_id = "1"});
        std::_Exit(0);  // not reached
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::cout << "It was " << (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "killed" : "not killed") << ".\n";

    const auto app = makeApp(false);
    const auto found = app.getState({.thread_id = "1"});
    std::cout << "\nThis process opens its database: step " << found.step << ", " << found.valuesAsJson() << ", next "
              << found.next.at(0) << ".\n";

    const auto result = app.invoke(sg::RESUME, {.thread_id = "1"});
    std::cout << "RESUME: " << toString(result.status) << ", " << sg::Value(result.values) << "\n";

    std::cout << "\nWho ran, in both processes together:\n";
    std::ifstream journal("journal.txt");
    for (std::string line; std::getline(journal, line);) std::cout << "  " << line << "\n";
}
