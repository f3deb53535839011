#include "src/graph/join_names.hpp"

#include <set>

namespace stategraph::engine {

std::vector<std::string_view> distinctSources(const detail::EdgeSpec& join) {
    std::vector<std::string_view> sources;
    std::set<std::string_view> seen;
    for (const auto& source : join.from) {
        if (seen.insert(source).second) sources.push_back(source);
    }
    return sources;
}

StoredNames::StoredNames(const detail::GraphSpec& graph) {
    for (const auto& node : graph.nodes) {
        if (!node.stored_as.empty()) renamed_.emplace(node.name, node.stored_as);
    }
}

std::string joinKey(const detail::EdgeSpec& join, const StoredNames& stored) {
    std::string key = "join:";
    const char* separator = "";
    for (const auto source : distinctSources(join)) {
        key += separator;
        key += stored(source);
        separator = "+";
    }
    key += ':';
    key += stored(join.to);
    return key;
}

}  // namespace stategraph::engine
