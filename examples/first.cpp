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
    graph.addSequence(
        "search",  // a name, and a function of the state
        [](const Trip& trip) { return sg::add<&Trip::log>("found a flight to " + trip.city); },
        "approve",  // stops the run until somebody answers
        [](const Trip&, sg::Runtime& runtime) {
            return sg::add<&Trip::log>(sg::interrupt<bool>(runtime, "Book it?") ? "approved" : "refused");
        },
        "book",  // runs in the process that has the answer
        [](const Trip& trip) { return sg::add<&Trip::log>("booked " + trip.city); });
    graph.setEntryPoint("search");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("trips")});

    // Stops at the question. The process may end here: a later one resumes from the same folder.
    const auto asked = app.invoke({sg::set<&Trip::city>("Lisbon")}, {.thread_id = "ada"});
    std::cout << asked.status << ": " << asked.interrupts[0].value << "\n";

    const auto booked = app.invoke(sg::resume(true), {.thread_id = "ada"});
    std::cout << booked.status << ": " << booked.values << "\n";

    for (const auto& checkpoint : app.getStateHistory({.thread_id = "ada"})) {
        std::cout << "  step " << checkpoint.step << ": " << checkpoint.valuesAsJson() << "\n";
    }
}
