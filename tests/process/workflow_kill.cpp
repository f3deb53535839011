// Processes that run a workflow with every operator are killed with SIGKILL, one hundred times. Others resume the runs:
// each run must end with the right result, no committed step may be executed again, and no step may be executed more
// often than the kills explain.
// NOT WITH: sanitize
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/seed.hpp"

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;

namespace {

constexpr int kills_wanted = 100;
constexpr int concurrency = 3;
constexpr const char* log_file = "executions.txt";

// Writes one line for each execution; the line outlives the process.
void note(const std::string& step) {
    const std::string line = step + "\n";
    const int file = ::open(log_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    ::close(file);
    std::this_thread::sleep_for(1ms);  // sleeps: makes most kills hit a running step
}

auto counted(const std::string& id, int added) {
    return wf::step(id, [id, added](const int& n) {
        note(id);
        return n + added;
    });
}

wf::Workflow<int, int> makeFlow(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    const auto gate = wf::step("gate", [](const int& n, wf::Suspending<int, int>& context) {
        if (!context.resumeData()) note("gate");
        const int answer = context.suspend(n, {"answer"});
        note("gate answered");
        return n + answer;
    });
    const auto inner = wf::workflow<int>("inner").then(counted("i1", 1)).sleep(1ms).then(counted("i2", 1)).commit();
    const auto item = wf::step("item", [](const int& n) {
        note("item " + std::to_string(n));
        return n * n;
    });
    const auto sum = [](const std::vector<int>& all) {
        int total = 0;
        for (const int n : all) total += n;
        return total;
    };
    return wf::workflow<int>("all")
        .then(counted("first", 1))
        .parallel(gate, wf::step("beside",
                                 [](const int& n) {
                                     note("beside");
                                     return n;
                                 }))
        .map([](const std::tuple<int, int>& both) { return std::get<0>(both) + std::get<1>(both); })
        .then("inner", inner)
        .map([](const int& n) { return std::vector<int>{n, n + 1, n + 2, n + 3, n + 4, n + 5}; })
        .foreach (item, {.concurrency = concurrency})
        .foreach (wf::step("serial",
                           [](const int& n) {
                               note("serial " + std::to_string(n));
                               return n % 7;
                           }))
        .map(sum)
        .dowhile(counted("turn", 3), [](const int& n) { return n < 30; })
        .branch(wf::when([](const int& n) { return n > 0; }, counted("yes", 10)),
                wf::when([](const int&) { return false; }, counted("no", 0)))
        .map([](const std::tuple<std::optional<int>, std::optional<int>>& arms) { return *std::get<0>(arms); })
        .sleep(2ms)
        .then(counted("last", 1))
        .commit({.checkpointer = std::move(saver)});
}

struct Expected {
    int result = 0;
    int turns = 0;
};
// The result of an undisturbed run for input 1: first 2, gate 7 and beside 2, 9, inner 11, the squares of 11 to 16
// modulo 7 and their sum, turns, yes, last.
Expected expected() {
    Expected all;
    for (int n = 11; n <= 16; ++n) all.result += n * n % 7;
    for (all.turns = 1; (all.result += 3) < 30;) ++all.turns;
    all.result += 11;
    return all;
}

// Drives a run from its current state to its end. Returns 0 if the result is right.
int child(const std::string& run_id) {
    const auto flow = makeFlow(std::make_shared<sg::RocksDBSaver>("db"));
    const wf::RunOptions options{.waits = true, .durability = sg::Durability::sync};
    for (int i = 0; i < 10; ++i) {
        const auto run = flow.get(run_id);
        switch (run.status) {
            case wf::RunStatus::pending:
                flow.start(run_id, 1, options);
                break;
            case wf::RunStatus::suspended:
                flow.resume(run_id, {.label = "answer"}, 5, options);
                break;
            case wf::RunStatus::running:
            case wf::RunStatus::waiting:
                flow.restart(run_id, options);
                break;
            case wf::RunStatus::success:
                return run.result == expected().result ? 0 : 2;
            default:
                std::cerr << run_id << " is " << toString(run.status) << ": " << run.error << '\n';
                return 3;
        }
    }
    return 4;
}

int fail(const std::string& what) {
    std::cerr << what << '\n';
    return 1;
}

// Counts the lines of the log.
std::map<std::string, int> executions() {
    std::map<std::string, int> counts;
    std::ifstream in(log_file);
    for (std::string line; std::getline(in, line);) ++counts[line];
    return counts;
}

int checkRun(const std::string& run_id, int kills) {
    int more = 0;
    for (const auto& [step, count] : executions()) {
        const int wanted = step == "turn" ? expected().turns : 1;
        if (count < wanted) return fail(run_id + ": '" + step + "' was executed " + std::to_string(count) + " times");
        if (count > wanted + kills)
            return fail(run_id + ": '" + step + "' was executed " + std::to_string(count) + " times with " +
                        std::to_string(kills) + " kills");
        more += count - wanted;
    }
    if (more > kills * concurrency)
        return fail(run_id + ": " + std::to_string(more) + " executions too many with " + std::to_string(kills) +
                    " kills");
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 3) return child(arguments[2]);
    std::string folder = (std::filesystem::temp_directory_path() / "stategraph-workflow-kill-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr || ::chdir(folder.c_str()) != 0) return fail("no folder " + folder);
    const unsigned seed = tests::seed();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    int kills = 0;
    int runs = 0;
    while (kills < kills_wanted) {
        const std::string run_id = "run-" + std::to_string(++runs);
        ::unlink(log_file);
        int kills_of_run = 0;
        for (;;) {
            const pid_t process = ::fork();
            if (process == 0) {
                ::execl("/proc/self/exe", arguments[0], "child", run_id.c_str(), nullptr);
                std::_Exit(9);
            }
            std::this_thread::sleep_for(  // sleeps: the moment differs from round to round
                std::chrono::microseconds(std::uniform_int_distribution<int>(5'000, 120'000)(random)));
            if (kills_of_run < 25) ::kill(process, SIGKILL);
            int status = 0;
            ::waitpid(process, &status, 0);
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
                ++kills;
                ++kills_of_run;
                continue;
            }
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return fail(run_id + " ended with " + std::to_string(status));
            break;
        }
        if (checkRun(run_id, kills_of_run) != 0) return 1;
    }
    std::filesystem::remove_all(folder);
    std::cout << kills << " kills, " << runs << " runs\n";
}
