// Every superstep is a checkpoint, and every checkpoint is a place to continue from.
//
//     START ──► plan ──► book ──► pack ──► END
//
// The past is never changed: replaying and editing make branches.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Trip {
    std::string city = {};
    std::vector<std::string> diary = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Trip::city>(), sg::channel<&Trip::diary>(sg::append));
    }
};

sg::Update<Trip> plan(const Trip&) {
    std::cout << "    plan runs\n";
    return {sg::set<&Trip::city>("Oslo"), sg::add<&Trip::diary>("planned")};
}
sg::Update<Trip> book(const Trip& trip) {
    std::cout << "    book runs, for " << trip.city << "\n";
    return {sg::add<&Trip::diary>("booked " + trip.city)};
}
sg::Update<Trip> pack(const Trip& trip) {
    std::cout << "    pack runs, for " << trip.city << "\n";
    return {sg::add<&Trip::diary>(trip.city == "Oslo" ? "packed a coat" : "packed sandals")};
}

// Prints the thread's checkpoints, oldest first and numbered, each with its parent, so that branches are visible.
void printTree(const sg::CompiledGraph<Trip>& app, const sg::Config& thread) {
    std::vector<sg::StateSnapshot<Trip>> all;
    for (const auto& snapshot : app.getStateHistory(thread)) all.insert(all.begin(), snapshot);
    const auto number = [&all](sg::CheckpointId id) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].config.checkpoint_id == id) return "#" + std::to_string(i);
        }
        return std::string("-");
    };
    for (const auto& snapshot : all) {
        std::cout << "  " << number(snapshot.config.checkpoint_id) << " after "
                  << (snapshot.parent_config ? number(snapshot.parent_config->checkpoint_id) : "-") << "  step "
                  << snapshot.step << " " << toString(snapshot.source) << "  next "
                  << (snapshot.next.empty() ? "-" : snapshot.next.front()) << "  " << snapshot.valuesAsJson() << "\n";
    }
}

// Returns the newest checkpoint at which `node` was due.
sg::Config before(const sg::CompiledGraph<Trip>& app, const sg::Config& thread, std::string_view node) {
    for (const auto& snapshot : app.getStateHistory(thread, {.values = false})) {
        if (!snapshot.next.empty() && snapshot.next.front() == node) return snapshot.config;
    }
    return {};
}

int main() {
    sg::StateGraph<Trip> graph;
    graph.addNode("plan", plan)
        .addNode("book", book)
        .addNode("pack", pack)
        .addEdge(sg::START, "plan")
        .addEdge("plan", "book")
        .addEdge("book", "pack")
        .addEdge("pack", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    const sg::Config thread{.thread_id = "trip"};

    std::cout << "1. Run\n";
    app.invoke({}, thread);
    printTree(app, thread);

    const sg::Config before_book = before(app, thread, "book");

    std::cout << "\n2. Replay from the checkpoint before book: what comes after it runs again, plan does not\n";
    app.invoke(sg::RESUME, before_book);

    std::cout
        << "\n3. Fork: edit the state at that checkpoint, as if plan had chosen otherwise, and continue from there\n";
    const sg::Config fork = app.updateState(before_book, {sg::set<&Trip::city>("Lima")}, {.as_node = "plan"});
    app.invoke(sg::RESUME, fork);

    std::cout << "\n4. All three branches, side by side\n";
    printTree(app, thread);

    std::cout << "\n5. The newest is the thread's state; older ends can still be read\n";
    std::cout << "  newest: " << app.getState(thread).valuesAsJson() << "\n";
    for (const auto& snapshot : app.getStateHistory(thread, {.before = fork.checkpoint_id})) {
        if (snapshot.next.empty()) std::cout << "  older:  " << snapshot.valuesAsJson() << "\n";
    }
}
