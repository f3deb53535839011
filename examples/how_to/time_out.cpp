// Time limits, for docs/how_to/time_out.md: of an attempt, and of a run.
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct Job {
    std::string answer = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Job::answer>()); }
};

int main() {
    // [begin attempt]
    const auto ask = [](const Job&, sg::Runtime& runtime) -> sg::Update<Job> {
        if (runtime.attempt() == 1) runtime.waitFor(1h);  // a service that does not answer
        return {sg::set<&Job::answer>("answered at attempt " + std::to_string(runtime.attempt()))};
    };
    sg::StateGraph<Job> graph;
    graph.addNode("ask", ask, {.retry = {.max_attempts = 2, .initial_interval = 1ms}, .timeout = 10s});
    // [end attempt]
    graph.addEdge(sg::START, "ask").addEdge("ask", sg::END);
    std::cout << graph.compile().invoke({}).values.answer << "\n";

    // [begin run]
    sg::StateGraph<Job> slow;
    slow.addNode("quick", [](const Job&) -> sg::Update<Job> { return {sg::set<&Job::answer>("half")}; });
    slow.addNode("slow", [](const Job&, sg::Runtime& runtime) -> sg::Update<Job> {
        if (!runtime.context<bool>()) runtime.waitFor(1h);
        return {sg::set<&Job::answer>("whole")};
    });
    slow.addEdge(sg::START, "quick").addEdge("quick", "slow").addEdge("slow", sg::END);
    const auto app = slow.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});

    auto result = app.invoke({}, {.thread_id = "1", .timeout = 10s, .context = false});
    std::cout << result.status << ": " << result.values << "\n";
    result = app.invoke(sg::RESUME, {.thread_id = "1", .timeout = 1min, .context = true});
    std::cout << result.status << ": " << result.values << "\n";
    // [end run]
}
