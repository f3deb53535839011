// A workflow of typed steps that stops for a human, is stored, and is resumed.
//
//     order ──► approval ∥ audit ──► totals ──► half, as long as it is above 15 ──► small | odd
//
// `approval` asks a question. The run is then a snapshot in the store, which any program can read as JSON. The answer
// may come from another process, and is checked against the type that the step takes.
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;

struct Order {
    int value = 0;
    std::string user = {};
    static constexpr auto fields() { return sg::fields<&Order::value, &Order::user>(); }
};
struct Ask {
    std::string message = {};
    static constexpr auto fields() { return sg::fields<&Ask::message>(); }
};
struct Answer {
    bool confirm = false;
    std::string approver = {};
    static constexpr auto fields() { return sg::fields<&Answer::confirm, &Answer::approver>(); }
};

// The function has the types of the step: its input, its output, its question and the answer.
const auto approval = wf::step("approval", [](const Order& order, wf::Suspending<Ask, Answer>& context) {
    const Answer answer = context.suspend({"Pay " + std::to_string(order.value) + " for " + order.user + "?"});
    if (!answer.confirm) context.bail("declined by " + answer.approver);  // ends the workflow here
    return order.value;
});
const auto audit = wf::step("audit", [](const Order& order) { return order.user + " ok"; });
const auto half = wf::step("half", [](const int& n) { return n / 2; });
const auto small = wf::step("small", [](const int& n) { return "small " + std::to_string(n); });
const auto odd = wf::step("odd", [](const int& n) { return "odd " + std::to_string(n); });

int main() {
    const auto flow = wf::workflow<Order>("approvalWorkflow")
                          .parallel(approval, audit)
                          .map([](const std::tuple<int, std::string>& both) { return std::get<0>(both); })
                          .dowhile(half, [](const int& n) { return n > 15; })
                          .branch(wf::when([](const int& n) { return n < 100; }, small),
                                  wf::when([](const int& n) { return n % 2 == 1; }, odd))
                          .commit({.checkpointer = std::make_shared<sg::MemorySaver>()});

    auto run = flow.start("run-1", {100, "Michael"});
    std::cout << toString(run.status) << ": " << *run.view.steps.at("approval").suspend_payload << '\n';
    std::cout << flow.flow().snapshot("run-1") << '\n';

    try {
        flow.resume("run-1", {.step = "approval"}, sg::parseJson(R"({"confirm": true})"));
    } catch (const wf::RefusedError& error) {
        std::cout << toString(error.why()) << ": " << error.message() << '\n';
    }

    run = flow.resume("run-1", approval, {true, "manager"});
    std::cout << toString(run.status) << ": " << *run.view.result << '\n';
    for (const std::string& step : run.view.path) std::cout << ' ' << step;
    std::cout << '\n';

    // Goes back to before `half`, with another number. What the run did before is still in its history.
    run = flow.timeTravel("run-1", half, 9);
    std::cout << toString(run.status) << ": " << *run.view.result << '\n';
}
