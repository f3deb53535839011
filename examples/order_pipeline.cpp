// An order goes through a pipeline on disk. The first process is killed in the middle; the second one resumes the run.
//
//     order ──► items ──► reserve each, two at once ──► total ──► sleep ──► pay
//                              ▲
//                              └── here, with SIGKILL: nothing is flushed, no destructor runs
//
// What was finished is not executed again: each execution writes a line to a journal, which both processes share.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <latch>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using namespace std::chrono_literals;

struct Item {
    std::string name = {};
    int price = 0;
    static constexpr auto fields() { return sg::fields<&Item::name, &Item::price>(); }
};
struct Order {
    std::string customer = {};
    std::vector<Item> items = {};
    static constexpr auto fields() { return sg::fields<&Order::customer, &Order::items>(); }
};

// Returns the pipeline of a process that writes its name to the journal. In the first process, two reservations never
// return: the process is killed as soon as both have begun.
wf::Workflow<Order, std::string> makePipeline(const std::string& folder, const std::string& process) {
    const auto note = [folder, process](const std::string& what) {
        std::ofstream(folder + "/journal.txt", std::ios::app) << process << ' ' << what << '\n';
    };
    const auto both_begun = std::make_shared<std::latch>(2);

    const auto reserve = wf::step("reserve", [=](const Item& item) {
        note(item.name);
        if (process == "first" && item.name != "apples") {
            both_begun->arrive_and_wait();
            kill(getpid(), SIGKILL);
        }
        return item.price;
    });
    const auto pay = wf::step("pay",
                              [=](const int& total, wf::Context& context) {
                                  note("pay");
                                  if (context.attempt() == 1) throw std::runtime_error("the bank does not answer");
                                  return context.init<Order>().customer + " has paid " + std::to_string(total);
                              },
                              {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = 1ms}});

    return wf::workflow<Order>("orders")
        .map([](const Order& order) { return order.items; })
        .foreach (reserve, {.concurrency = 2})
        .map([](const std::vector<int>& prices) {
            int total = 0;
            for (const int price : prices) total += price;
            return total;
        })
        .sleep(20ms)
        .then(pay)
        .commit({.checkpointer = std::make_shared<sg::RocksDBSaver>(folder + "/checkpoints")});
}

// Prints how often each process executed the steps in the journal.
void printJournal(const std::string& folder) {
    std::map<std::string, std::map<std::string, int>> executions;
    std::ifstream journal(folder + "/journal.txt");
    for (std::string process, what; journal >> process >> what;) ++executions[what][process];
    std::cout << "\nexecuted   first   second\n";
    for (auto& [what, in] : executions) {
        std::cout << std::left << std::setw(8) << what << std::right << std::setw(8) << in["first"] << std::setw(9)
                  << in["second"] << '\n';
    }
}

int main() {
    std::string folder = (std::filesystem::temp_directory_path() / "order-pipeline-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return 1;

    const pid_t child = fork();
    if (child == 0) {
        makePipeline(folder, "first")
            .start("order-1", {"Ada", {{"apples", 3}, {"bread", 4}, {"coffee", 9}, {"dates", 5}}});
        std::_Exit(0);  // not reached
    }
    int status = 0;
    waitpid(child, &status, 0);
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    std::cout << "The first process was " << (is_killed ? "killed" : "not killed") << ".\n";

    const auto pipeline = makePipeline(folder, "second");
    std::cout << "The second process finds the run: " << toString(pipeline.get("order-1").status) << ".\n";
    const auto run = pipeline.restart("order-1", {.waits = true});  // sleeps here, instead of returning `waiting`
    std::cout << "It restarts the run: " << toString(run.status) << ", " << run.result.value_or(run.error) << ", after "
              << run.view.steps.at("pay").attempts << " attempts.\n";
    printJournal(folder);
    std::filesystem::remove_all(folder);
}
