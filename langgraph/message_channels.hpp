#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/graph_description.hpp>
#include <stategraph/langgraph/graph.hpp>

#include "langgraph/wire_message.hpp"

namespace stategraph::langgraph {

/// Which channels of a graph, and of the graphs inside it, hold messages. Immutable.
class MessageChannels {
public:
    explicit MessageChannels(const Graph& graph);

    /// Makes the messages of a map of channels such as clients read them. `ns` is the place of the graph whose channels
    /// they are: the names of nodes, with or without ":TASK".
    void show(boost::json::value& values, std::span<const std::string> ns = {}) const;
    /// Reads the messages of a client's update. Errors: InvalidRequest.
    void read(boost::json::object& values, std::span<const std::string> ns = {}) const;
    /// Whether a channel of the graph itself holds messages.
    bool has(std::string_view channel) const;

    const GraphDescription& description() const noexcept { return graphs_.front(); }
    const std::vector<GraphDescription>& descriptions() const noexcept { return graphs_; }
    /// The graph at a place; null if it is not known, as one that a node calls.
    const GraphDescription* at(std::span<const std::string> ns) const noexcept;

private:
    std::vector<GraphDescription> graphs_;                   // the graph itself comes first
    std::map<std::string, MessageForm, std::less<>> forms_;  // of its channels
};

/// Splits a namespace, "node:task|node:task", into its places.
std::vector<std::string> placesOf(std::string_view ns);

}  // namespace stategraph::langgraph
