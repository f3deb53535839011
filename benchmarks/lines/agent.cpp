#include <iostream>
#include <map>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct City {
    std::string city = {};
    static constexpr auto fields() { return sg::fields<&City::city>(); }
};
struct Call {
    std::string tool = {};
    sg::Value args = {};
    static constexpr auto fields() { return sg::fields<&Call::tool, &Call::args>(); }
};
struct Turn {
    std::string role = {};
    std::string text = {};
    std::vector<Call> calls = {};
    static constexpr auto fields() { return sg::fields<&Turn::role, &Turn::text, &Turn::calls>(); }
};
struct Chat {
    std::vector<Turn> turns = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Chat::turns>(sg::append)); }
};

std::string weather(const City& args) { return args.city == "Lisbon" ? "sunny" : "rain"; }
std::string population(const City& args) { return args.city == "Lisbon" ? "545,000" : "unknown"; }
const std::map<std::string, std::string (*)(const City&)> tools{{"population", population}, {"weather", weather}};

Turn complete(const std::vector<Turn>& turns) {  // stands for a model
    Turn answer{.role = "model"};
    if (turns.back().role == "user") {
        for (const auto& [name, tool] : tools) answer.calls.push_back({name, City{"Lisbon"}});
    } else {
        answer.text = turns[turns.size() - 2].text + "; " + turns.back().text;
    }
    return answer;
}

auto model(const Chat& state) { return sg::add<&Chat::turns>(complete(state.turns)); }
auto act(const Chat& state) {
    std::vector<Turn> results;
    for (const Call& call : state.turns.back().calls) {
        results.push_back({.role = "tool", .text = tools.at(call.tool)(call.args.as<City>())});
    }
    return sg::add<&Chat::turns>(results);
}
std::string route(const Chat& state) { return state.turns.back().calls.empty() ? sg::END : "act"; }

int main() {
    sg::StateGraph<Chat> graph;
    graph.addNode("model", model);
    graph.addNode("act", act);
    graph.addEdge(sg::START, "model");
    graph.addConditionalEdges("model", route, {"act", sg::END});
    graph.addEdge("act", "model");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("chats")});
    const Turn question{.role = "user", .text = "How is Lisbon?"};
    std::cout << app.invoke({sg::add<&Chat::turns>(question)}, {.thread_id = "ada"}).values.turns.back().text << "\n";
}
