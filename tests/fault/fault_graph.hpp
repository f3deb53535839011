#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/fault/trip.hpp"
#include "tests/support/fixed_ids.hpp"

// The graph whose parts are made to fail: a fan-out of three with a join, two Sends, a subgraph, and an interrupt at
// the same time as a task that does not wait. Every channel but the last says exactly what ran, so a task that was lost
// or ran twice is noticed.
namespace fault {

namespace sg = stategraph;
using Strings = std::vector<std::string>;

/// A user's type whose codec may fail.
struct Note {
    std::string text = {};
    bool operator==(const Note&) const = default;
};

struct State {
    Strings list = {};
    long sum = 0;
    std::map<std::string, std::string> seen = {};
    std::string longest = {};
    Note note = {};
    bool operator==(const State&) const = default;

    static constexpr auto channels();
};

struct Inner {
    Strings list = {};
    Note note = {};
    static constexpr auto channels();
};

struct Longer {
    std::string operator()(const std::string& a, const std::string& b) const {
        reducers.call("a reducer");
        return b.size() > a.size() ? b : a;
    }
};

}  // namespace fault

template <>
struct stategraph::Codec<fault::Note> {
    static void encode(Encoder& encoder, const fault::Note& note) {
        fault::encoders.call("an encoder");
        encoder.text(note.text);
    }
    static void decode(Decoder& decoder, fault::Note& note) {
        fault::decoders.call("a decoder");
        note.text.assign(decoder.text());
    }
};

namespace fault {

constexpr auto State::channels() {
    return sg::channels(sg::channel("list", &State::list, sg::append), sg::channel("sum", &State::sum, sg::sum),
                        sg::channel("seen", &State::seen, sg::merge),
                        sg::channel("longest", &State::longest, sg::reduce("longer", Longer())),
                        sg::channel("note", &State::note));
}
constexpr auto Inner::channels() {
    return sg::channels(sg::channel("list", &Inner::list, sg::append), sg::channel("note", &Inner::note));
}

using App = sg::CompiledGraph<State>;
using Update = sg::Update<State>;

/// Counts how often each node was called, and how often it returned. Safe from any thread.
class Runs {
public:
    void began(const std::string& task) { add(began_, task); }
    void returned(const std::string& task) { add(returned_, task); }
    std::map<std::string, int> returned() const {
        const std::lock_guard lock(mutex_);
        return returned_;
    }
    std::map<std::string, int> began() const {
        const std::lock_guard lock(mutex_);
        return began_;
    }

private:
    void add(std::map<std::string, int>& to, const std::string& task) {
        const std::lock_guard lock(mutex_);
        ++to[task];
    }
    mutable std::mutex mutex_;
    std::map<std::string, int> began_;
    std::map<std::string, int> returned_;
};

inline Update does(const std::string& task, long number) {
    return {sg::add(&State::list, task), sg::add(&State::sum, number),
            sg::merge(&State::seen, {{task, "a value that is not short"}}), sg::add(&State::longest, task)};
}

/// Returns a node's body that counts its calls, and fails if it is its turn.
template <class F>
auto counted(Runs& runs, const std::string& task, F body) {
    runs.began(task);
    nodes.call("node " + task);
    auto update = body();
    runs.returned(task);
    return update;
}

inline auto node(Runs& runs, std::string name, long number) {
    return [&runs, name, number](const State&) -> Update {
        return counted(runs, name, [&] { return does(name, number); });
    };
}

inline sg::CompiledGraph<Inner> innerGraph(Runs& runs) {
    const auto step = [&runs](const std::string& name) {
        return [&runs, name](const Inner&) -> sg::Update<Inner> {
            return counted(runs, name, [&] {
                return sg::Update<Inner>{sg::add(&Inner::list, name), sg::set(&Inner::note, Note{name})};
            });
        };
    };
    sg::StateGraph<Inner> graph;
    graph.addNode("in1", step("in1")).addNode("in3", step("in3"));
    graph.addNode("in2", [&runs](const Inner&) -> sg::Update<Inner> {
        return counted(runs, "in2", [] { return sg::Update<Inner>{sg::add(&Inner::list, "in2")}; });
    });
    graph.addEdge(sg::START, "in1").addEdge("in1", "in2").addEdge("in1", "in3");
    return graph.compile();
}

/// START -> begin -> {left, middle, right} => join -> work, work -> after -> {sub, beside} => ask -> last; `calm` runs
/// at the same time as ask.
inline App faultGraph(Runs& runs, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<State> graph;
    graph.addNode("begin", [&runs](const State&) -> Update {
        return counted(runs, "begin", [] {
            Update update = does("begin", 1);
            update.with(sg::set(&State::note, Note{"a note of begin"}));
            return update;
        });
    });
    for (const char* name : {"left", "right"}) graph.addNode(name, node(runs, name, 10));
    graph.addNode("middle", [&runs](const State& state) -> Update {
        return counted(runs, "middle", [&] {
            Update update = does("middle", 10);
            update.with(sg::set(&State::note, Note{state.note.text + ", and of middle"}));
            return update;
        });
    });
    graph.addNode("join", node(runs, "join", 100));
    graph.addNode("work", [&runs](const Note& item) -> Update {
        return counted(runs, "work " + item.text, [&] { return does("work " + item.text, 1000); });
    });
    graph.addNode("after", node(runs, "after", 2));
    graph.addNode(
        "sub", innerGraph(runs),
        [](const State& state) { return sg::Update<Inner>{sg::set(&Inner::note, state.note)}; },
        [](const Inner& inner) -> Update {
            return {sg::add(&State::list, inner.list),
                    sg::add(&State::longest, "from the subgraph: " + inner.note.text)};
        });
    graph.addNode("beside", node(runs, "beside", 3));
    graph.addNode("ask", [&runs](const State&, sg::Runtime& runtime) -> Update {
        return counted(runs, "ask", [&] { return does("ask " + sg::interrupt<std::string>(runtime, "what?"), 5); });
    });
    graph.addNode("calm", node(runs, "calm", 7));
    graph.addNode("last", node(runs, "last", 9));

    graph.addEdge(sg::START, "begin");
    graph.addConditionalEdges("begin",
                              [](const State&) {
                                  routers.call("the router of begin");
                                  return Strings{"left", "middle", "right"};
                              },
                              {"left", "middle", "right"});
    graph.addEdge({"left", "middle", "right"}, "join");
    graph.addConditionalEdges("join",
                              [](const State&) {
                                  routers.call("the router of join");
                                  return std::vector<sg::Send>{{"work", Note{"one"}}, {"work", Note{"two"}}};
                              },
                              {"work"});
    graph.addEdge("work", "after").addEdge("after", "sub").addEdge("after", "beside");
    graph.addEdge({"sub", "beside"}, "ask").addEdge({"sub", "beside"}, "calm");
    graph.addConditionalEdges("calm",
                              [](const State& state) -> std::string {
                                  routers.call("the router of calm");
                                  return state.sum > 0 ? "last" : sg::END;
                              },
                              {"last", sg::END});
    graph.addEdge("ask", "last");
    return graph.compile({.checkpointer = saver, .ids = FixedIds::make()});
}

}  // namespace fault
