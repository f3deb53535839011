#pragma once
/// Lists of node names: one pair of braces, `{"a", "b"}`, that contains texts and NodeIds.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/opt_in.hpp>

namespace stategraph {

/// The name of a node with the type of the payload it takes, so that both ends of a Send are checked by the compiler:
///
///     constexpr sg::NodeId<Item> work{"work"};
///     graph.addNode(work, [](const Item& item) { … });      // takes an Item
///     return sg::Command<State>{.go_to = {work(Item{…})}};  // sends one
template <class Payload>
struct NodeId;

/// One name in a list of names.
class NodeName {
public:
    NodeName(const char* name) : text_(name) {}
    NodeName(std::string name) noexcept : text_(std::move(name)) {}
    NodeName(std::string_view name) : text_(name) {}
    template <class Payload>
    NodeName(const NodeId<Payload>& id) : text_(id.name) {}
    /// Never called: two texts in their own braces would become the two ends of one text.
    template <class First, class Second, class... More>
    NodeName(First&&, Second&&, More&&...) {
        static_assert(detail::never<First>, "stategraph: a list of names has one pair of braces: {\"a\", \"b\"}");
    }

    const std::string& text() const& noexcept { return text_; }
    std::string text() && noexcept { return std::move(text_); }

private:
    std::string text_;
};

/// Names of nodes; "*" means all. A list that was not given differs from an empty list, which is `NodeNames::none()`.
class NodeNames {
public:
    NodeNames() = default;
    NodeNames(std::initializer_list<NodeName> names);
    NodeNames(std::vector<std::string> names) noexcept;
    NodeNames(const char* name);
    NodeNames(std::string name);
    template <class Payload>
    NodeNames(const NodeId<Payload>& id) : NodeNames(id.name) {}
    /// An empty list that counts as given.
    static NodeNames none();

    bool isGiven() const noexcept { return is_given_; }
    const std::vector<std::string>& names() const noexcept { return names_; }

private:
    std::vector<std::string> names_;
    bool is_given_ = false;
};

/// One way that a router may take: the label that it returns, and the node.
struct PathEntry {
    PathEntry(const char* name) : label(name), node(name) {}
    PathEntry(std::string name) : label(name), node(std::move(name)) {}
    template <class Payload>
    PathEntry(const NodeId<Payload>& id) : label(id.name), node(id.name) {}
    PathEntry(std::string path_label, NodeName leads_to)
        : label(std::move(path_label)), node(std::move(leads_to).text()) {}
    std::string label;
    std::string node;
};

/// The targets of a router: {"a", "b"}, or with labels {{"yes", "a"}, {"no", "b"}}. Not given: any node.
class PathMap {
public:
    PathMap() = default;
    PathMap(std::initializer_list<PathEntry> entries);
    PathMap(const std::vector<std::string>& names);
    /// From a map of labels to nodes.
    template <class M>
        requires requires { typename M::mapped_type; }
    PathMap(const M& nodes_by_label) : is_given_(true) {
        for (const auto& [label, node] : nodes_by_label) entries_.emplace_back(label, node);
    }

    bool isGiven() const noexcept { return is_given_; }
    const std::vector<PathEntry>& entries() const noexcept { return entries_; }

private:
    std::vector<PathEntry> entries_;
    bool is_given_ = false;
};

}  // namespace stategraph
