#pragma once
#include <deque>
#include <memory>

#include <stategraph/cache.hpp>

#include "tests/conformance/actions.hpp"

namespace conformance {

using App = sg::CompiledGraph<sg::JsonState>;

/// Builds the graph of a scenario. It refers to the scenario and to itself: keep both while the graph is used.
class GraphBuilder {
public:
    explicit GraphBuilder(World& world) : world_(world) {}
    /// Throws InvalidGraphError.
    App build(const json::object& graph, std::shared_ptr<sg::BaseCheckpointSaver> saver);
    /// Return the place and the input of the outermost graph.
    const GraphPlace& root() const { return places_.front(); }
    const std::set<std::string>& input() const { return input_; }

private:
    App buildAt(const json::object& graph, GraphPlace& place, sg::Checkpointer checkpointer);
    GraphPlace& addPlace(const json::object& graph, std::string ns, const GraphPlace* parent);
    void addNode(sg::StateGraph<sg::JsonState>& graph, const json::object& node, GraphPlace& place);

    World& world_;
    std::deque<GraphPlace> places_;
    std::set<std::string> input_;
    std::shared_ptr<sg::BaseCache> cache_ = std::make_shared<sg::MemoryCache>();  // of all graphs of the scenario
};

}  // namespace conformance
