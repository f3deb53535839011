// A bar for people: two hundred pages are fetched, eight at a time, and a line in the terminal says how far it is. Some
// pages fail at first.
//
//     START ── list ──(a Send for each page)──► fetch ──► report ──► END
//
// The bar is drawn on standard error, and only where that is a terminal.
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <thread>

#include <stategraph/progress.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    int pages = 0;
    int words = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::pages>(sg::sum), sg::channel<&State::words>(sg::sum));
    }
};

int main() {
    sg::StateGraph<State> graph;
    graph.addNode("list",
                  [](const State&) -> sg::Command<State> {
                      sg::Command<State> command;
                      for (int page = 0; page < 200; ++page) command.go_to.add(sg::Send("fetch", page));
                      return command;
                  },
                  {.ends = {"fetch"}});
    graph.addNode("fetch",
                  [](const int& page, sg::Runtime& runtime) -> sg::Update<State> {
                      std::this_thread::sleep_for(std::chrono::milliseconds(10));
                      if (page % 50 == 7 && runtime.attempt() == 1) throw std::runtime_error("the line is down");
                      return {sg::add<&State::pages>(1), sg::add<&State::words>(100 + page)};
                  },
                  {.retry = {.max_attempts = 3, .initial_interval = std::chrono::milliseconds(1), .jitter = false},
                   .max_concurrency = 8});
    graph.addNode("report", [](const State& state) -> sg::Update<State> {
        std::cout << state.pages << " pages, " << state.words << " words\n";
        return {};
    });
    graph.addEdge(sg::START, "list").addEdge("fetch", "report").addEdge("report", sg::END);

    sg::ProgressBar progress({.label = "pages"});
    graph.compile().invoke({}, {.observer = &progress});
}
