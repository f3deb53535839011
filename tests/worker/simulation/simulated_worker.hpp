#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/worker.hpp>

#include "tests/worker/simulation/processes.hpp"
#include "worker/keeper.hpp"

namespace simulation {

/// What the run of an input does besides its supersteps.
enum class Deed : int { nothing, asks, sleeps, asks_and_sleeps };

/// A thread takes inputs, and for each adds `count` entries, input * 100 + 1 and so on.
struct Counting {
    int input = 0;
    int count = 1;
    int deed = 0;
    int n = 0;
    std::vector<int> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("input", &Counting::input), sg::channel("count", &Counting::count),
                            sg::channel("deed", &Counting::deed), sg::channel("n", &Counting::n),
                            sg::channel("log", &Counting::log, sg::append));
    }
};

inline sg::Value inputOf(int input, int count, Deed deed) {
    return sg::parseJson(R"({"n": 0, "input": )" + std::to_string(input) + R"(, "count": )" + std::to_string(count) +
                         R"(, "deed": )" + std::to_string(static_cast<int>(deed)) + "}");
}

/// How nodes behave.
struct NodeHabits {
    unsigned fails = 0;  // of a hundred
    Time most{0};        // how long a superstep may take
};

/// Its nodes take no time by the virtual clock: the engine may call them on other threads, which have no turns. What a
/// superstep takes, it takes before its commit. `process` may be null: the graph is read with, and not run.
inline sg::CompiledGraph<Counting> countingGraph(std::shared_ptr<sg::BaseCheckpointSaver> saver, Process* process,
                                                 NodeHabits habits) {
    sg::StateGraph<Counting> graph;
    graph.addNode("step", [process, habits](const Counting& state, sg::Runtime& runtime) -> sg::Update<Counting> {
        Chance& chance = process->scheduler().chance;
        if (chance.percent(habits.fails)) throw std::runtime_error("the node has no luck");
        const auto deed = static_cast<Deed>(state.deed);
        if (state.n == 0 && (deed == Deed::asks || deed == Deed::asks_and_sleeps))
            (void)sg::interrupt<int>(runtime, "go on?", sg::Value(state.input));
        if (state.n + 1 == state.count && (deed == Deed::sleeps || deed == Deed::asks_and_sleeps))
            runtime.sleepUntil(process->now() + 700ms);
        return {sg::set<&Counting::n>(state.n + 1), sg::add<&Counting::log>(state.input * 100 + state.n + 1)};
    });
    graph.addEdge(sg::START, "step").addConditionalEdges("step", [](const Counting& state) {
        return state.n < state.count ? "step" : sg::END;
    });
    sg::CompileOptions options{.checkpointer = std::move(saver)};
    if (process) options.ids = std::shared_ptr<sg::IdSource>(std::shared_ptr<void>(), process);
    return graph.compile(std::move(options));
}

/// A worker's process: the worker as it is, with the threads, the clock, the queue and the saver of a simulation.
class SimulatedWorker {
public:
    SimulatedWorker(Network& network, const std::string& name, sg::WorkerOptions options, sg::Durability durability,
                    NodeHabits habits)
        : process(network, name),
          saver(std::make_shared<LinkedSaver>(process, &book_)),
          threads_(process),
          queue_(process, book_),
          keeper_(queue_, *saver, threads_, named(std::move(options), name)) {
        sg::WorkerGraphOptions graph_options;
        graph_options.config.durability = durability;
        keeper_.add(std::make_unique<sg::detail::WorkerGraphOf<Counting, Counting, Counting>>(
            "graph", countingGraph(saver, &process, habits), std::move(graph_options)));
        saver->before_put = [this, habits] {
            Chance& chance = process.scheduler().chance;
            if (habits.most > Time(0) && chance.percent(30)) process.spend(chance.between(Time(1), habits.most));
        };
    }

    void start() {
        process.scheduler().start(
            [this] {
                keeper_.run();
                has_ended_ = true;
            },
            &process.freeze);
    }
    void stop() { keeper_.stop(); }
    /// As SIGKILL. Its threads end without an effect.
    void kill() {
        process.is_dead = true;
        process.freeze.until = Time(0);
        stop();
    }
    bool isUp() const { return !process.is_dead && !has_ended_ && !is_stopping_; }
    void drain() {
        is_stopping_ = true;
        stop();
    }
    sg::WorkerMetrics metrics() const { return keeper_.currentMetrics(); }

    Process process;
    const std::shared_ptr<LinkedSaver> saver;

private:
    static sg::WorkerOptions named(sg::WorkerOptions options, const std::string& name) {
        options.name = name;
        return options;
    }

    sg::checkpoint::LeaseBook book_;
    ScheduledThreads threads_;
    LinkedQueue queue_;
    sg::workers::Keeper keeper_;
    bool is_stopping_ = false;
    bool has_ended_ = false;
};

}  // namespace simulation
