// A pipeline that survives kill -9, for docs/tutorials/pipeline.md.
//
//     START ──► list ──(a Send for each page)──► count ──► report ──► END
//
// `./pipeline` runs it, or resumes the run that a killed process left; `./pipeline PAGE` kills itself at that page.
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

// [begin state]
struct Job {
    std::vector<std::string> pages = {};
    int letters = 0;
    std::string report = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Job::pages>(), sg::channel<&Job::letters>(sg::sum),
                            sg::channel<&Job::report>());
    }
};

struct Page {
    std::string name = {};
    static constexpr auto fields() { return sg::fields<&Page::name>(); }
};
constexpr sg::NodeId<Page> count{"count"};
// [end state]

// [begin graph]
sg::CompiledGraph<Job> makePipeline(const std::string& killed_at) {
    sg::StateGraph<Job> graph;
    graph.addNode("list", [](const Job&) -> sg::Update<Job> {
        std::cout << "list" << std::endl;
        return {sg::set<&Job::pages>({"ant", "bee", "cow", "donkey", "eel"})};
    });
    graph.addNode(count,
                  [killed_at](const Page& page) -> sg::Update<Job> {
                      std::cout << "count " << page.name << std::endl;
                      if (page.name == killed_at) kill(getpid(), SIGKILL);  // no destructor runs, nothing is flushed
                      return {sg::add<&Job::letters>(static_cast<int>(page.name.size()))};
                  },
                  {.max_concurrency = 1});
    graph.addNode("report", [](const Job& job, sg::Runtime& runtime) -> sg::Update<Job> {
        // The call is made once for this task, in any process: a mail that was sent is not sent again.
        runtime.once("mail", [&] { std::cout << "mail: " << job.letters << " letters" << std::endl; });
        return {sg::set<&Job::report>("mailed")};
    });

    const auto eachPage = [](const Job& job) {
        std::vector<sg::Send> sends;
        for (const auto& name : job.pages) sends.push_back(count(Page{name}));
        return sends;
    };
    graph.addEdge(sg::START, "list").addConditionalEdges("list", eachPage, {count.name});
    graph.addEdge(count.name, "report").addEdge("report", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("pipeline.db")});
}
// [end graph]

// [begin main]
int main(int argc, char** argv) {
    const auto app = makePipeline(argc > 1 ? argv[1] : "");
    const sg::Config thread{.thread_id = "animals"};

    // First, the program resumes the runs that a dead process has left.
    for (const auto& recovered : app.recover()) std::cout << "recovered " << recovered.thread_id << "\n";

    if (!app.getState(thread).config.checkpoint_id) app.invoke({}, thread);
    std::cout << "animals: " << app.getState(thread).valuesAsJson() << "\n";
}
// [end main]
