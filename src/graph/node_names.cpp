#include <stategraph/names.hpp>

namespace stategraph {

NodeNames::NodeNames(std::initializer_list<NodeName> names) : is_given_(true) {
    names_.reserve(names.size());
    for (const NodeName& name : names) names_.push_back(name.text());
}
NodeNames::NodeNames(std::vector<std::string> names) noexcept : names_(std::move(names)), is_given_(true) {}
NodeNames::NodeNames(const char* name) : NodeNames(std::string(name)) {}
NodeNames::NodeNames(std::string name) : is_given_(true) { names_.push_back(std::move(name)); }
NodeNames NodeNames::none() { return NodeNames(std::vector<std::string>()); }

PathMap::PathMap(std::initializer_list<PathEntry> entries) : entries_(entries), is_given_(true) {}
PathMap::PathMap(const std::vector<std::string>& names) : entries_(names.begin(), names.end()), is_given_(true) {}

}  // namespace stategraph
