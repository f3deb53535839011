#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/books/world.hpp"

// Random graphs of layers: all nodes of one lead to all of the next. A node does one piece of work in a turn, and each
// input begins another turn.
namespace books {

struct GraphState {
    std::int64_t turn = 0;
    std::vector<std::string> did = {};  // the results of work, in the order of commits
    static constexpr auto channels() {
        return sg::channels(sg::channel("turn", &GraphState::turn), sg::channel("did", &GraphState::did, sg::append));
    }
    bool operator==(const GraphState&) const = default;
};

/// The payload of a Send.
struct Piece {
    std::int64_t turn = 0;
    std::int64_t number = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("turn", &Piece::turn), sg::field("number", &Piece::number));
    }
};

using BookUpdate = sg::Update<GraphState>;
using BookGraph = sg::CompiledGraph<GraphState>;

/// The turn of a result, which is "did NAME/TURN[/NUMBER], execution N.".
inline std::int64_t turnOf(const std::string& result) { return std::stoll(result.substr(result.find('/') + 1)); }

/// What one node does in every turn.
struct Work {
    SharedWorld world;
    std::string name;
    bool is_effect = false;
    int questions = 0;
    std::size_t fails = 0;  // so many executions throw

    std::string what(std::int64_t turn) const { return name + "/" + std::to_string(turn); }

    void ask(sg::Runtime& runtime, const std::string& what) const {
        for (int q = 0; q < questions; ++q) {
            const std::string question = what + "?" + std::to_string(q);
            const auto given = sg::interrupt<std::string>(runtime, question);
            if (given != "yes to " + question) world->complain(question + " was answered with " + given);
        }
    }
    std::string execute(const std::string& what) const {
        const std::size_t which = world->begin(what, name, is_effect ? "once" : "plain", 0);
        world->touch();
        if (which < fails) {
            world->fail(what, which);
            throw std::runtime_error("boom " + what);
        }
        std::string result = "did " + what + ", execution " + std::to_string(which) + ".";
        world->end(what, which, result);
        world->touch();
        return result;
    }
    BookUpdate operator()(const std::string& what, sg::Runtime& runtime) const {
        ask(runtime, what);
        const std::string result = is_effect ? runtime.once("work", [&] { return execute(what); }) : execute(what);
        return {sg::add(&GraphState::did, result)};
    }
};

/// Makes random graphs.
class GraphPlanner {
public:
    GraphPlanner(std::uint64_t seed, SharedWorld world) : random_(seed), world_(std::move(world)) {}

    BookGraph make(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
        sg::CompileOptions options;
        options.checkpointer = std::move(saver);
        options.on_failure = random_.chance(30) ? sg::FailurePolicy::collect : sg::FailurePolicy::wait;
        return make("", 0, options);
    }

private:
    using Names = std::vector<std::string>;

    BookGraph make(const std::string& prefix, int depth, const sg::CompileOptions& options) {
        sg::StateGraph<GraphState> graph;
        const std::size_t count = depth == 0 ? 2 + random_.below(3) : 1 + random_.below(2);
        Names before = {sg::START};
        for (std::size_t i = 0; i < count; ++i) {
            const Names layer = addLayer(graph, prefix + static_cast<char>('a' + i), depth);
            for (const std::string& from : before) {
                for (const std::string& to : layer) graph.addEdge(from, to);
            }
            if (random_.chance(25)) addPieces(graph, before, prefix + static_cast<char>('a' + i) + "p");
            before = layer;
        }
        return graph.compile(options);
    }
    Names addLayer(sg::StateGraph<GraphState>& graph, const std::string& prefix, int depth) {
        Names layer;
        const std::size_t width = 1 + random_.below(3);
        for (std::size_t i = 0; i < width; ++i) {
            layer.push_back(prefix + std::to_string(i));
            if (depth < 2 && random_.chance(20))
                addGraph(graph, layer.back(), depth);
            else
                addNode(graph, layer.back());
        }
        return layer;
    }
    std::shared_ptr<const Work> work(const std::string& name) {
        Work made{.world = world_, .name = name};
        made.is_effect = random_.chance(50);
        made.questions = random_.chance(30) ? 1 + static_cast<int>(random_.below(2)) : 0;
        made.fails = random_.chance(4) ? 99 : random_.chance(20) ? 1 + random_.below(3) : 0;
        return std::make_shared<const Work>(std::move(made));
    }
    static sg::NodeOptions options() {
        sg::NodeOptions made;
        made.retry = {.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)};
        return made;
    }
    void addNode(sg::StateGraph<GraphState>& graph, const std::string& name) {
        const auto does = work(name);
        if (random_.chance(60)) {
            graph.addNode(
                name,
                [does](const GraphState& state, sg::Runtime& runtime) -> BookUpdate {
                    return (*does)(does->what(state.turn), runtime);
                },
                options());
            return;
        }
        graph.addNode(
            name,
            [does](const GraphState& state, sg::Runtime& runtime) -> sg::Task<BookUpdate> {
                const std::string what = does->what(state.turn);
                co_await sg::sleepFor(runtime, std::chrono::microseconds(20));
                BookUpdate made = (*does)(what, runtime);
                co_return made;
            },
            options());
    }
    /// A node to which one node of the layer before sends several pieces of work.
    void addPieces(sg::StateGraph<GraphState>& graph, const Names& before, const std::string& name) {
        const auto does = work(name);
        const auto count = 1 + static_cast<std::int64_t>(random_.below(3));
        graph.addNode(
            name,
            [does](const Piece& piece, sg::Runtime& runtime) -> BookUpdate {
                return (*does)(does->what(piece.turn) + "/" + std::to_string(piece.number), runtime);
            },
            options());
        graph.addConditionalEdges(before.front(), [name, count](const GraphState& state) {
            sg::Targets targets;
            for (std::int64_t i = 0; i < count; ++i) targets.add(sg::Send(name, Piece{state.turn, i}));
            return targets;
        });
    }
    void addGraph(sg::StateGraph<GraphState>& graph, const std::string& name, int depth) {
        sg::CompileOptions options;
        if (random_.chance(25)) options.checkpointer = sg::PER_THREAD;
        if (random_.chance(30)) options.on_failure = sg::FailurePolicy::collect;
        const BookGraph inner = make(name + ".", depth + 1, options);
        const auto enters = [](const GraphState& state) -> BookUpdate {
            return {sg::set(&GraphState::turn, state.turn)};
        };
        const auto leaves = [name](const GraphState& inside) -> BookUpdate {
            // A graph that remembers has the results of earlier turns, too.
            std::vector<std::string> did;
            for (const std::string& each : inside.did) {
                if (turnOf(each) == inside.turn) did.push_back(each);
            }
            return {sg::add(&GraphState::did, did)};
        };
        graph.addNode(name, inner, enters, leaves);
    }

    Random random_;
    SharedWorld world_;
};

}  // namespace books
