#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

// How the log knows joins and nodes.
namespace stategraph::engine {

/// Whether the edge is a join: it may have one source alone.
inline bool isJoin(const detail::EdgeSpec& edge) noexcept { return edge.join || edge.from.size() > 1; }

/// The sources of a join, each once, in the order given.
std::vector<std::string_view> distinctSources(const detail::EdgeSpec& join);

/// From nodes' names to those that the log has (NodeOptions::stored_as).
class StoredNames {
public:
    explicit StoredNames(const detail::GraphSpec& graph);
    std::string_view operator()(std::string_view name) const noexcept {
        const auto found = renamed_.find(name);
        return found == renamed_.end() ? name : found->second;
    }

private:
    std::unordered_map<std::string_view, std::string_view> renamed_;
};

/// "join:a+b:c", by which the log knows the join: of stored names.
std::string joinKey(const detail::EdgeSpec& join, const StoredNames& stored);

}  // namespace stategraph::engine
