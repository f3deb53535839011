// A new version of a graph on old threads, for docs/how_to/rename_a_node.md.
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/compatibility.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

namespace old_version {
struct Order {
    std::string state = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Order::state>()); }
};
sg::CompiledGraph<Order> makeApp(std::shared_ptr<sg::MemorySaver> saver) {
    sg::StateGraph<Order> graph;
    graph.addNode("ask", [](const Order&, sg::Runtime& runtime) -> sg::Update<Order> {
        return {sg::set<&Order::state>(sg::interrupt<bool>(runtime, "Pay?") ? "paid" : "refused")};
    });
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    return graph.compile({.checkpointer = saver});
}
}  // namespace old_version

// [begin channel]
struct Order {
    std::string payment = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("payment", &Order::payment, sg::formerly("state")));
    }
};
// [end channel]

sg::Update<Order> askForPayment(const Order&, sg::Runtime& runtime) {
    return {sg::set<&Order::payment>(sg::interrupt<bool>(runtime, "Pay?") ? "paid" : "refused")};
}

int main() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    old_version::makeApp(saver).invoke({},
                                       {.thread_id = "order-7"});  // waits for an answer when the program is replaced

    const auto makeApp = [&saver](const std::string& stored_as) {
        sg::StateGraph<Order> graph;
        // [begin node]
        graph.addNode("approve", askForPayment, {.stored_as = stored_as});  // "ask", as the log calls it
        // [end node]
        graph.addEdge(sg::START, "approve").addEdge("approve", sg::END);
        return graph.compile({.checkpointer = saver});
    };
    // [begin check]
    for (const auto& thread : sg::checkCompatibility(*saver, makeApp("")))
        std::cout << "without stored_as: " << thread.thread_id << ": " << thread.why << "\n";
    std::cout << "with it: " << sg::checkCompatibility(*saver, makeApp("ask")).size() << " threads cannot be resumed\n";
    // [end check]
    std::cout << makeApp("ask").invoke(sg::resume(true), {.thread_id = "order-7"}).values << "\n";
}
