// A program that fails, for docs/tutorials/debugging.md: orders are priced by a list that does not exist.
//
//     START ──► read ──► price ──► ship ──► END
//
// `./orders` runs an order, `./orders resume` resumes it.
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Order {
    std::string item = {};
    int price = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Order::item>(), sg::channel<&Order::price>(),
                            sg::channel<&Order::log>(sg::append));
    }
};

// [begin nodes]
sg::Update<Order> readOrder(const Order& order) { return {sg::add<&Order::log>("ordered " + order.item)}; }

sg::Update<Order> priceOrder(const Order& order) {
    std::ifstream prices("prices.txt");
    std::string item;
    int price = 0;
    while (prices >> item >> price) {
        if (item == order.item) return {sg::set<&Order::price>(price)};
    }
    throw std::runtime_error("prices.txt has no price of '" + order.item + "'");
}

sg::Update<Order> shipOrder(const Order& order) { return {sg::add<&Order::log>("shipped " + order.item)}; }
// [end nodes]

// [begin main]
int main(int argc, char**) {
    sg::StateGraph<Order> graph;
    graph.addSequence("read", readOrder, "price", priceOrder, "ship", shipOrder).setEntryPoint("read");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("orders.db")});
    try {
        const bool is_resumed = argc > 1;
        const auto result = is_resumed ? app.invoke(sg::RESUME, {.thread_id = "order-7"})
                                       : app.invoke({sg::set<&Order::item>("tea")}, {.thread_id = "order-7"});
        std::cout << result.status << ": " << result.values << "\n";
    } catch (const sg::NodeError& error) {
        std::cout << error.what() << "\n";
        return 1;
    }
}
// [end main]
