// A run is cancelled while a step executes, and its process is killed with SIGKILL before the step ends. For the next
// process the run must be canceled: it is not restarted, and the step after it has not run.
// NOT WITH: sanitize
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;

namespace {

int fail(const std::string& what) {
    std::cerr << what << '\n';
    return 1;
}

// The flow that `work` cancels, or nullptr if it must not cancel.
const wf::Flow* live = nullptr;

wf::Flow makeFlow(const std::string& shape, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    const auto work = wf::step("work", [](const int& n) {
        if (live) {
            live->cancel("1");
            ::kill(::getpid(), SIGKILL);
        }
        return n;
    });
    const auto next = wf::step("next", [](const int& n) {
        std::ofstream("next.txt") << n;
        return n;
    });
    const sg::CompileOptions options{.checkpointer = std::move(saver)};
    if (shape == "parallel")
        return wf::workflow<int>("w")
            .parallel(work, wf::clone(work, "beside"))
            .map([](const std::tuple<int, int>& both) { return std::get<0>(both); })
            .then(next)
            .commit(options)
            .flow();
    if (shape == "nested")
        return wf::workflow<int>("w")
            .then("inner", wf::workflow<int>("inner").then(work).commit())
            .then(next)
            .commit(options)
            .flow();
    return wf::workflow<int>("w").then(work).then(next).commit(options).flow();
}

// Starts the run in this process and dies during it.
int die(const std::string& shape) {
    const wf::Flow flow = makeFlow(shape, std::make_shared<sg::RocksDBSaver>("db-" + shape));
    live = &flow;
    flow.start("1", sg::Value(1));
    return fail(shape + " ended");
}

int check(const std::string& shape) {
    const wf::Flow flow = makeFlow(shape, std::make_shared<sg::RocksDBSaver>("db-" + shape));
    if (flow.get("1").status != wf::RunStatus::canceled) return fail(shape + " is " + toString(flow.get("1").status));
    try {
        flow.restart("1");
        return fail(shape + " was restarted");
    } catch (const wf::RefusedError&) {
    }
    if (std::filesystem::exists("next.txt")) return fail(shape + ": the next step ran");
    if (flow.start("1", sg::Value(5)).status != wf::RunStatus::success) return fail(shape + " was not started anew");
    std::filesystem::remove("next.txt");
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 2) return die(arguments[1]);
    std::string folder = (std::filesystem::temp_directory_path() / "stategraph-workflow-cancel-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr || ::chdir(folder.c_str()) != 0) return fail("no folder " + folder);
    for (const std::string shape : {"chain", "parallel", "nested"}) {
        const pid_t process = ::fork();
        if (process == 0) {
            // After a fork, a child of a process with threads may do little more than exec.
            ::execl("/proc/self/exe", arguments[0], shape.c_str(), nullptr);
            std::_Exit(9);
        }
        int status = 0;
        ::waitpid(process, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            return fail(shape + " did not die, but ended with " + std::to_string(status));
        if (check(shape) != 0) return 1;
    }
    std::filesystem::remove_all(folder);
    std::cout << "canceled\n";
}
