// One task for each word, all in one superstep, and one to put the results together.
//
//                     ┌──► count("the") ────┐
//     START ── split ─┼──► count("quick") ──┼──► report ──► END
//                     └──► …                ┘
//
// How many tasks there are is known only at run time: a Send makes each, with a payload of its own. `NodeId` gives the
// payload's type to both ends, so a Send of the wrong type does not compile.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

struct State {
    std::string text = {};
    std::map<std::string, int> letters = {};
    int total = 0;
    std::vector<std::string> order = {};
    std::string report = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::text>(), sg::channel<&State::letters>(sg::merge),
                            sg::channel<&State::total>(sg::sum), sg::channel<&State::order>(sg::append),
                            sg::channel<&State::report>());
    }
};

// [begin payload]
struct Word {
    std::string text = {};
    static constexpr auto fields() { return sg::fields<&Word::text>(); }
};
constexpr sg::NodeId<Word> count{"count"};
// [end payload]

// Counts how many tasks are inside `count` at the same time.
std::mutex mutex;
std::condition_variable changed;
int running = 0;
int running_max = 0;

int main() {
    sg::StateGraph<State> graph;

    // [begin sends]
    // Map: one Send a word.
    const auto eachWord = [](const State& state) {
        std::vector<sg::Send> sends;
        std::istringstream words(state.text);
        for (std::string word; words >> word;) sends.push_back(count(Word{word}));
        return sends;
    };
    graph.addConditionalEdges(sg::START, eachWord, {count.name});
    // [end sends]

    // The node sees its word and not the state. Shorter words take longer, so that the tasks finish in another order
    // than the one in which they were sent.
    graph.addNode(count, [](const Word& word) -> sg::Update<State> {
        {
            std::unique_lock lock(mutex);
            running_max = std::max(running_max, ++running);
            changed.notify_all();
            changed.wait_for(lock, 1min, [] { return running_max > 1; });  // a busy machine may begin the others late
        }
        std::this_thread::sleep_for(200ms - 20ms * word.text.size());
        {
            const std::lock_guard lock(mutex);
            --running;
        }
        const int letters = static_cast<int>(word.text.size());
        return {sg::add<&State::letters>({{word.text, letters}}), sg::add<&State::total>(letters),
                sg::add<&State::order>(word.text)};
    });

    // The channels' reducers have combined the results when this node runs, once, after the last task.
    graph.addNode("report", [](const State& state) -> sg::Update<State> {
        return {sg::set<&State::report>(std::to_string(state.letters.size()) + " words, " +
                                        std::to_string(state.total) + " letters")};
    });
    graph.addEdge(count.name, "report").addEdge("report", sg::END);

    const auto app = graph.compile();
    const auto result = app.invoke({sg::set<&State::text>("the quick fox jumped up")});

    std::cout << "in parallel: " << (running_max > 1 ? "yes" : "no") << "\n";
    for (const auto& [word, letters] : result.values.letters) std::cout << "  " << word << ": " << letters << "\n";
    std::cout << "reduced in the order of the Sends, whichever finished first:";
    for (const auto& word : result.values.order) std::cout << " " << word;
    std::cout << "\n" << result.values.report << "\n";
}
