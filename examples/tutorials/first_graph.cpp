// A first graph, for docs/tutorials/first_graph.md: drafts are written and reviewed until one is good.
//
//     START ──► write ──► review ──► END
//                 ▲          │
//                 └──────────┘  not good yet
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

// [begin state]
struct Draft {
    std::string topic = {};
    std::string text = {};
    int reviews = 0;
    std::vector<std::string> log = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel<&Draft::topic>(), sg::channel<&Draft::text>(),
                            sg::channel<&Draft::reviews>(sg::sum), sg::channel<&Draft::log>(sg::append));
    }
};
// [end state]

// [begin nodes]
sg::Update<Draft> writeDraft(const Draft& draft) {
    const std::string text = draft.text.empty() ? "All about " + draft.topic : draft.text + "!";
    return {sg::set<&Draft::text>(text), sg::add<&Draft::log>("wrote: " + text)};
}

sg::Update<Draft> reviewDraft(const Draft& draft) {
    const bool is_good = draft.text.ends_with("!!");
    return {sg::add<&Draft::reviews>(1), sg::add<&Draft::log>(is_good ? "good" : "more enthusiasm, please")};
}
// [end nodes]

// [begin router]
std::string nextAfterReview(const Draft& draft) { return draft.text.ends_with("!!") ? "good" : "again"; }
// [end router]

int main() {
    // [begin graph]
    sg::StateGraph<Draft> graph;
    graph.addNode("write", writeDraft).addNode("review", reviewDraft);
    graph.addEdge(sg::START, "write").addEdge("write", "review");
    graph.addConditionalEdges("review", nextAfterReview, sg::PathMap{{"again", "write"}, {"good", sg::END}});
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    // [end graph]

    // [begin run]
    const auto result = app.invoke({sg::set<&Draft::topic>("owls")}, {.thread_id = "owls"});
    std::cout << result.status << " after " << result.values.reviews << " reviews: " << result.values.text << "\n";
    for (const auto& line : result.values.log) std::cout << "  " << line << "\n";
    // [end run]

    // [begin history]
    std::cout << "The checkpoints, newest first:\n";
    for (const auto& checkpoint : app.getStateHistory({.thread_id = "owls"})) {
        std::cout << "  step " << checkpoint.step
                  << ", next: " << (checkpoint.next.empty() ? "nothing" : checkpoint.next.front()) << ", text: \""
                  << checkpoint.values.text << "\"\n";
    }
    // [end history]

    // [begin more]
    const auto more = app.invoke({sg::set<&Draft::topic>("bats"), sg::set<&Draft::text>("")}, {.thread_id = "owls"});
    std::cout << "The thread after a second input has " << more.values.reviews << " reviews and "
              << more.values.log.size() << " lines of log.\n";
    // [end more]

    // [begin draw]
    std::cout << app.toMermaid();
    // [end draw]
}
