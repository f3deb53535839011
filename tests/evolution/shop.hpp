#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <stategraph/stategraph.hpp>

#include "tests/support/history_graphs.hpp"

// A program in many versions, and threads that its first version leaves in flight, each in another situation.
namespace shop {

namespace sg = stategraph;
using history::Words;
using SharedSaver = std::shared_ptr<sg::BaseCheckpointSaver>;

/// The state of the first version. `note` is a channel that others lack, rename, or give another type.
struct Old {
    Words v = {};
    std::string note = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("v", &Old::v, sg::append), sg::channel("note", &Old::note));
    }
};
struct NoNote {
    Words v = {};
    static constexpr auto channels() { return sg::channels(sg::channel("v", &NoNote::v, sg::append)); }
};
struct IntNote {
    Words v = {};
    int note = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("v", &IntNote::v, sg::append), sg::channel("note", &IntNote::note));
    }
};
struct Remark {
    Words v = {};
    std::string note = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("v", &Remark::v, sg::append),
                            sg::channel("remark", &Remark::note, sg::formerly("note")));
    }
};
inline Words concat(const Words& a, const Words& b) {
    Words both = a;
    both.insert(both.end(), b.begin(), b.end());
    return both;
}
inline std::string longer(const std::string& a, const std::string& b) { return a.size() > b.size() ? a : b; }
/// Has another reducer on either channel, and one more channel.
struct Reduced {
    Words v = {};
    std::string note = {};
    std::map<std::string, int> added = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("v", &Reduced::v, sg::reduce("concat", concat)),
                            sg::channel("note", &Reduced::note, sg::reduce("longer", longer)),
                            sg::channel("added", &Reduced::added, sg::merge));
    }
};

struct Inner {
    Words w = {};
    static constexpr auto channels() { return sg::channels(sg::channel("w", &Inner::w, sg::append)); }
};
struct IntInner {
    int w = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("w", &IntInner::w, sg::sum)); }
};

/// The differences between a version of the program and the first.
struct Version {
    std::set<std::string> without = {};               // nodes, of subgraphs too
    std::map<std::string, std::string> renamed = {};  // from the first version's name
    bool says_so = true;                              // with stored_as
    bool labels = false;                              // metadata, retry policies
    bool more_nodes = false;
};

template <class S>
sg::Update<S> said(const std::string& word) {
    return {sg::add(&S::v, Words{word})};
}

template <class S, class InnerS = Inner, class Payload = std::string>
class Program {
public:
    Program(SharedSaver saver, Version version) : saver_(std::move(saver)), version_(std::move(version)) {}

    sg::CompiledGraph<S> graph() {
        sg::StateGraph<S> graph;
        for (const std::string name : {"one", "two", "after", "left", "both", "late", "long", "split"}) {
            add(graph, name, [name](const S&) { return said<S>(name); });
        }
        add(graph, "fin", [after = now("after")](const S&) -> sg::Command<S> {
            sg::Command<S> command{.update = said<S>("fin"), .go_to = {after}};
            if constexpr (std::is_same_v<S, Old>) command.update.with(sg::set(&S::note, "noted"));
            return command;
        });
        add(graph, "sends", [work = now("work")](const S&) -> sg::Command<S> {
            return {.update = said<S>("sends"), .go_to = {sg::Send(work, Payload())}};
        });
        add(graph, "ask",
            [](const S&, sg::Runtime& runtime) { return said<S>(sg::interrupt<std::string>(runtime, "?")); });
        add(graph, "work", [](const Payload&) { return said<S>("work"); });
        addSub(graph, "sub", {});
        addSub(graph, "mem", sg::PER_THREAD);
        if (version_.more_nodes)
            graph.addNode("aaa", [](const S&) { return said<S>("aaa"); }).addNode("zzz", [](const S&) {
                return said<S>("zzz");
            });
        graph.addConditionalEdges(sg::START, [this_ = *this](const S& state) {
            Words to;
            for (const auto& name : this_.entries(state.v.empty() ? "" : state.v.front()))
                to.push_back(this_.now(name));
            return to;
        });
        edge(graph, "one", "two");
        edge(graph, "long", "two");
        edge(graph, "left", "late");
        graph.addConditionalEdges(now("split"), [work = now("work")](const S&) { return sg::Send(work, Payload()); });
        if (has("left") && has("two") && has("both")) graph.addEdge({now("left"), now("two")}, now("both"));
        return graph.compile({.checkpointer = saver_});
    }

    /// Leaves a thread in each situation, with the situation as its name.
    void leaveThreads() {
        const auto app = graph();
        for (const auto& [thread, stop] : std::map<std::string, Words>{{"command", {}},
                                                                       {"deferred", {"two"}},
                                                                       {"done", {}},
                                                                       {"due", {"two"}},
                                                                       {"inner", {}},
                                                                       {"join", {"two"}},
                                                                       {"memory", {}},
                                                                       {"question", {}},
                                                                       {"send", {"work"}},
                                                                       {"sends later", {}},
                                                                       {"sibling", {}}}) {
            app.invoke(said<S>(thread), {.thread_id = thread, .interrupt_before = {stop}});
        }
        sg::Update<S> update = said<S>("commanded");
        if constexpr (std::is_same_v<S, Old>) update.with(sg::set(&S::note, "commanded"));
        app.invoke(sg::Command<S>{.update = update}, {.thread_id = "command"});  // joins the superstep that waits
    }

    std::string now(const std::string& name) const {
        const auto renamed = version_.renamed.find(name);
        return renamed == version_.renamed.end() ? name : renamed->second;
    }

private:
    bool has(const std::string& name) const { return version_.without.count(name) == 0; }

    Words entries(const std::string& situation) const {
        if (situation == "sibling") return {"fin", "ask"};
        if (situation == "sends later") return {"sends", "ask"};
        if (situation == "question" || situation == "command") return {"ask"};
        if (situation == "send") return {"split"};
        if (situation == "join" || situation == "deferred") return {"left", "long"};
        if (situation == "inner") return {"sub"};
        if (situation == "memory") return {"mem"};
        return {"one"};
    }

    sg::NodeOptions options(const std::string& name) const {
        sg::NodeOptions options{.defer = name == "late"};
        if (version_.says_so && now(name) != name) options.stored_as = name;
        if (version_.labels) {
            options.metadata = sg::Value("a label");
            options.retry.max_attempts = 3;
        }
        return options;
    }

    template <class T, class F>
    void add(sg::StateGraph<T>& graph, const std::string& name, F action) {
        if (has(name)) graph.addNode(now(name), std::move(action), options(name));
    }
    template <class T>
    void edge(sg::StateGraph<T>& graph, const std::string& from, const std::string& to) {
        if (has(from) && has(to)) graph.addEdge(now(from), now(to));
    }

    // START -> first -> second, which asks.
    void addSub(sg::StateGraph<S>& outer, const std::string& name, const sg::Checkpointer& checkpointer) {
        if (!has(name)) return;
        sg::StateGraph<InnerS> graph;
        add(graph, "first", [](const InnerS&) -> sg::Update<InnerS> {
            if constexpr (std::is_same_v<InnerS, Inner>) {
                return {sg::add(&Inner::w, "first")};
            } else {
                return {sg::add(&InnerS::w, 1)};
            }
        });
        add(graph, "second", [](const InnerS&, sg::Runtime& runtime) -> sg::Update<InnerS> {
            sg::interrupt<std::string>(runtime, "?");
            return {};
        });
        if (has("first")) edge(graph, "first", "second");
        graph.addEdge(sg::START, has("first") ? now("first") : now("second"));
        if (!has("second"))
            graph.addNode("third", [](const InnerS&) -> sg::Update<InnerS> { return {}; }).addEdge("first", "third");
        outer.addNode(
            now(name), graph.compile({.checkpointer = checkpointer}), [](const S&) -> sg::Update<InnerS> { return {}; },
            [name](const InnerS&) { return said<S>(name); }, options(name));
    }

    SharedSaver saver_;
    Version version_;
};

}  // namespace shop
