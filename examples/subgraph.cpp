// A compiled graph is a node of another one: sharing channels by name, or through two functions.
//
//     START ──► clean ──────────► shout ──────────► END       both are graphs themselves
//                 │                 │
//        trim ──► lower      mark ──► upper
//
// `clean` has a channel `text` as the outer graph has: it takes it and gives it back. `shout` has a state of its own:
// one function makes its input, one takes its result.
#include <algorithm>
#include <cctype>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Outer {
    std::string text = {};
    std::string headline = {};
    static constexpr auto channels() { return sg::channels<&Outer::text, &Outer::headline>(); }
};

struct Cleaning {
    std::string text = {};  // the same name and type as Outer's: shared
    int removed = 0;        // its own: no graph outside sees it
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Cleaning::text>(), sg::channel<&Cleaning::removed>(sg::sum));
    }
};

struct Shouting {
    std::string words = {};
    static constexpr auto channels() { return sg::channels<&Shouting::words>(); }
};

sg::CompiledGraph<Cleaning> makeCleaning() {
    sg::StateGraph<Cleaning> graph;
    graph.addNode("trim", [](const Cleaning& state) -> sg::Update<Cleaning> {
        const std::string trimmed = state.text.substr(state.text.find_first_not_of(' '));
        return {sg::set<&Cleaning::text>(trimmed),
                sg::add<&Cleaning::removed>(static_cast<int>(state.text.size() - trimmed.size()))};
    });
    graph.addNode("lower", [](const Cleaning& state) -> sg::Update<Cleaning> {
        std::string lower = state.text;
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        return {sg::set<&Cleaning::text>(lower)};
    });
    graph.addEdge(sg::START, "trim").addEdge("trim", "lower").addEdge("lower", sg::END);
    return graph.compile();  // no saver: inside another graph it uses that graph's
}

sg::CompiledGraph<Shouting> makeShouting() {
    sg::StateGraph<Shouting> graph;
    graph.addNode("mark", [](const Shouting& state) -> sg::Update<Shouting> {
        return {sg::set<&Shouting::words>(state.words + "!")};
    });
    graph.addNode("upper", [](const Shouting& state) -> sg::Update<Shouting> {
        std::string upper = state.words;
        std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
        return {sg::set<&Shouting::words>(upper)};
    });
    graph.addEdge(sg::START, "mark").addEdge("mark", "upper").addEdge("upper", sg::END);
    return graph.compile();
}

// Returns "clean" for "clean:5f…". The part after the colon is the id of the task that runs the graph.
std::string nodeOf(const std::string& segment) { return segment.substr(0, segment.find(':')); }

int main() {
    sg::StateGraph<Outer> graph;
    graph.addNode("clean", makeCleaning());
    graph.addNode(
        "shout", makeShouting(),
        [](const Outer& outer) -> sg::Update<Shouting> { return {sg::set<&Shouting::words>(outer.text)}; },
        [](const Shouting& inner) -> sg::Update<Outer> { return {sg::set<&Outer::headline>(inner.words)}; });
    graph.addEdge(sg::START, "clean").addEdge("clean", "shout").addEdge("shout", sg::END);

    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = graph.compile({.checkpointer = saver});

    std::cout << "Updates, those inside subgraphs too:\n";
    const sg::Update<Outer> input = {sg::set<&Outer::text>("   Hello World")};
    for (const auto& event :
         app.stream(input, {.thread_id = "1"}, {.modes = sg::StreamMode::updates, .subgraphs = true})) {
        std::cout << "  [" << (event.ns.empty() ? "" : nodeOf(event.ns.front())) << "] " << event.data << "\n";
    }

    const auto state = app.getState({.thread_id = "1"});
    std::cout << "\nThe outer state: " << state.valuesAsJson() << "\n";

    std::cout << "\nWhat is stored: a log for the thread, and one for each visit of a subgraph\n";
    for (const auto& listed : saver->list({.thread_id = "1"})) {
        const sg::CommitHeader header =
            sg::readHeader({listed.thread_id, listed.checkpoint_ns, listed.id}, listed.bytes);
        std::cout << "  " << (listed.checkpoint_ns.empty() ? "(root)" : nodeOf(listed.checkpoint_ns)) << "  step "
                  << header.step << "\n";
    }
}
