#include "tests/conformance/graph.hpp"

#include <chrono>
#include <stdexcept>

using namespace std::chrono_literals;

namespace conformance {
namespace {

sg::JsonReducer reducerOf(const std::string& kind) {
    if (kind == "last_value") return sg::JsonReducer::lastValue();
    if (kind == "append") return sg::JsonReducer::append();
    if (kind == "sum") return sg::JsonReducer::sum();
    if (kind == "max") return sg::JsonReducer::max();
    if (kind == "merge") return sg::JsonReducer::merge();
    throw std::runtime_error("no such kind of channel: " + kind);
}

sg::JsonSchema schemaOf(const json::object& graph) {
    sg::JsonSchema schema;
    for (const auto& channel : get(graph, "channels").as_object()) {
        schema.channel(std::string(channel.key()), reducerOf(text(get(channel.value().as_object(), "kind"))));
    }
    if (graph.contains("input")) schema.input(names(get(graph, "input")));
    if (graph.contains("output")) schema.output(names(get(graph, "output")));
    return schema;
}

sg::NodeOptions optionsOf(const json::object& node) {
    sg::NodeOptions options;
    options.defer = isTrue(get(node, "defer"));
    if (const json::value* retry = node.if_contains("retry")) {
        const json::value& attempts = get(retry->as_object(), "max_attempts");
        options.retry = {.max_attempts = attempts.is_null() ? 1 : attempts.to_number<int>(),
                         .initial_interval = 1ms,
                         .backoff_factor = 1,
                         .jitter = false};
    }
    if (isTrue(get(node, "cache"))) options.cache = sg::CachePolicy{};
    if (node.contains("ends")) options.ends = names(get(node, "ends"));
    return options;
}

std::vector<sg::Target> choose(const json::object& branch, const json::value& state) {
    const Environment environment{.input = &state};
    std::vector<sg::Target> targets;
    for (const json::value& each_case : get(branch, "choose").as_array()) {
        const json::object& option = each_case.as_object();
        if (option.contains("when") && !isTrue(evaluate(get(option, "when"), environment))) continue;
        if (const json::value* each = option.if_contains("each")) {
            const json::object& how = each->as_object();
            const json::value over = evaluate(get(how, "over"), environment);
            if (const json::array* items = over.if_array()) {
                for (const json::value& item : *items) {
                    targets.push_back(sg::Send(text(get(how, "send")), json::value{{text(get(how, "as")), item}}));
                }
            }
        } else {
            for (const json::value& target : get(option, "to").as_array())
                targets.push_back(evaluateTarget(target, environment));
        }
        break;
    }
    return targets;
}

void addEdges(sg::StateGraph<sg::JsonState>& graph, const json::object& spec) {
    if (const json::value& edges = get(spec, "edges"); edges.is_array()) {
        for (const json::value& edge : edges.get_array()) {
            const json::value& from = edge.at(0);
            if (from.is_array()) {
                graph.addEdge(names(from), text(edge.at(1)));
            } else {
                graph.addEdge(text(from), text(edge.at(1)));
            }
        }
    }
    if (const json::value& branches = get(spec, "branches"); branches.is_array()) {
        for (const json::value& each : branches.get_array()) {
            const json::object& branch = each.as_object();
            sg::PathMap ends;
            if (branch.contains("ends")) ends = names(get(branch, "ends"));
            graph.addConditionalEdges(
                text(get(branch, "from")), [&branch](const json::value& state) { return choose(branch, state); },
                std::move(ends));
        }
    }
}

}  // namespace

App GraphBuilder::build(const json::object& graph, std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    GraphPlace& place = addPlace(graph, "", nullptr);
    input_ = place.channels;
    if (graph.contains("input")) {
        const auto accepted = names(get(graph, "input"));
        input_ = {accepted.begin(), accepted.end()};
    }
    return buildAt(graph, place, saver ? sg::Checkpointer(std::move(saver)) : sg::Checkpointer());
}

GraphPlace& GraphBuilder::addPlace(const json::object& graph, std::string ns, const GraphPlace* parent) {
    GraphPlace& place = places_.emplace_back(GraphPlace{std::move(ns), {}, parent});
    for (const auto& channel : get(graph, "channels").as_object()) place.channels.emplace(channel.key());
    return place;
}

App GraphBuilder::buildAt(const json::object& spec, GraphPlace& place, sg::Checkpointer checkpointer) {
    sg::StateGraph<sg::JsonState> graph(schemaOf(spec));
    for (const json::value& node : get(spec, "nodes").as_array()) addNode(graph, node.as_object(), place);
    addEdges(graph, spec);
    return graph.compile({.checkpointer = std::move(checkpointer),
                          .interrupt_before = names(get(spec, "interrupt_before")),
                          .interrupt_after = names(get(spec, "interrupt_after")),
                          .cache = cache_});
}

void GraphBuilder::addNode(sg::StateGraph<sg::JsonState>& graph, const json::object& node, GraphPlace& place) {
    const std::string name = text(get(node, "name"));
    const sg::NodeOptions options = optionsOf(node);
    if (const json::value* nested = node.if_contains("subgraph")) {
        const json::object& inner = nested->as_object();
        GraphPlace& inside = addPlace(inner, place.ns.empty() ? name : place.ns + "|" + name, &place);
        const json::value& checkpointer = get(inner, "checkpointer");
        const sg::Checkpointer kind = !checkpointer.is_bool()   ? sg::Checkpointer()
                                      : checkpointer.get_bool() ? sg::PER_THREAD
                                                                : sg::NO_CHECKPOINTER;
        graph.addNode(name, buildAt(inner, inside, kind), options);
        return;
    }
    graph.addNode(
        name,
        [this, &node, &place](const json::value& input, sg::Runtime& runtime) {
            return NodeCall(place, world_, input, runtime).perform(get(node, "actions"));
        },
        options);
}

}  // namespace conformance
