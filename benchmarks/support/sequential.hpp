#pragma once
#include <string>
#include <vector>

#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>

namespace bench {

struct Note {
    std::string role = {};
    std::string content = {};
    std::string id = {};
    bool isRemoval() const { return false; }
    static constexpr auto fields() {
        namespace sg = stategraph;
        return sg::fields(sg::field("role", &Note::role), sg::field("content", &Note::content),
                          sg::field("id", &Note::id));
    }
};
struct Notes {
    std::vector<Note> messages = {};
    static constexpr auto channels() {
        namespace sg = stategraph;
        return sg::channels(sg::channel("messages", &Notes::messages, sg::addMessages));
    }
};

/// Returns a chain of `size` nodes, none of which writes anything. Each adds one to `*calls`.
inline stategraph::StateGraph<Notes> sequentialGraph(std::size_t size, std::size_t* calls) {
    namespace sg = stategraph;
    sg::StateGraph<Notes> graph;
    std::string before = sg::START;
    for (std::size_t i = 0; i < size; ++i) {
        std::string name = "node_" + std::to_string(i);
        graph
            .addNode(name,
                     [calls](const Notes&) {
                         ++*calls;
                         return sg::Update<Notes>();
                     })
            .addEdge(before, name);
        before = std::move(name);
    }
    graph.addEdge(before, sg::END);
    return graph;
}

/// The run's input: an empty list of messages.
inline stategraph::Update<Notes> sequentialInput() { return {stategraph::add(&Notes::messages, std::vector<Note>())}; }

}  // namespace bench
