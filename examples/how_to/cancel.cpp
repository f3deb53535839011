// Ending runs, for docs/how_to/cancel.md: now, after the superstep, and for good.
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <stategraph/control.hpp>
#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct Job {
    int pages = 0;
    static constexpr auto channels() { return sg::channels(sg::channel<&Job::pages>(sg::sum)); }
};

int main() {
    // [begin node]
    const auto has_begun = std::make_shared<std::promise<void>>();
    const auto work = [has_begun](const Job&, sg::Runtime& runtime) -> sg::Update<Job> {
        if (runtime.context<bool>()) return {sg::add<&Job::pages>(1)};
        has_begun->set_value();
        while (!runtime.stopRequested()) std::this_thread::sleep_for(1ms);
        return {};  // discarded: the run has ended without it
    };
    // [end node]
    sg::StateGraph<Job> graph;
    graph.addNode("work", work).addEdge(sg::START, "work").addEdge("work", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});

    // [begin stop]
    const auto control = std::make_shared<sg::RunControl>();
    std::jthread user([&] {
        has_begun->get_future().wait();
        control->requestStop();
    });
    const auto stopped = app.invoke({}, {.thread_id = "1", .control = control, .context = false});
    std::cout << "stop: " << stopped.status << "\n";
    std::cout << "resumed: " << app.invoke(sg::RESUME, {.thread_id = "1", .context = true}) << "\n";
    // [end stop]

    // [begin drain]
    const auto shutdown = std::make_shared<sg::RunControl>();  // one for all runs of a process
    shutdown->requestDrain("deploy");                          // in a program: on SIGTERM
    const auto drained = app.invoke({}, {.thread_id = "2", .control = shutdown, .context = true});
    std::cout << "drain: " << drained.status << "\n";
    // [end drain]

    // [begin for good]
    app.cancelThread("2");
    std::cout << "cancelled for good: " << std::boolalpha << app.getState({.thread_id = "2"}).cancelled << "\n";
    try {
        app.invoke(sg::RESUME, {.thread_id = "2", .context = true});
    } catch (const sg::InvalidArgumentError& error) {
        std::cout << error.what() << "\n";
    }
    // [end for good]
}
