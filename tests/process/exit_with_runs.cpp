// The process ends while runs are under way on the library's threads, and a destructor of a static object runs a graph.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/async.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {

struct State {
    int n = 0;
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("n", &State::n), sg::channel("log", &State::log, sg::append));
    }
};
using Writes = sg::Update<State>;

/// Constructed before any static object of the library, and so destroyed after them.
struct LastFlush {
    std::unique_ptr<sg::CompiledGraph<State>> app;
    LastFlush() = default;
    LastFlush(const LastFlush&) = delete;
    LastFlush& operator=(const LastFlush&) = delete;
    ~LastFlush() {
        if (!app) return;
        for (int i = 0; i < 20; ++i) {
            if (app->invoke({sg::set(&State::n, i)}, {.thread_id = std::to_string(i)}).values.n != i) std::_Exit(10);
        }
        std::_Exit(0);
    }
} last_flush;

sg::CompiledGraph<State> loop() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State& state) -> sg::Task<Writes> {
        co_await sg::sleepFor(5us);
        co_return Writes{sg::set(&State::n, state.n + 1), sg::overwrite(&State::log, {std::string(50, 'x')})};
    });
    graph.addEdge(sg::START, "a");
    graph.addConditionalEdges("a", [](const State& state) { return state.n > 100 ? sg::END : "a"; }, {"a", "__end__"});
    return graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
}

sg::Task<> forever(sg::CompiledGraph<State> app, int number) {
    for (;;)
        co_await app.asyncInvoke(Writes{sg::set(&State::n, 0)},
                                 {.thread_id = std::to_string(number), .recursion_limit = 1000});
}

void endWithRuns(int after_ms) {
    const auto app = loop();
    for (int i = 0; i < 4; ++i) (void)sg::spawn(sg::Executor::common(), forever(app, i));
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));  // sleeps: the moment differs from round to round
    std::exit(0);
}

void runAtTheVeryEnd() {
    sg::StateGraph<State> graph;
    graph.addNode("a", [](const State& state) -> Writes { return {sg::add(&State::log, std::to_string(state.n))}; });
    graph.addNode("b", [](const State&) -> sg::Task<Writes> {
        co_await sg::sleepFor(1us);
        co_return Writes{};
    });
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b");
    last_flush.app = std::make_unique<sg::CompiledGraph<State>>(
        graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()}));
    std::exit(11);  // reached only if the destructor has not exited
}

bool endsWell(const char* what, void (*act)(int), int argument) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(300);
        act(argument);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    std::printf("%s (%d): status %d\n", what, argument, status);
    return false;
}

}  // namespace

int main() {
    bool good = true;
    for (int after_ms = 0; after_ms < 12; ++after_ms)
        good = endsWell("ends with runs under way", endWithRuns, after_ms) && good;
    good = endsWell(
               "a run in the destructor of a static object", [](int) { runAtTheVeryEnd(); }, 0) &&
           good;
    return good ? 0 : 1;
}
