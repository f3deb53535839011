// Forks, for docs/how_to/fork_and_compare.md: what if the plan had been another one?
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Trip {
    std::string city = {};
    int cost = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Trip::city>(), sg::channel<&Trip::cost>(sg::sum));
    }
};

int main() {
    sg::StateGraph<Trip> graph;
    graph.addNode("plan", [](const Trip&) -> sg::Update<Trip> { return {sg::set<&Trip::city>("Oslo")}; });
    graph.addNode("book", [](const Trip& trip) -> sg::Update<Trip> {
        return {sg::add<&Trip::cost>(trip.city == "Oslo" ? 900 : 400)};
    });
    graph.addEdge(sg::START, "plan").addEdge("plan", "book").addEdge("book", sg::END);
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = graph.compile({.checkpointer = saver});

    // [begin find]
    const auto first = app.invoke({}, {.thread_id = "trip"});
    sg::Config before_book;
    for (const auto& checkpoint : app.getStateHistory({.thread_id = "trip"})) {
        if (checkpoint.next == std::vector<std::string>{"book"}) before_book = checkpoint.config;
    }
    // [end find]

    // [begin edit]
    const sg::Config fork = app.updateState(before_book, {sg::set<&Trip::city>("Lima")}, {.as_node = "plan"});
    const auto second = app.invoke(sg::RESUME, fork);
    std::cout << first.values << "\n" << second.values << "\n";
    // [end edit]

    // [begin compare]
    const auto difference = sg::readDifference(*saver, first.config, second.config);
    for (const auto& channel : difference)
        std::cout << channel.channel << ": " << *channel.before << " or " << *channel.after << "\n";
    // [end compare]

    // [begin again]
    sg::fork(*saver, before_book, {.metadata = {{"by", "Ada"}}});  // no graph is needed for this
    std::cout << "again: " << app.invoke(sg::RESUME, {.thread_id = "trip"}).values << "\n";
    // [end again]
}
