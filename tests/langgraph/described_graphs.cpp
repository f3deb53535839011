#include "tests/langgraph/described_graphs.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include <stategraph/graph.hpp>

namespace described {
namespace {

sg::JsonReducer reducerOf(const std::string& channel, const std::string& kind) {
    if (kind == "messages") return sg::JsonReducer::messages();
    if (kind == "sum") return sg::JsonReducer::sum();
    if (kind.starts_with("append:")) return sg::JsonReducer::append();
    if (kind.starts_with("last:")) return sg::JsonReducer::lastValue();
    throw std::runtime_error("the channel " + channel + " has an unknown kind: " + kind);
}

sg::JsonSchema schemaOf(const json::value& graph) {
    sg::JsonSchema schema;
    for (const auto& channel : get(graph, "channels").as_object()) {
        const std::string name(channel.key());
        schema.channel(name, reducerOf(name, text(channel.value())));
    }
    return schema;
}

std::vector<std::string> names(const json::value& list) {
    std::vector<std::string> all;
    for (const json::value& name : list.as_array()) all.push_back(text(name));
    return all;
}

void addNode(sg::StateGraph<sg::JsonState>& graph, const std::string& name, const json::value& body, int slower) {
    if (const json::value& inner = get(body, "graph"); !inner.is_null()) {
        graph.addNode(name, build(inner, {.slower = slower}));  // in the saver and the store of the graph around it
        return;
    }
    sg::NodeOptions options;
    if (const json::value& ends = get(body, "ends"); !ends.is_null()) options.ends = names(ends);
    const json::value steps = body.is_array() ? body : get(body, "steps");
    checkSteps(steps, "the node " + name);
    graph.addNode(
        name,
        [steps, slower](const json::value& state, sg::Runtime& runtime) {
            return perform(steps, state, slower, runtime);
        },
        options);
}

void addRouter(sg::StateGraph<sg::JsonState>& graph, const std::string& after, const json::value& router) {
    const auto send_each = [channel = text(get(router, "send_each")), to = text(get(router, "to")),
                            as = text(get(router, "as"))](const json::value& state) {
        std::vector<sg::Target> targets;
        if (const json::array* items = get(state, channel).if_array()) {
            for (const json::value& item : *items) targets.push_back(sg::Send(to, json::value{{as, item}}));
        }
        return targets;
    };
    graph.addConditionalEdges(after, send_each, sg::PathMap(names(get(router, "ends"))));
}

}  // namespace

App build(const json::value& description, const Surroundings& surroundings) {
    sg::StateGraph<sg::JsonState> graph(schemaOf(description));
    for (const auto& node : get(description, "nodes").as_object())
        addNode(graph, std::string(node.key()), node.value(), surroundings.slower);
    for (const json::value& edge : get(description, "edges").as_array()) {
        const json::value& from = edge.at(0);
        if (from.is_array()) {
            graph.addEdge(names(from), text(edge.at(1)));
        } else {
            graph.addEdge(text(from), text(edge.at(1)));
        }
    }
    if (const json::object* routers = get(description, "routers").if_object()) {
        for (const auto& router : *routers) addRouter(graph, std::string(router.key()), router.value());
    }
    sg::CompileOptions options;
    if (surroundings.saver) options.checkpointer = surroundings.saver;
    options.store = surroundings.store;
    return graph.compile(options);
}

std::map<std::string, App> buildAll(const json::object& graphs, const Surroundings& surroundings) {
    std::map<std::string, App> built;
    for (const auto& graph : graphs) built.emplace(std::string(graph.key()), build(graph.value(), surroundings));
    return built;
}

}  // namespace described
