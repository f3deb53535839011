#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/stream_hub.hpp>

#include "tests/support/graphs.hpp"

// Graphs with graphs inside, and what a reader of their logs receives.
namespace inner_events {

using namespace graphs;
using namespace std::chrono_literals;
using sg::StreamMode;

inline const sg::StreamModes durable_modes = {StreamMode::values, StreamMode::updates, StreamMode::checkpoints};
using Saver = std::shared_ptr<sg::BaseCheckpointSaver>;

/// "node:task id|node" without ids.
inline std::string place(const std::vector<std::string>& ns) {
    std::string text;
    for (const std::string& segment : ns) {
        const std::size_t colon = segment.find(':');
        const bool has_key = colon != std::string::npos && segment.compare(colon, 2, ":=") == 0;
        text += (has_key ? segment : segment.substr(0, colon)) + "|";
    }
    return text;
}

inline std::string brief(const sg::StreamEvent& event) {
    return place(event.ns) + toString(event.mode) + " " + event.node + " " + event.data.toJson();
}

struct Got {
    std::string what;
    std::string whole;
    sg::StreamPosition position;
    bool durable;
    bool inside;
};

inline std::vector<Got> take(sg::Subscription& subscription) {
    std::vector<Got> all;
    while (const auto event = subscription.next(0ms)) {
        all.push_back({brief(*event), std::to_string(event->step) + toJson(static_cast<const sg::StreamEvent&>(*event)),
                       event->position, event->durable, !event->ns.empty()});
    }
    return all;
}
inline Strings texts(const std::vector<Got>& all) {
    Strings what;
    for (const Got& each : all) what.push_back(each.what);
    return what;
}
inline Strings wholes(const std::vector<Got>& all) {
    Strings what;
    for (const Got& each : all) what.push_back(each.whole);
    return what;
}
inline std::vector<Got> only(const std::vector<Got>& all, const std::function<bool(const Got&)>& is_one) {
    std::vector<Got> some;
    for (const Got& each : all) {
        if (is_one(each)) some.push_back(each);
    }
    return some;
}

template <class Graphs>
std::vector<Got> late(const Graphs& graphs, sg::StreamModes modes = StreamMode::updates,
                      const std::optional<sg::StreamPosition>& from = sg::StreamPosition()) {
    sg::StreamHub hub(graphs);
    auto subscription = hub.subscribe("t", {.from = from, .modes = modes, .subgraphs = true, .until = sg::Until::idle});
    return take(subscription);
}

inline Graph chain(const Strings& names) {
    Graph graph;
    std::string before = sg::START;
    for (const std::string& name : names) {
        graph.addNode(name, appends(name)).addEdge(before, name);
        before = name;
    }
    return graph;
}

inline Update none(const State&) { return {}; }
inline Update gives(const State& inner) { return {sg::add(&State::bar, "=" + std::to_string(inner.bar.size()))}; }

/// Two subgraphs at once next to a node, one of them with one inside, then an end.
inline App nested(const Saver& saver) {
    Graph middle = chain({"m1"});
    middle.addNode("leaf", chain({"l1", "l2"}).compile(), none, gives).addEdge("m1", "leaf");
    middle.addNode("m2", appends("m2")).addEdge("leaf", "m2");
    Graph graph;
    graph.addNode("b", middle.compile(), none, gives).addNode("c", chain({"c1"}).compile(), none, gives);
    graph.addNode("a", appends("a")).addNode("end", appends("end"));
    graph.addEdge(sg::START, "a").addEdge(sg::START, "b").addEdge(sg::START, "c").addEdge({"a", "b", "c"}, "end");
    return graph.compile({.checkpointer = saver});
}

/// A subgraph that asks in its second node, next to another one.
inline App asking(const Saver& saver) {
    Graph inner = chain({"before"});
    inner.addNode("ask", [](const State&, sg::Runtime& runtime) -> Update {
        return {sg::add(&State::bar, sg::interrupt<std::string>(runtime, "name?"))};
    });
    inner.addNode("after", appends("after")).addEdge("before", "ask").addEdge("ask", "after");
    Graph graph;
    graph.addNode("sub", inner.compile(), none, gives).addNode("other", chain({"o1"}).compile(), none, gives);
    graph.addEdge(sg::START, "sub").addEdge(sg::START, "other");
    return graph.compile({.checkpointer = saver});
}

inline const Strings updates_of_asking = {
    R"(other|updates o1 {"o1":{"bar":["o1"]}})",  R"(sub|updates before {"before":{"bar":["before"]}})",
    R"(sub|updates ask {"ask":{"bar":["Ada"]}})", R"(sub|updates after {"after":{"bar":["after"]}})",
    R"(updates other {"other":{"bar":["=1"]}})",  R"(updates sub {"sub":{"bar":["=3"]}})"};

}  // namespace inner_events
