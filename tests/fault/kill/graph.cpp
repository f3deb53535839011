#include "tests/fault/kill/graph.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <utility>

using namespace std::chrono_literals;

namespace fault {
namespace {

// Returns FNV-1a of both, as hexadecimal digits.
std::string mix(std::string_view a, std::string_view b) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const std::string_view part : {a, std::string_view("\n"), b}) {
        for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

std::int64_t small(std::string_view digest) {
    return static_cast<unsigned char>(digest.empty() ? '0' : digest.back()) % 7;
}

// Round and turn in one number: 12 is round 1, turn 2.
int placeOf(const State& state) { return 10 * (static_cast<int>(state.inputs.size()) - 1) + state.turn; }
std::string named(const std::string& name, const State& state) { return name + " " + std::to_string(placeOf(state)); }
std::string ask(sg::Runtime& runtime, const std::string& question) {
    return sg::interrupt<std::string>(runtime, question);
}

// Returns a node that notes its starts and ends.
template <class In, class S, class F>
auto watched(Journal& journal, F body) {
    return [&journal, body](const In& in, sg::Runtime& runtime) -> sg::Update<S> {
        Visit visit(journal, runtime);
        sg::Update<S> update = body(in, runtime);
        visit.end();
        return update;
    };
}

// ------------------------------------------------------------------------------------------------- dig
struct Dig {
    std::string digest = {};
    int place = 0;
    int depth = 0;
    std::int64_t found = 0;
    std::vector<std::string> way = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel("digest", &Dig::digest), sg::channel("place", &Dig::place),
                            sg::channel("depth", &Dig::depth), sg::channel("found", &Dig::found, sg::sum),
                            sg::channel("way", &Dig::way, sg::append));
    }
};

sg::CompiledGraph<Dig> makeDig(Journal& journal) {
    const auto node = [&journal](auto body) { return watched<Dig, Dig>(journal, std::move(body)); };
    const auto side = [&](const std::string& name) {
        return node([name](const Dig& in, sg::Runtime&) -> sg::Update<Dig> {
            return {sg::add(&Dig::way, name + std::to_string(in.depth)),
                    sg::add(&Dig::found, small(mix(in.digest, name)))};
        });
    };
    sg::StateGraph<Dig> graph;
    graph.addNode("enter", node([](const Dig& in, sg::Runtime&) -> sg::Update<Dig> {
                      return {sg::set(&Dig::digest, mix(in.digest, "enter"))};
                  }));
    graph.addNode("left", side("left")).addNode("right", side("right"));
    graph.addNode("meet", node([](const Dig& in, sg::Runtime& runtime) -> sg::Update<Dig> {
                      std::string said = "nothing";
                      if (in.place == 12 && in.depth == 1) said = ask(runtime, "meet " + in.digest);
                      return {sg::set(&Dig::digest, mix(in.digest, said + std::to_string(in.found))),
                              sg::set(&Dig::depth, in.depth + 1)};
                  }));
    graph.addEdge(sg::START, "enter")
        .addEdge("enter", "left")
        .addEdge("enter", "right")
        .addEdge({"left", "right"}, "meet");
    graph.addConditionalEdges("meet", [](const Dig& in) { return std::string(in.depth < 2 ? "enter" : sg::END); },
                              {"enter", sg::END});
    return graph.compile();
}

// ------------------------------------------------------------------------------------------------ keep
struct Keep {
    int place = 0;
    std::int64_t visits = 0;
    std::vector<std::string> kept = {};
    std::string said = {};

    static constexpr auto channels() {
        return sg::channels(sg::channel("place", &Keep::place), sg::channel("visits", &Keep::visits, sg::sum),
                            sg::channel("kept", &Keep::kept, sg::append), sg::channel("said", &Keep::said));
    }
};

sg::CompiledGraph<Keep> makeKeep(Journal& journal) {
    const auto node = [&journal](auto body) { return watched<Keep, Keep>(journal, std::move(body)); };
    const auto note = [&](const std::string& name) {
        return node([name](const Keep& in, sg::Runtime&) -> sg::Update<Keep> {
            return {sg::add(&Keep::kept, name + " " + std::to_string(in.place))};
        });
    };
    sg::StateGraph<Keep> graph;
    graph.addNode("first", note("first")).addNode("second", note("second"));
    graph.addNode("count", node([](const Keep& in, sg::Runtime& runtime) -> sg::Update<Keep> {
                      std::string said = in.said;
                      if (in.place == 21) said = ask(runtime, "count " + std::to_string(in.visits));
                      return {sg::add(&Keep::visits, 1), sg::set(&Keep::said, said)};
                  }));
    graph.addEdge(sg::START, "first")
        .addEdge(sg::START, "second")
        .addEdge({"first", "second"}, "count")
        .addEdge("count", sg::END);
    return graph.compile({.checkpointer = sg::PER_THREAD});
}

// --------------------------------------------------------------------------------------------- outside
auto worker(Journal& journal, const std::string& name, bool asks) {
    return watched<State, State>(
        journal, [&journal, name, asks](const State& in, sg::Runtime& runtime) -> sg::Update<State> {
            if (name == "w4" && runtime.attempt() == 1) throw std::runtime_error("w4 fails at its first try");
            if (name == "w1") effect(runtime, journal, "mail");
            std::string said;
            if (asks && placeOf(in) == 0) said = " " + ask(runtime, name + " " + in.digest);
            return {sg::add(&State::log, named(name, in) + said), sg::add(&State::total, small(mix(in.digest, name))),
                    sg::merge(&State::tallies, {{name, placeOf(in)}})};
        });
}

sg::Update<State> askInTurnOne(const State& in, sg::Runtime& runtime) {
    if (in.turn != 1) return {sg::set(&State::digest, mix(in.digest, "not asked"))};
    std::string said = ask(runtime, "ask " + in.digest);
    if (in.inputs.size() == 1) said += ask(runtime, "ask again after " + said);
    return {sg::set(&State::digest, mix(in.digest, said)), sg::add(&State::log, said)};
}

std::vector<sg::Send> pieces(const State& in) {
    std::vector<sg::Send> sends;
    for (int i = 0; i < 3 + in.turn; ++i)
        sends.push_back(sg::Send("piece", Piece{named(in.digest, in), i, placeOf(in) == 20 && i == 1}));
    return sends;
}

}  // namespace

App makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver, Journal& journal) {
    const auto node = [&journal](auto body) { return watched<State, State>(journal, std::move(body)); };
    const auto mixes = [&](const std::string& name) {
        return node([name](const State& in, sg::Runtime&) -> sg::Update<State> {
            const std::string seen = std::to_string(in.total) + (in.log.empty() ? "" : in.log.back());
            return {sg::set(&State::digest, mix(in.digest, name + seen)), sg::add(&State::log, named(name, in))};
        });
    };
    const sg::RetryPolicy twice{.max_attempts = 2, .initial_interval = 0ms, .jitter = false};

    sg::StateGraph<State> graph;
    for (const char* name : {"prepare", "gather", "reduce", "close"}) graph.addNode(name, mixes(name));
    graph.addNode("w1", worker(journal, "w1", false)).addNode("w2", worker(journal, "w2", true));
    graph.addNode("w3", worker(journal, "w3", true)).addNode("w4", worker(journal, "w4", false), {.retry = twice});
    graph.addNode("piece",
                  watched<Piece, State>(journal, [](const Piece& in, sg::Runtime& runtime) -> sg::Update<State> {
                      const std::string name = "piece " + std::to_string(in.number);
                      const std::string said = in.asks ? ask(runtime, name) : in.text;
                      return {sg::add(&State::log, name + " " + said), sg::add(&State::total, small(mix(said, name)))};
                  }));
    graph.addNode("ask", node(askInTurnOne));
    graph.addNode(
        "dig", makeDig(journal),
        [](const State& in) -> sg::Update<Dig> {
            return {sg::set(&Dig::digest, in.digest), sg::set(&Dig::place, placeOf(in))};
        },
        [](const Dig& inner) -> sg::Update<State> {
            std::string way;
            for (const auto& each : inner.way) way += each + " ";
            return {sg::set(&State::digest, inner.digest), sg::add(&State::total, inner.found),
                    sg::add(&State::log, "dug " + way)};
        });
    graph.addNode(
        keep_ns, makeKeep(journal),
        [](const State& in) -> sg::Update<Keep> { return {sg::set(&Keep::place, placeOf(in))}; },
        [](const Keep& inner) -> sg::Update<State> {
            return {sg::add(&State::log, "kept " + std::to_string(inner.kept.size()) + " " + inner.said),
                    sg::merge(&State::tallies, {{"visits", inner.visits}})};
        });
    graph.addNode("tell", node([&journal](const State& in, sg::Runtime& runtime) -> sg::Update<State> {
                      effect(runtime, journal, "tell");
                      return {sg::set(&State::turn, in.turn + 1), sg::set(&State::digest, mix(in.digest, "tell"))};
                  }));

    graph.addEdge(sg::START, "prepare");
    for (const char* name : {"w1", "w2", "w3", "w4"}) graph.addEdge("prepare", name);
    graph.addEdge({"w1", "w2", "w3", "w4"}, "gather");
    graph.addConditionalEdges("gather", pieces, {"piece"});
    graph.addEdge("piece", "reduce")
        .addEdge("reduce", "ask")
        .addEdge("ask", "dig")
        .addEdge("dig", keep_ns)
        .addEdge(keep_ns, "tell");
    graph.addConditionalEdges(
        "tell", [](const State& in) { return std::string(in.turn < turns_per_round ? "prepare" : "close"); },
        {"prepare", "close"});
    graph.addEdge("close", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

sg::Update<State> inputOf(int round) {
    return {sg::add(&State::inputs, "input " + std::to_string(round)), sg::set(&State::turn, 0),
            sg::set(&State::digest, mix("input", std::to_string(round)))};
}

sg::Value answerTo(const sg::Value& question) { return "answer to " + question.as<std::string>(); }

}  // namespace fault
