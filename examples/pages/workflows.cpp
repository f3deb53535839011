// What docs/workflows.md and workflows_from_json.md show.
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <stategraph/memory_saver.hpp>
// [begin from json]
#include <stategraph/workflow/from_json.hpp>
// [end from json]
// [begin await]
#include <stategraph/workflow/async.hpp>
// [end await]
// [begin chain]
#include <stategraph/workflow/workflow.hpp>

namespace sg = stategraph;
namespace wf = stategraph::workflow;

// [end chain]
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
const auto saver = std::make_shared<sg::MemorySaver>();

// [begin chain]
// The function's types are the step's types: input, output, question and answer.
const auto approval = wf::step("approval", [](const Order& order, wf::Suspending<Ask, Answer>& context) {
    const Answer answer = context.suspend({"Pay " + std::to_string(order.value) + "?"});
    if (!answer.confirm) context.bail("declined by " + answer.approver);  // ends the workflow here, successfully
    return order.value;
});
const auto audit = wf::step("audit", [](const Order& order) { return order.user + " ok"; });

const auto flow = wf::workflow<Order>("approvalWorkflow")
                      .parallel(approval, audit)
                      .map([](const std::tuple<int, std::string>& both) { return std::get<0>(both); })
                      .commit({.checkpointer = saver});
// [end chain]

void startAndResume() {
    // [begin chain]
    auto run = flow.start("run-1", {100, "Michael"});         // suspended
    run = flow.resume("run-1", approval, {true, "manager"});  // in any process: success
    // [end chain]
    std::cout << toString(run.status) << ": " << *run.view.result << "\n";
}

struct Client {
    sg::Task<double> priceOf(std::string item) const { co_return item == "tea" ? 2.5 : 0.0; }
};

void awaitPrice() {
    const auto client = std::make_shared<Client>();
    // [begin coroutine]
    const auto price = wf::step("price", [client](const std::string& item, wf::Context& context) -> sg::Task<double> {
        context.write("asking for the price of " + item);
        co_return co_await client->priceOf(item);
    });
    // [end coroutine]
    const auto prices = wf::workflow<std::string>("prices").then(price).commit({.checkpointer = saver});
    std::cout << *prices.start("1", std::string("tea")).view.result << "\n";
}

using Lines = std::vector<std::string>;
Lines joined(Lines before, const Lines& added) {
    before.insert(before.end(), added.begin(), added.end());
    return before;
}

void shareByKey() {
    const auto logs = [](const std::string& line) {
        return [line](const Order& order, wf::Context& context) {
            context.setState("log", Lines{line});
            return order.value;
        };
    };
    const auto stock = wf::step("stock", logs("stock"));
    const auto fraud = wf::step("fraud", logs("fraud"));
    // [begin reducer]
    const auto order =
        wf::workflow<Order>("order")
            .reducer("log", [](const Lines& before, const Lines& added) { return joined(before, added); })
            .parallel(stock, fraud)  // both set "log": the reducer gets stock's lines first
            .commit({.checkpointer = saver});
    // [end reducer]
    std::cout << order.start("1", {1, "Ada"}).view.state << "\n";
}

// [begin typed]
struct Shared {
    std::string owner = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Shared::owner>(), sg::channel<&Shared::log>(sg::append));
    }
};

const auto stock = wf::step("stock", [](const Order& order, wf::Context& context) {
    if (context.state<Shared>().owner.empty()) context.update(sg::set<&Shared::owner>(order.user));
    context.update(sg::add<&Shared::log>("reserved for " + order.user));
    return order;
});
// [end typed]
const auto fraud = wf::step("fraud", [](const Order& order, wf::Context& context) {
    context.update(sg::add<&Shared::log>("checked " + order.user));
    return order;
});

void shareByType() {
    // [begin typed]
    const auto typed =
        wf::workflow<Order>("typed order").state<Shared>().parallel(stock, fraud).commit({.checkpointer = saver});
    // [end typed]
    std::cout << typed.start("1", {1, "Ada"}).view.state << "\n";
}

void remind(const std::string& run) { std::cout << run << " waits for somebody\n"; }

void findRuns() {
    const Order order{7, "Ada"};
    // [begin find]
    wf::RunOptions options;
    options.metadata = {{"region", "north"}};
    flow.start("run-2", order, options);

    const auto waiting = flow.flow().list({.status = {wf::RunStatus::suspended}, .metadata = {{"region", "north"}}});
    for (const wf::ListedRun& run : waiting) remind(run.run_id);
    // [end find]
}

// [begin await]

sg::Task<> serve() {
    const Order order{100, "Michael"};  // with a name: g++ 12 destroys structs of a `co_await` expression twice
    auto run = co_await wf::asyncStart(flow, "run-3", order);
    const Answer answer{true, "manager"};
    if (run.status == wf::RunStatus::suspended) run = co_await wf::asyncResume(flow, "run-3", approval, answer);
    std::cout << toString(run.status) << "\n";
}
// [end await]

sg::Value score(const sg::Value&) { return sg::parseJson(R"({"risk": 0.2})"); }

void loadFromJson() {
    const char* const text = R"({"id": "refund", "steps": {"score": {}}, "entries": [{"then": "score"}]})";
    // [begin from json]

    wf::Functions functions;
    functions.steps["score"] = [](const sg::Value& input, wf::StepContext&) { return score(input); };

    const wf::Flow refund(wf::fromJson(text, functions), {.checkpointer = saver});
    auto run = refund.start("run-1", sg::parseJson(R"({"customer": "Ann", "amount": 250})"));
    // [end from json]
    std::cout << toString(run.status) << ": " << *run.result << "\n";
}

int main() {
    startAndResume();
    awaitPrice();
    shareByKey();
    shareByType();
    findRuns();
    sg::syncWait(serve());
    loadFromJson();
}
