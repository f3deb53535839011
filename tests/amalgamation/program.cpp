// A user of the library as one header and one source: a question in a graph, an answer in the next life of the saver,
// and a run that is awaited. It prints what it saw.
//
//     START ──► search ──► approve ──► book ──► END
#include "stategraph.hpp"

#include <iostream>

namespace sg = stategraph;

int countedElsewhere();  // second.cpp

struct Trip {
    std::string city = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Trip::city>(), sg::channel<&Trip::log>(sg::append));
    }
};

sg::CompiledGraph<Trip> trips(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Trip> graph;
    graph.addNode("search", [](const Trip& trip) { return sg::add<&Trip::log>("found a flight to " + trip.city); });
    graph.addNode("approve", [](const Trip&, sg::Runtime& runtime) {
        return sg::add<&Trip::log>(sg::interrupt<bool>(runtime, "Book it?") ? "approved" : "refused");
    });
    graph.addNode("book", [](const Trip& trip) -> sg::Task<sg::Update<Trip>> {
        co_return sg::add<&Trip::log>("booked " + trip.city);
    });
    graph.addEdge(sg::START, "search").addEdge("search", "approve").addEdge("approve", "book").addEdge("book", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

// makeSaver(): another saver on the same storage.
template <class MakeSaver>
void book(const char* storage, const MakeSaver& makeSaver) {
    const auto asked = trips(makeSaver()).invoke({sg::set<&Trip::city>("Lisbon")}, {.thread_id = "ada"});
    std::cout << storage << ": " << asked.status << ": " << asked.interrupts[0].value << "\n";
    const auto app = trips(makeSaver());
    const auto booked = sg::syncWait(app.asyncInvoke(sg::resume(true), {.thread_id = "ada"}));
    std::cout << booked.status << ": " << booked.values << "\n";
    int count = 0;
    for ([[maybe_unused]] const auto& each : app.getStateHistory({.thread_id = "ada"})) ++count;
    std::cout << count << " checkpoints\n";
}

int main() {
    const auto memory = std::make_shared<sg::MemorySaver>();
    book("memory", [&] { return memory; });
#ifndef STATEGRAPH_WITHOUT_SQLITE
    book("SQLite", [] { return std::make_shared<sg::SqliteSaver>("trips.db"); });
#endif
    std::cout << "the other file counted to " << countedElsewhere() << "\n";
}
