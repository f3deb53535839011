// A workflow of typed steps that waits for a person, for docs/tutorials/workflow.md:
//
//     order ──► stock ∥ approval ──► total ──► pay
//
// `./workflow start RUN PRICE`, `./workflow waiting` and `./workflow answer RUN yes|no` are processes of their own.
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;

// [begin types]
struct Order {
    std::string item = {};
    int price = 0;
    static constexpr auto fields() { return sg::fields<&Order::item, &Order::price>(); }
};
struct Question {
    std::string text = {};
    static constexpr auto fields() { return sg::fields<&Question::text>(); }
};
struct Answer {
    bool approved = false;
    std::string by = {};
    static constexpr auto fields() { return sg::fields<&Answer::approved, &Answer::by>(); }
};
// [end types]

// [begin steps]
const auto stock = wf::step("stock", [](const Order& order) {
    std::cout << "(stock: reserving " << order.item << ")\n";
    return 1;  // how many are reserved
});
const auto approval = wf::step("approval", [](const Order& order, wf::Suspending<Question, Answer>& context) {
    if (order.price <= 100) return std::string("nobody needs to approve it");
    const Answer answer = context.suspend({"Pay " + std::to_string(order.price) + " for " + order.item + "?"});
    if (!answer.approved) context.bail("declined by " + answer.by);  // the workflow ends here, with this text
    return "approved by " + answer.by;
});
const auto pay =
    wf::step("pay",
             [](const std::string& why, wf::Context& context) {
                 if (context.attempt() == 1) throw std::runtime_error("the bank is busy");
                 return "paid for " + context.init<Order>().item + ", " + why;
             },
             {.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = std::chrono::milliseconds(1)}});
// [end steps]

// [begin chain]
wf::Workflow<Order, std::string> makeWorkflow() {
    return wf::workflow<Order>("orders")
        .parallel(stock, approval)
        .map([](const std::tuple<int, std::string>& both) { return std::get<1>(both); })
        .then(pay)
        .commit({.checkpointer = std::make_shared<sg::RocksDBSaver>("workflow.db")});
}
// [end chain]

void print(const wf::RunResult<std::string>& run) {
    std::cout << toString(run.status);
    if (run.result) std::cout << ": " << *run.result;
    std::cout << "\n";
}

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto flow = makeWorkflow();
    // [begin start]
    if (arguments.at(0) == "start") {
        const auto run = flow.start(arguments.at(1), {"a chair", std::stoi(arguments.at(2))});
        print(run);
    }
    // [end start]
    // [begin waiting]
    if (arguments.at(0) == "waiting") {
        for (const wf::ListedRun& listed : flow.flow().list({.status = {wf::RunStatus::suspended}})) {
            const auto run = flow.get(listed.run_id);
            std::cout << listed.run_id << ": " << *run.view.steps.at("approval").suspend_payload << "\n";
        }
    }
    // [end waiting]
    // [begin answer]
    if (arguments.at(0) == "answer") {
        const auto run = flow.resume(arguments.at(1), approval, {arguments.at(2) == "yes", "Ada"});
        print(run);
    }
    // [end answer]
}
