// A loop at a fixed rate that runs until SIGTERM, for docs/how_to/control_loop.md.
//
//   START → sense → act ─ again ─→ sense
//                      └ end ──→ END
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct Robot {
    double position = 0;
    double speed = 0;
    std::int64_t rounds = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Robot::position>(), sg::channel<&Robot::speed>(),
                            sg::channel<&Robot::rounds>(sg::sum));
    }
};

int main() {
    // [begin signal]
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread begins: one of them waits for the signal

    const auto is_ending = std::make_shared<std::atomic<bool>>(false);
    std::thread([signals, is_ending] {
        int signal = 0;
        sigwait(&signals, &signal);
        *is_ending = true;
    }).detach();  // waits for the signal as long as the process exists
    // [end signal]

    // [begin graph]
    sg::StateGraph<Robot> graph;
    const auto next = std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
    graph.addNode("sense", [next](const Robot& robot) {
        *next += 1ms;
        std::this_thread::sleep_until(*next);
        return sg::set<&Robot::position>(robot.position + 0.001 * robot.speed);
    });
    graph.addNode("act", [](const Robot& robot) {
        return sg::update(sg::set<&Robot::speed>(1 - robot.position), sg::add<&Robot::rounds>(1));
    });
    graph.addEdge(sg::START, "sense").addEdge("sense", "act");
    graph.addConditionalEdges(
        "act", [is_ending](const Robot&) { return *is_ending ? "end" : "again"; },
        sg::PathMap{{"again", "sense"}, {"end", sg::END}});
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    // [end graph]

    std::jthread user([] {  // in place of a service manager
        std::this_thread::sleep_for(50ms);
        kill(getpid(), SIGTERM);
    });
    // [begin run]
    const sg::RunConfig config{.thread_id = "robot",
                               .durability = sg::Durability::exit,  // stores the state once, when the run ends
                               .recursion_limit = std::numeric_limits<int>::max()};
    const auto result = app.invoke({}, config);
    // [end run]
    std::cout << result.status << (result.values.rounds > 0 ? ", after some rounds" : ", after no round") << "\n";
    std::cout << "stored: " << (app.getState({.thread_id = "robot"}).values.rounds == result.values.rounds) << "\n";
}
