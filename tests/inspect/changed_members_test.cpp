#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/inspect/command.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

// diff shows the members of objects and lists that changed, and not the whole of them.
namespace sg = stategraph;

namespace changed_members {

struct Address {
    std::string city = {};
    std::string street = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("city", &Address::city), sg::field("street", &Address::street));
    }
};
struct Line {
    std::string item = {};
    int count = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("item", &Line::item), sg::field("count", &Line::count));
    }
};
struct Basket {
    Address address = {};
    std::vector<Line> lines = {};
    int total = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("address", &Basket::address), sg::field("lines", &Basket::lines),
                          sg::field("total", &Basket::total));
    }
};
struct State {
    Basket basket = {};
    std::map<std::string, int> stock = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("basket", &State::basket), sg::channel("stock", &State::stock, sg::merge));
    }
};

std::string diff(const std::shared_ptr<sg::MemorySaver>& saver, std::vector<std::string> places) {
    places.insert(places.begin(), "diff");
    std::ostringstream out;
    std::ostringstream error;
    const sg::inspect::CommandOptions options{.open = [&](const std::string&, bool) { return saver; }};
    CHECK(sg::inspect::runCommand(places, out, error, options) == sg::inspect::Exit::no);
    CHECK(error.str().empty());
    return out.str();
}

std::shared_ptr<sg::MemorySaver> shop() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<State> graph;
    graph.addNode("price", [](const State& state) -> sg::Update<State> {
        Basket basket = state.basket;
        basket.total = -3;
        basket.address.city = "Rome";
        basket.lines.at(1).count = 5;
        return {sg::set<&State::basket>(basket), sg::add<&State::stock>({{"a/b", 2}})};
    });
    graph.addEdge(sg::START, "price").addEdge("price", sg::END);
    const Basket basket{
        .address = {.city = "Oslo", .street = "Dock 1"}, .lines = {{"tea", 1}, {"milk", 2}, {"rye", 3}}, .total = 7};
    graph.compile({.checkpointer = saver})
        .invoke({sg::set<&State::basket>(basket), sg::add<&State::stock>({{"tea", 9}})}, {.thread_id = "order"});
    return saver;
}

}  // namespace changed_members

TEST_CASE("diff of a checkpoint shows the members that it changed, by their paths") {
    CHECK(changed_members::diff(changed_members::shop(), {"order"}) ==
          "basket  set\n"
          "- /address/city \"Oslo\"\n+ /address/city \"Rome\"\n"
          "- /lines/1/count 2\n+ /lines/1/count 5\n"
          "- /total 7\n+ /total -3\n"
          "stock  put\n+ /a~1b 2\n");
}

TEST_CASE("diff of two checkpoints shows the members that differ, and those that one of them lacks") {
    CHECK(changed_members::diff(changed_members::shop(), {"order", "order@0"}) ==
          "basket  differs\n"
          "- /address/city \"Rome\"\n+ /address/city \"Oslo\"\n"
          "- /lines/1/count 5\n+ /lines/1/count 2\n"
          "- /total -3\n+ /total 7\n"
          "stock  differs\n- /a~1b 2\n  1 the same\n");
}

TEST_CASE("lists of objects with another length are shown by their items") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    sg::StateGraph<changed_members::State> graph;
    graph.addNode("drop", [](const changed_members::State& state) {
        changed_members::Basket basket = state.basket;
        basket.lines.erase(basket.lines.begin());
        return sg::set<&changed_members::State::basket>(basket);
    });
    graph.addEdge(sg::START, "drop").addEdge("drop", sg::END);
    const changed_members::Basket basket{.address = {}, .lines = {{"tea", 1}, {"milk", 2}}, .total = 0};
    graph.compile({.checkpointer = saver})
        .invoke({sg::set<&changed_members::State::basket>(basket)}, {.thread_id = "order"});
    CHECK(changed_members::diff(saver, {"order"}) ==
          "basket  set\n- /lines/0 {\"item\":\"tea\",\"count\":1}\n  2 the same\n");
}
