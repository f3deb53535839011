// Watching a run: an observer prints progress as things happen, and a subscriber of the thread gets the run's events,
// over an interrupt and a restart, each exactly once. The events go to a file as a line of JSON each.
//
//     START ── fetch ──► approve ──► publish ──► END       `fetch` fails once; `approve` asks
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/ndjson.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/stream_hub.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct State {
    std::vector<std::string> done = {};
    static constexpr auto channels() { return sg::channels(sg::channel<&State::done>(sg::append)); }
};

// Every method may be called from several threads at the same time; here one task runs at a time.
class Progress final : public sg::Observer {
    void superstepStarts(const sg::SuperstepStart& start) override { supersteps_ += start.step > 0; }
    void taskEnds(const sg::TaskEnd& end) override {
        if (end.step > 0)
            std::cout << "  [" << supersteps_ << "] " << end.node << ", attempt " << end.attempt << ": "
                      << toString(end.ending) << "\n";
    }
    void taskRetries(const sg::TaskRetry& retry) override {
        std::cout << "      again in " << retry.wait.count() << " ms\n";
    }
    void checkpointStored(const sg::CheckpointStored&) override { ++checkpoints_; }
    void runEnds(const sg::RunEnd& end) override {
        std::cout << "  run " << toString(end.ending) << " after " << end.supersteps << " supersteps, " << checkpoints_
                  << " checkpoints stored\n";
    }
    int supersteps_ = 0;
    int checkpoints_ = 0;
};

sg::CompiledGraph<State> makeGraph(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("fetch",
                  [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
                      for (const int percent : {50, 100}) runtime.write(percent);  // custom events
                      if (runtime.attempt() == 1) throw std::runtime_error("the line is down");
                      return {sg::add<&State::done>("fetched")};
                  },
                  {.retry = {.max_attempts = 3, .initial_interval = 1ms, .jitter = false}});
    graph.addNode("approve", [](const State&, sg::Runtime& runtime) -> sg::Update<State> {
        return {sg::add<&State::done>("approved by " + sg::interrupt<std::string>(runtime, "Who approves?"))};
    });
    graph.addNode("publish", [](const State&) -> sg::Update<State> { return {sg::add<&State::done>("published")}; });
    graph.addEdge(sg::START, "fetch").addEdge("fetch", "approve").addEdge("approve", "publish");
    return graph.compile({.checkpointer = saver});
}

int main() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    std::string last_seen;
    {
        const auto app = makeGraph(saver);
        sg::StreamHub hub(app);
        Progress progress;
        auto subscription = hub.subscribe(
            "report", {.modes = {sg::StreamMode::updates, sg::StreamMode::custom}, .until = sg::Until::run_end});
        std::cout << "First process\n";
        app.invoke({}, {.thread_id = "report", .hub = &hub, .observer = &progress});
        std::cout << "It reported to its subscriber\n";
        // A server would read on another thread while the run is under way.
        while (const auto event = subscription.next()) {  // until the run has ended
            std::cout << "  " << *event << (event->durable ? "" : "   (ephemeral)") << "\n";
            last_seen = event->position.toString();
        }
    }

    // Only the saver and the client's text are left.
    const auto app = makeGraph(saver);
    sg::StreamHub hub(app);
    Progress progress;
    auto subscription =
        hub.subscribe("report", {.from = sg::StreamPosition::parse(last_seen), .until = sg::Until::run_end});
    std::cout << "Second process\n";
    app.invoke(sg::Command<State>{.resume = "Ada"}, {.thread_id = "report", .hub = &hub, .observer = &progress});
    {
        std::ofstream file("events.ndjson");
        sg::NdjsonWriter writer(file, {.rename = {{"data", "payload"}}, .omit = {"ns", "time", "position", "durable"}});
        while (const auto event = subscription.next()) writer.write(*event);
    }
    std::cout << "The client, back again, gets what it has not seen\n";
    std::ifstream file("events.ndjson");
    for (std::string line; std::getline(file, line);) std::cout << "  " << line << "\n";
}
