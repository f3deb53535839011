#include <iostream>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Decision {
    bool approved = false;
    std::string by = {};
    static constexpr auto fields() { return sg::fields<&Decision::approved, &Decision::by>(); }
};
struct Payment {
    int amount = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Payment::amount>(), sg::channel<&Payment::log>(sg::append)); }
};

auto approve(const Payment& state, sg::Runtime& runtime) {
    const auto decision = sg::interrupt<Decision>(runtime, "Pay " + std::to_string(state.amount) + "?");
    return sg::go(decision.approved ? "pay" : "cancel", sg::add<&Payment::log>("decided by " + decision.by));
}
auto pay(const Payment&) { return sg::add<&Payment::log>("paid"); }
auto cancel(const Payment&) { return sg::add<&Payment::log>("cancelled"); }

int main() {
    sg::StateGraph<Payment> graph;
    graph.addNode("approve", approve, {.ends = {"pay", "cancel"}});
    graph.addNode("pay", pay);
    graph.addNode("cancel", cancel);
    graph.addEdge(sg::START, "approve");
    graph.addEdge("pay", sg::END);
    graph.addEdge("cancel", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("payments")});
    const sg::RunConfig config{.thread_id = "A"};
    const auto paused = app.invoke({sg::set<&Payment::amount>(120)}, config);
    std::cout << paused.interrupts[0].value << "\n";
    std::cout << app.invoke(sg::resume(Decision{true, "Ada"}), config) << "\n";
}
