// A node asks a human and waits: for seconds or for weeks, in this process or in another.
//
//     START ──► prepare ──► approve ──► pay ──────► END
//                              │                     ▲
//                              └──────► cancel ──────┘
//
// `approve` stops the run with a question. The question is a part of the thread's state, so any program with the saver
// can show it and answer it.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

// The question and the answer. Both are stored, so both list their fields.
struct Question {
    std::string text = {};
    int amount = 0;
    static constexpr auto fields() { return sg::fields<&Question::text, &Question::amount>(); }
};
struct Decision {
    bool approved = false;
    std::string by = {};
    static constexpr auto fields() { return sg::fields<&Decision::approved, &Decision::by>(); }
};

struct Payment {
    int amount = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Payment::amount>(), sg::channel<&Payment::log>(sg::append));
    }
};

sg::Update<Payment> prepare(const Payment& payment) {
    return {sg::add<&Payment::log>("prepared " + std::to_string(payment.amount))};
}

sg::Command<Payment> approve(const Payment& payment, sg::Runtime& runtime) {
    // The first time, this stops the run. When the answer has arrived, the node runs again from its beginning, and the
    // call returns the answer. So no code with an effect is above it.
    const auto decision = sg::interrupt<Decision>(runtime, Question{"Pay this?", payment.amount});
    if (decision.approved) return {.update = {sg::add<&Payment::log>(decision.by + " approved")}, .go_to = {"pay"}};
    return {.update = {sg::add<&Payment::log>(decision.by + " declined")}, .go_to = {"cancel"}};
}

sg::Update<Payment> pay(const Payment&) { return {sg::add<&Payment::log>("paid")}; }
sg::Update<Payment> cancel(const Payment&) { return {sg::add<&Payment::log>("cancelled")}; }

sg::CompiledGraph<Payment> makeApp(std::shared_ptr<sg::MemorySaver> saver) {
    sg::StateGraph<Payment> graph;
    graph.addNode("prepare", prepare)
        .addNode("approve", approve, {.ends = {"pay", "cancel"}})  // the nodes to which its Commands lead
        .addNode("pay", pay)
        .addNode("cancel", cancel)
        .addEdge(sg::START, "prepare")
        .addEdge("prepare", "approve")
        .addEdge("pay", sg::END)
        .addEdge("cancel", sg::END);
    return graph.compile({.checkpointer = saver});
}

void print(const std::vector<std::string>& log) {
    for (const auto& line : log) std::cout << "  - " << line << "\n";
}

int main() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = makeApp(saver);

    std::cout << "Payment A: asked and approved\n";
    const auto asked = app.invoke({sg::set<&Payment::amount>(120)}, {.thread_id = "A"});
    std::cout << "  status: " << toString(asked.status) << ", question: " << asked.interrupts.at(0).value << "\n";
    const auto paid = app.invoke(sg::resume(Decision{true, "Ada"}), {.thread_id = "A"});
    std::cout << "  status: " << toString(paid.status) << "\n";
    print(paid.values.log);

    std::cout << "\nPayment B: asked here, declined elsewhere\n";
    app.invoke({sg::set<&Payment::amount>(99000)}, {.thread_id = "B"});

    // Another process would do the same with its own graph on the same storage. (Between real processes, that is a
    // RocksDBSaver.)
    const auto elsewhere = makeApp(saver);
    const auto waiting = elsewhere.getState({.thread_id = "B"});
    std::cout << "  next: " << waiting.next.at(0) << ", question: " << waiting.interrupts().at(0).value << "\n";
    const auto question = waiting.interrupts().at(0).value.as<Question>();
    const auto declined = elsewhere.invoke(sg::resume(Decision{question.amount < 1000, "Bob"}), {.thread_id = "B"});
    std::cout << "  status: " << toString(declined.status) << "\n";
    print(declined.values.log);

    std::cout << "\nA second answer finds no question\n";
    try {
        app.invoke(sg::resume(Decision{true, "Eve"}), {.thread_id = "B"});
    } catch (const sg::InvalidArgumentError& error) {
        std::cout << "  " << error.what() << "\n";
    }
}
