// A program's tests of its own graph, for docs/how_to/test_a_graph.md, with doctest; any other framework will do.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>
#include <stategraph/testing/fault_saver.hpp>

namespace sg = stategraph;

struct Payment {
    int amount = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Payment::amount>(), sg::channel<&Payment::log>(sg::append));
    }
};

// A service that uses a key to recognise a request that is sent twice.
struct Bank {
    int charged = 0;
    std::set<std::string> keys = {};
    void charge(int amount, const std::string& key) {
        if (keys.insert(key).second) charged += amount;
    }
};

// [begin graph]
sg::Update<Payment> approve(const Payment& payment, sg::Runtime& runtime) {
    if (payment.amount <= 100) return {sg::add<&Payment::log>("small")};
    return {sg::add<&Payment::log>("approved by " + sg::interrupt<std::string>(runtime, "Who approves?"))};
}

sg::StateGraph<Payment> makeGraph(Bank& bank) {
    sg::StateGraph<Payment> graph;
    graph.addNode("approve", approve);
    graph.addNode("pay", [&bank](const Payment& payment, sg::Runtime& runtime) -> sg::Update<Payment> {
        runtime.once("charge", [&] { bank.charge(payment.amount, runtime.idempotencyKey("charge")); });
        return {sg::add<&Payment::log>("paid")};
    });
    graph.addEdge(sg::START, "approve").addEdge("approve", "pay").addEdge("pay", sg::END);
    return graph;
}
// [end graph]

// [begin node]
TEST_CASE("a node is a function") {
    sg::StateGraph<Payment> graph;
    graph.addNode("approve", approve).addEdge(sg::START, "approve").addEdge("approve", sg::END);
    const auto result = graph.compile().invoke({sg::set<&Payment::amount>(20)});
    CHECK(result.values.log == std::vector<std::string>{"small"});
}
// [end node]

// [begin question]
TEST_CASE("a large payment waits for a person") {
    Bank bank;
    const auto app = makeGraph(bank).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto asked = app.invoke({sg::set<&Payment::amount>(500)}, {.thread_id = "1"});
    REQUIRE((asked.status == sg::Status::interrupted));
    CHECK(asked.interrupts.at(0).value == sg::Value("Who approves?"));
    CHECK(bank.charged == 0);

    const auto paid = app.invoke(sg::resume("Ada"), {.thread_id = "1"});
    CHECK(paid.values.log == std::vector<std::string>{"approved by Ada", "paid"});
    CHECK(bank.charged == 500);
}
// [end question]

// [begin middle]
TEST_CASE("a test can begin in the middle") {
    Bank bank;
    const auto app = makeGraph(bank).compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    app.updateState({.thread_id = "1"}, {sg::set<&Payment::amount>(7)}, {.as_node = "approve"});
    CHECK(app.invoke(sg::RESUME, {.thread_id = "1"}).values.log == std::vector<std::string>{"paid"});
}
// [end middle]

// [begin faults]
TEST_CASE("however the storage fails, a payment that is resumed is charged once") {
    for (std::size_t fail_at = 1;; ++fail_at) {
        CAPTURE(fail_at);
        Bank bank;
        const auto store = std::make_shared<sg::MemorySaver>();
        const auto faulty =
            std::make_shared<sg::testing::FaultSaver>(store, sg::testing::FaultPlan{.fail_at = fail_at});
        try {
            makeGraph(bank)
                .compile({.checkpointer = faulty})
                .invoke({sg::set<&Payment::amount>(20)}, {.thread_id = "1"});
        } catch (const sg::Error&) {
        }
        if (faulty->failures() == 0) break;  // there were fewer calls than that, so each of them has failed once

        const auto app = makeGraph(bank).compile({.checkpointer = store});  // the next process
        app.recover();
        if (!app.getState({.thread_id = "1"}).config.checkpoint_id)  // the input itself was refused
            app.invoke({sg::set<&Payment::amount>(20)}, {.thread_id = "1"});
        else if (!app.getState({.thread_id = "1"}).tasks.empty())
            app.invoke(sg::RESUME, {.thread_id = "1"});
        CHECK(bank.charged == 20);
    }
}
// [end faults]
