// Ending runs from outside: a stop that does not wait for a stuck node, a drain for a process that is about to end,
// a node's time limit, a sleep.
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/control.hpp>
#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct Job {
    std::vector<std::string> log = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&Job::log>(sg::append)); }
};

sg::Update<Job> says(const std::string& text) { return {sg::add<&Job::log>(text)}; }

template <class R>
void show(const std::string& what, const R& result) {
    std::cout << what << ": " << sg::toString(result.status);
    for (const auto& line : result.values.log) std::cout << " [" << line << "]";
    std::cout << "\n";
}

int main() {
    auto saver = std::make_shared<sg::MemorySaver>();
    auto control = std::make_shared<sg::RunControl>();
    std::promise<void> is_stuck;
    bool again = false;

    sg::StateGraph<Job> graph;
    graph.addNode("prepare", [](const Job&) { return says("prepared"); });
    graph.addNode("work", [&](const Job&, sg::Runtime& runtime) {
        if (!again) {
            is_stuck.set_value();
            runtime.waitFor(1h);  // a node that never checks would be abandoned too
        }
        return says("worked");
    });
    graph.addEdge(sg::START, "prepare").addEdge("prepare", "work").addEdge("work", sg::END);
    const auto app = graph.compile({.checkpointer = saver});

    // A stopped run keeps what is committed, and RESUME continues it.
    sg::RunConfig config;
    config.thread_id = "job-1";
    config.control = control;
    std::jthread stopper([&] {
        is_stuck.get_future().wait();
        control->requestStop();
    });
    show("stopped", app.invoke({}, config));
    again = true;
    show("resumed", app.invoke(sg::RESUME, {.thread_id = "job-1"}));

    // A drained run ends after its current superstep, which is committed; another process calls recover().
    auto shutdown = std::make_shared<sg::RunControl>();
    shutdown->requestDrain("deploy");
    config.thread_id = "job-2";
    config.control = shutdown;
    show("drained", app.invoke({}, config));
    std::cout << "recovered: " << app.recover().size() << " thread\n";

    // A sleeping run holds nothing in memory until recover() finds that its time has come.
    const auto wake_at = std::chrono::system_clock::now() + 10s;
    sg::StateGraph<Job> sleeper;
    sleeper.addNode("nap", [wake_at](const Job&, sg::Runtime& runtime) {
        runtime.sleepUntil(wake_at);
        return says("woke");
    });
    sleeper.addEdge(sg::START, "nap").addEdge("nap", sg::END);
    const auto naps = sleeper.compile({.checkpointer = saver});
    show("asleep", naps.invoke({}, {.thread_id = "job-3"}));
    while (naps.recover().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::cout << "awake: [" << naps.getState({.thread_id = "job-3"}).values.log.front() << "]\n";
}
