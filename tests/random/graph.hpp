#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/random/plan.hpp"

// Makes graphs from plans. What a node does depends only on what it reads, so every run of a plan has the same result.
namespace random_graph {

namespace sg = stategraph;
using Strings = std::vector<std::string>;

inline long mixed(const long& value, const long& written) { return value * 31 % 1'000'003 + written; }

struct State {
    Strings log = {};  // an entry for each execution whose writes were stored
    long sum = 0;
    long mix = 0;        // depends on the order of writes
    Strings fresh = {};  // only from the last superstep
    std::map<std::string, int> visits = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("log", &State::log, sg::append), sg::channel("sum", &State::sum, sg::sum),
                            sg::channel("mix", &State::mix, sg::reduce("mixed", &mixed)),
                            sg::channel("fresh", &State::fresh, sg::topic),
                            sg::channel("visits", &State::visits, sg::merge));
    }
    bool operator==(const State&) const = default;
};
using Graph = sg::StateGraph<State>;
using App = sg::CompiledGraph<State>;
using Update = sg::Update<State>;
using Command = sg::Command<State>;

/// The payload of a Send.
struct Job {
    long number = 0;
    std::string from = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("number", &Job::number), sg::field("from", &Job::from));
    }
};

class Digest {
public:
    Digest& add(std::string_view text) {
        for (const char c : text) sum_ = (sum_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3;
        sum_ = (sum_ ^ 0xFF) * 0x100'0000'01B3;
        return *this;
    }
    Digest& add(long number) { return add(std::to_string(number)); }
    std::uint64_t value() const { return sum_ ^ (sum_ >> 29); }
    std::string text() const { return std::to_string(value() % 1'000'000); }

private:
    std::uint64_t sum_ = 0xCBF2'9CE4'8422'2325;
};

inline Digest digest(const State& state) {
    Digest all;
    for (const auto& entry : state.log) all.add(entry);
    for (const auto& entry : state.fresh) all.add(entry);
    for (const auto& [name, count] : state.visits) all.add(name).add(count);
    return all.add(state.sum).add(state.mix);
}
inline Digest digest(const Job& job) { return Digest().add(job.number).add(job.from); }

/// The context of each run: the number of the call that it belongs to.
struct Turn {
    std::uint64_t number = 0;
};

/// Events around the nodes of a run. Safe to use from any thread; nodes hold it, since attempts may outlive their runs.
class World {
public:
    /// For the context of the next run. What attempts of earlier runs do from now on is not counted.
    Turn nextTurn() {
        const std::lock_guard lock(mutex_);
        return {++turn_};
    }
    /// Calls `what` once, at the nth place in users' code from now on. It may throw if that place permits exceptions.
    void arm(std::size_t nth, std::function<void(sg::Runtime*)> what, bool throws) {
        const std::lock_guard lock(mutex_);
        left_ = nth;
        what_ = std::move(what);
        throws_ = throws;
    }
    void disarm() {
        const std::lock_guard lock(mutex_);
        left_ = 0;
        what_ = nullptr;
    }
    std::size_t touches() const { return touches_; }
    void touch(sg::Runtime* runtime, bool may_throw) {
        ++touches_;
        std::function<void(sg::Runtime*)> what;
        {
            const std::lock_guard lock(mutex_);
            if (runtime != nullptr && runtime->context<Turn>().number != turn_) return;  // its run has abandoned it
            if (left_ == 0 || (throws_ && !may_throw) || --left_ > 0) return;
            what = std::move(what_);
            what_ = nullptr;
        }
        if (what) what(runtime);
    }

private:
    std::atomic<std::size_t> touches_ = 0;
    std::mutex mutex_;
    std::uint64_t turn_ = 0;
    std::size_t left_ = 0;
    bool throws_ = false;
    std::function<void(sg::Runtime*)> what_;
};
using SharedWorld = std::shared_ptr<World>;

/// The plan of a node with the names that it needs, without the rest of the graph.
struct NodeShape {
    NodePlan plan;
    Strings edges;
    Strings choices;
    std::string back;
    std::string worker;
    Strings outer_ways;  // in a subgraph: the targets of the node around it
    SharedWorld world;

    /// The update of a node, which does not depend on how the node was called.
    Update does(const Digest& read, const std::map<std::string, int>& visits, const std::string& extra) const {
        const auto found = visits.find(plan.name);
        return {sg::add(&State::log, plan.name + ":" + read.text() + extra),
                sg::add(&State::sum, static_cast<long>(read.value() % 97)),
                sg::add(&State::mix, static_cast<long>(read.value() % 1009)), sg::add(&State::fresh, plan.name),
                sg::merge(&State::visits, {{plan.name, (found == visits.end() ? 0 : found->second) + 1}})};
    }
    bool mayThrow() const { return !plan.is_handled; }

    /// Where the node leads after `visits` earlier executions.
    sg::Targets ways(std::uint64_t read, int visits) const {
        sg::Targets targets;
        if (!back.empty() && visits < plan.laps) {
            targets.add(back);
            return targets;
        }
        if (!choices.empty()) {
            const std::uint64_t chosen = 1 + read % ((std::uint64_t{1} << choices.size()) - 1);
            for (std::size_t i = 0; i < choices.size(); ++i) {
                if ((chosen >> i & 1) != 0) targets.add(choices[i]);
            }
        }
        if (!worker.empty()) {
            for (std::uint64_t i = 0; i <= read % 3; ++i) {
                targets.add(sg::Send(worker, Job{static_cast<long>((read >> 5) % 1000 + i), plan.name}));
            }
        }
        return targets;
    }
    bool hasWays() const { return !back.empty() || !choices.empty() || !worker.empty(); }

    std::string questions(sg::Runtime& runtime, const Digest& read) const {
        std::string answers;
        for (int i = 0; i < plan.questions; ++i) {
            answers +=
                "," + sg::interrupt<std::string>(runtime, plan.name + " " + std::to_string(i) + " " + read.text());
        }
        return answers;
    }
    void begins(sg::Runtime& runtime, const Digest& read) const {
        world->touch(&runtime, mayThrow());
        if (plan.is_handled) throw std::runtime_error("always " + read.text());
        if (runtime.attempt() <= plan.failing_attempts) throw std::runtime_error("not yet");
    }
    static long effect(const Digest& read) { return static_cast<long>(read.value() % 777); }

    std::string blocks(sg::Runtime& runtime, const Digest& read) const {
        begins(runtime, read);
        std::string extra = questions(runtime, read);
        if (plan.has_effect) extra += ";" + std::to_string(runtime.once("effect", [&] { return effect(read); }));
        world->touch(&runtime, mayThrow());
        return extra;
    }
    sg::Task<std::string> awaits(sg::Runtime& runtime, Digest read) const {
        begins(runtime, read);
        if (plan.naps > 0) co_await sg::sleepFor(runtime, std::chrono::microseconds(20));
        std::string extra = questions(runtime, read);
        if (plan.naps > 1) co_await sg::sleepFor(runtime, std::chrono::microseconds(20));
        if (plan.has_effect) {
            const auto makes = [](Digest of) -> sg::Task<long> { co_return effect(of); };
            const long made = co_await sg::onceAsync(runtime, "effect", [makes, read] { return makes(read); });
            extra += ";" + std::to_string(made);
        }
        world->touch(&runtime, mayThrow());
        co_return extra;
    }

    Command gives(const Digest& read, const std::map<std::string, int>& visits, const std::string& extra) const {
        Command command{.update = does(read, visits, extra)};
        if (plan.to_parent) {
            command.graph = sg::PARENT;
            if (!outer_ways.empty()) command.go_to.add(outer_ways[read.value() % outer_ways.size()]);
        } else if (plan.by_command && hasWays()) {
            const auto found = visits.find(plan.name);
            command.go_to = ways(read.value(), (found == visits.end() ? 0 : found->second) + 1);
        }
        return command;
    }
    /// The targets that its Commands may name.
    sg::NodeNames ends() const {
        Strings names;
        if (plan.by_command && !plan.to_parent) {
            names = choices;
            if (!back.empty()) names.push_back(back);
            if (!worker.empty()) names.push_back(worker);
            if (!names.empty()) names.emplace_back(sg::END);
        }
        if (plan.is_handled) names.insert(names.end(), edges.begin(), edges.end());
        if (names.empty()) return {};
        return names;
    }
};

App build(const GraphPlan& plan, const SharedWorld& world, const sg::CompileOptions& options,
          const Strings& outer_ways = {});

class Builder {
public:
    Builder(const GraphPlan& plan, SharedWorld world, Strings outer_ways)
        : plan_(plan), world_(std::move(world)), outer_ways_(std::move(outer_ways)) {}

    App make(const sg::CompileOptions& options) {
        for (const NodePlan& node : plan_.nodes) add(node);
        for (const std::size_t entry : plan_.entries) graph_.addEdge(sg::START, plan_.nodes[entry].name);
        for (const JoinPlan& join : plan_.joins) graph_.addEdge(names(join.from), plan_.nodes[join.to].name);
        return graph_.compile(options);
    }

private:
    Strings names(const std::vector<std::size_t>& nodes) const {
        Strings all;
        for (const std::size_t node : nodes) all.push_back(plan_.nodes[node].name);
        return all;
    }
    std::shared_ptr<const NodeShape> shape(const NodePlan& node) const {
        return std::make_shared<NodeShape>(NodeShape{.plan = node,
                                                     .edges = names(node.edges),
                                                     .choices = names(node.choices),
                                                     .back = node.back ? plan_.nodes[*node.back].name : "",
                                                     .worker = node.worker ? plan_.nodes[*node.worker].name : "",
                                                     .outer_ways = outer_ways_,
                                                     .world = world_});
    }

    void add(const NodePlan& node) {
        const auto self = shape(node);
        sg::NodeOptions options{.defer = node.is_deferred, .ends = self->ends()};
        if (node.failing_attempts > 0)
            options.retry = {.max_attempts = node.failing_attempts + 1,
                             .initial_interval = std::chrono::milliseconds(0),
                             .jitter = false};
        if (node.has_limit) options.timeout = std::chrono::minutes(10);
        switch (node.kind) {
            case Kind::blocking:
                graph_.addNode(
                    node.name,
                    [self](const State& state, sg::Runtime& runtime) -> Command {
                        const Digest read = digest(state);
                        return self->gives(read, state.visits, self->blocks(runtime, read));
                    },
                    options);
                break;
            case Kind::coroutine:
                graph_.addNode(
                    node.name,
                    [self](const State& state, sg::Runtime& runtime) -> sg::Task<Command> {
                        const Digest read = digest(state);
                        const auto visits = state.visits;
                        const std::string extra = co_await self->awaits(runtime, read);
                        co_return self->gives(read, visits, extra);
                    },
                    options);
                break;
            case Kind::worker:
                graph_.addNode(
                    node.name,
                    [self](const Job& job, sg::Runtime& runtime) -> Update {
                        const Digest read = digest(job);
                        return self->does(read, {}, self->blocks(runtime, read));
                    },
                    options);
                break;
            case Kind::subgraph:
                addSubgraph(node, *self);
                break;
        }
        for (const std::string& to : self->edges) graph_.addEdge(node.name, to);
        if (self->hasWays() && (!node.by_command || node.kind == Kind::worker)) {
            graph_.addConditionalEdges(node.name, [self](const State& state) {
                self->world->touch(nullptr, self->mayThrow());
                const auto found = state.visits.find(self->plan.name);
                return self->ways(digest(state).value(), found == state.visits.end() ? 0 : found->second);
            });
        }
        if (!node.is_handled) return;
        graph_.onError(node.name, [self](const State& state, const sg::NodeFailure& failure) -> Command {
            return {.update = self->does(digest(state), state.visits, "!" + failure.error), .go_to = self->edges};
        });
    }

    void addSubgraph(const NodePlan& node, const NodeShape& self) {
        sg::CompileOptions options;
        if (node.memory == Memory::per_thread) options.checkpointer = sg::PER_THREAD;
        if (node.memory == Memory::none) options.checkpointer = sg::NO_CHECKPOINTER;
        if (node.memory == Memory::keyed) {
            options.checkpointer =
                sg::perThread([](const State& input) { return "key " + std::to_string(digest(input).value() % 2); });
        }
        Strings ways = self.edges;
        ways.insert(ways.end(), self.choices.begin(), self.choices.end());
        const App inner = build(plan_.inner[node.inner], world_, options, ways);
        const auto enters = [world = world_, name = node.name](const State& state) -> Update {
            world->touch(nullptr, true);
            const int visits = state.visits.contains(name) ? state.visits.at(name) : 0;
            return {sg::add(&State::log, "from " + digest(state).text()),
                    sg::merge(&State::visits, {{"outside", visits}})};
        };
        const auto leaves = [world = world_, name = node.name](const State& inside) -> Update {
            world->touch(nullptr, true);
            return {sg::add(&State::log, name + "=" + digest(inside).text()), sg::add(&State::mix, inside.mix),
                    sg::add(&State::fresh, inside.fresh),
                    sg::merge(&State::visits, {{name, inside.visits.at("outside") + 1}})};
        };
        sg::NodeOptions node_options;
        if (!ways.empty()) node_options.ends = ways;
        graph_.addNode(node.name, inner, enters, leaves, node_options);
    }

    const GraphPlan& plan_;
    SharedWorld world_;
    Strings outer_ways_;
    Graph graph_;
};

inline App build(const GraphPlan& plan, const SharedWorld& world, const sg::CompileOptions& options,
                 const Strings& outer_ways) {
    return Builder(plan, world, outer_ways).make(options);
}

}  // namespace random_graph
