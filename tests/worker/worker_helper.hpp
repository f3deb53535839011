#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/stategraph.hpp>
#include <stategraph/worker.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/until.hpp"

// Workers in this process on a schema, and a graph for them.
namespace worker_tests {

namespace sg = stategraph;
using namespace std::chrono_literals;

/// A thread takes inputs, and for each input adds `count` entries: input * 100 + 1 and so on.
struct Counted {
    int input = 0;
    int count = 5;
    int n = 0;
    std::vector<int> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("input", &Counted::input), sg::channel("count", &Counted::count),
                            sg::channel("n", &Counted::n), sg::channel("log", &Counted::log, sg::append));
    }
};

inline sg::Value inputOf(int number, int count = 5) {
    return sg::parseJson(R"({"n": 0, "input": )" + std::to_string(number) + R"(, "count": )" + std::to_string(count) +
                         "}");
}

/// Each node calls `before`.
inline sg::CompiledGraph<Counted> countingGraph(sg::CompileOptions options,
                                                std::function<void(const Counted&, sg::Runtime&)> before = {}) {
    sg::StateGraph<Counted> graph;
    graph.addNode("step", [before](const Counted& state, sg::Runtime& runtime) -> sg::Update<Counted> {
        if (before) before(state, runtime);
        return {sg::set<&Counted::n>(state.n + 1), sg::add<&Counted::log>(state.input * 100 + state.n + 1)};
    });
    graph.addEdge(sg::START, "step").addConditionalEdges("step", [](const Counted& state) {
        return state.n < state.count ? "step" : sg::END;
    });
    return graph.compile(std::move(options));
}

/// The expected log of a thread after these inputs.
inline std::vector<int> logOf(const std::vector<int>& inputs, int count = 5) {
    std::vector<int> log;
    for (const int input : inputs) {
        for (int n = 1; n <= count; ++n) log.push_back(input * 100 + n);
    }
    return log;
}

/// Sets short times, so that tests are fast. The lease stays: one of 30 s, which is renewed each 10 s, does not run out
/// while a busy machine pauses the worker.
inline sg::WorkerOptions quick(sg::WorkerOptions options = {}) {
    options.poll_interval = 10ms;
    options.backoff = 10ms;
    return options;
}

/// With limits of time that only a hang exceeds.
inline sg::PostgresSaverOptions patient(sg::PostgresSaverOptions options) {
    for (std::chrono::milliseconds* each :
         {&options.connection_wait, &options.connect_timeout, &options.statement_timeout})
        *each = 5min;
    return options;
}

/// A schema with its queue.
struct Place {
    postgres_tests::Schema schema;
    std::shared_ptr<sg::PostgresSaver> saver;
    sg::PostgresQueue queue;

    explicit Place(sg::PostgresSaverOptions options = {}) : saver(schema.open(patient(options))), queue(saver) {}
    /// Uses another server.
    Place(const std::string& conninfo, const sg::PostgresSaverOptions& options)
        : schema(conninfo), saver(schema.open(options)), queue(saver) {}

    void submit(const std::string& thread, int number, const std::string& graph = "graph", int count = 5,
                const std::string& in = "default") {
        (void)queue.submit({.thread_id = thread, .graph = graph, .input = inputOf(number, count), .queue = in});
    }
    /// Waits until the condition holds.
    template <class Condition>
    void await(Condition condition, std::source_location where = std::source_location::current()) {
        patience::until(condition, where);
    }
    void awaitGone(const std::string& thread) {
        await([&] { return !queue.find(thread); });
    }
    void awaitState(const std::string& thread, sg::WorkState state) {
        await([&] {
            const auto found = queue.find(thread);
            const bool is_left = found && found->state == state && found->epoch == 0;
            // An answered question makes the thread due.
            return is_left && (state != sg::WorkState::waits || !found->due);
        });
    }
    std::vector<int> log(const std::string& thread) {
        return countingGraph({.checkpointer = saver}).getState({.thread_id = thread}).values.log;
    }
};

/// A worker of this process on its own thread, until this object is destroyed.
class Running {
public:
    Running(const Place& place, sg::WorkerOptions options, std::shared_ptr<sg::PostgresSaver> over = {})
        : saver(std::make_shared<sg::LeasedSaver>(over ? over : place.saver)), worker(saver, std::move(options)) {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { stop(); }

    Running& add(const std::string& name, std::function<void(const Counted&, sg::Runtime&)> before = {},
                 sg::WorkerGraphOptions options = {}) {
        worker.add(name, countingGraph({.checkpointer = saver}, std::move(before)), std::move(options));
        return *this;
    }
    void start() {
        thread_ = std::thread([this] { worker.run(); });
    }
    void stop() {
        worker.stop();
        if (thread_.joinable()) thread_.join();
    }

    std::shared_ptr<sg::LeasedSaver> saver;
    sg::Worker worker;

private:
    std::thread thread_;
};

}  // namespace worker_tests
