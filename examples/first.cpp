// The program in the README: a trip that is searched, approved by a person and booked.
//
//     START ──► search ──► approve ──► book ──► END
#include <iostream>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Trip {
    std::string city = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Trip::city>(), sg::channel<&Trip::log>(sg::append));
    }
};

int main() {
    sg::StateGraph<Trip> graph;
    graph.addNode("search", [](const Trip& trip) { return sg::add<&Trip::log>("found a flight to " + trip.city); });
    graph.addNode("approve", [](const Trip&, sg::Runtime& runtime) {
        return sg::add<&Trip::log>(sg::interrupt<bool>(runtime, "Book it?") ? "approved" : "refused");
    });
    graph.addNode("book", [](const Trip& trip) { return sg::add<&Trip::log>("booked " + trip.city); });
    graph.addEdge(sg::START, "search").addEdge("search", "approve").addEdge("approve", "book").addEdge("book", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("trips")});

    // Stops at the question. The process may end here: a later one resumes from the same folder.
    const auto asked = app.invoke({sg::set<&Trip::city>("Lisbon")}, {.thread_id = "ada"});
    std::cout << asked.status << ": " << asked.interrupts[0].value << "\n";

    const auto booked = app.invoke(sg::resume(true), {.thread_id = "ada"});
    std::cout << booked.status << ": " << booked.values << "\n";
}
