// Subgraphs that remember: a log for each key of a thread, and a run that begins inside one of them.
//
//     START ──► desk (ann) ──► END       a front desk that several customers visit at once;
//          └──► desk (bob) ──┘           each has a memory of its own
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Desk {
    std::string customer = {};
    std::string wish = {};
    std::vector<std::string> notes = {};  // accumulates, for each customer apart
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Desk::customer>(), sg::channel<&Desk::wish>(),
                            sg::channel<&Desk::notes>(sg::append));
    }
};

struct Lobby {
    std::vector<std::string> answers = {};
    std::vector<std::string> wishes = {};  // "customer: wish"
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Lobby::answers>(sg::append), sg::channel<&Lobby::wishes>());
    }
};

sg::CompiledGraph<Desk> makeDesk() {
    sg::StateGraph<Desk> graph;
    graph.addNode("note", [](const Desk& desk) -> sg::Update<Desk> { return {sg::add<&Desk::notes>(desk.wish)}; });
    graph.addNode("thank", [](const Desk& desk) -> sg::Update<Desk> {
        std::cout << "    " << desk.customer << " has said:";
        for (const auto& note : desk.notes) std::cout << " " << note;
        std::cout << "\n";
        return {};
    });
    graph.addEdge(sg::START, "note").addEdge("note", "thank").addEdge("thank", sg::END);
    return graph.compile({.checkpointer = sg::perThread(&Desk::customer)});
}

// Each wish is a visit of its customer.
std::vector<sg::Send> visits(const Lobby& lobby) {
    std::vector<sg::Send> sends;
    for (const auto& wish : lobby.wishes) {
        const std::size_t colon = wish.find(": ");
        sends.emplace_back("desk", Desk{.customer = wish.substr(0, colon), .wish = wish.substr(colon + 2)});
    }
    return sends;
}

int main() {
    sg::StateGraph<Lobby> graph;
    graph.addNode(
        "desk", makeDesk(), [](const Lobby&) -> sg::Update<Desk> { return {}; },
        [](const Desk& desk) -> sg::Update<Lobby> {
            return {sg::add<&Lobby::answers>(desk.customer + " has " + std::to_string(desk.notes.size()) + " notes")};
        });
    graph.addConditionalEdges(sg::START, visits, {"desk"});
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const auto come = [&app](std::vector<std::string> wishes) {
        app.invoke(sg::Update<Lobby>{sg::set<&Lobby::wishes>(std::move(wishes))},
                   {.thread_id = "1", .max_concurrency = 1});
    };

    std::cout << "Monday:\n";
    come({"ann: tea", "bob: coffee"});
    std::cout << "Tuesday:\n";
    come({"bob: cake"});

    const sg::Config bob = {.thread_id = "1", .checkpoint_ns = sg::keyedNamespace("desk", "bob")};
    std::cout << "\nWhat the log '" << std::string(bob.checkpoint_ns) << "' holds, newest first:\n";
    sg::Config before_thanks;  // on Monday
    for (const auto& snapshot : app.getStateHistory<Desk>(bob)) {
        std::cout << "  step " << snapshot.step << " " << snapshot.values.notes.size() << " notes\n";
        if (snapshot.next == std::vector<std::string>{"thank"}) before_thanks = snapshot.config;
    }

    std::cout << "\nMonday once more, with another note of bob's, from inside his visit on:\n";
    const sg::Config edited =
        app.updateState(before_thanks, sg::Update<Desk>{sg::add<&Desk::notes>("sugar")}, {.as_node = "note"});
    sg::RunConfig again = edited;
    again.max_concurrency = 1;  // so that they speak one after the other
    const auto result = app.invoke(sg::RESUME, again);
    for (const auto& answer : result.values.answers) std::cout << "  " << answer << "\n";
}
