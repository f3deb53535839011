#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <stategraph/detail/graph_builder.hpp>

// The names by which the log knows joins and nodes.
namespace stategraph::engine {

/// Returns whether the edge is a join, which may have a single source.
inline bool isJoin(const detail::EdgeSpec& edge) noexcept { return edge.join || edge.from.size() > 1; }

/// Returns the sources of a join, each once, in the order given.
std::vector<std::string_view> distinctSources(const detail::EdgeSpec& join);

/// Maps the names of nodes to those in the log (NodeOptions::stored_as).
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

/// Returns the name by which the log knows the join, such as "join:a+b:c". It consists of stored names.
std::string joinKey(const detail::EdgeSpec& join, const StoredNames& stored);

}  // namespace stategraph::engine
