#include "src/superstep/routes.hpp"

#include <memory>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/value.hpp>

#include "src/graph/names.hpp"

namespace stategraph::engine {
namespace {

[[noreturn]] void refuse(std::string_view from, std::string_view node, std::string_view why) {
    throw InvalidUpdateError("'" + std::string(from) + "' leads to '" + std::string(node) + "', " + std::string(why),
                             {.node = std::string(from)});
}

[[noreturn]] void refuseUnknown(const Topology& topology, std::string_view node, std::string_view from) {
    std::vector<std::string_view> names;
    for (const Node& each : topology.nodes) names.push_back(each.name);
    refuse(from, node, "and there is no such node; " + adviceOn(node, names));
}

inline NodeIndex require(const Topology& topology, std::string_view node, std::string_view from) {
    const NodeIndex found = topology.find(node);
    if (found == no_node) refuseUnknown(topology, node, from);
    if (found == topology.start) refuse(from, node, "which nothing can lead to");
    return found;
}

// Reads a node's payload from JSON, and checks it before anything of the superstep is stored.
detail::AnyValue readPayload(const detail::ValueOps& type, const detail::AnyValue& given, std::string_view node,
                             std::string_view from) {
    std::string cbor;
    Encoder out(cbor);
    given.encode(out);
    std::shared_ptr<void> place(type.allocate(), [&type](void* p) { type.deallocate(p); });
    try {
        detail::readStrictly(cbor, place.get(), type.decode);
    } catch (const WrongTypeError& error) {
        refuse(from, node, "with a Send whose payload that node does not take: " + error.message());
    }
    // The value is destroyed before its place.
    std::shared_ptr<const void> value(
        place.get(), [place, destroy = type.destroy](const void* p) { destroy(const_cast<void*>(p)); });
    return {type, std::move(value)};
}

}  // namespace

const detail::ValueOps* payloadOf(const Node& node) noexcept {
    return node.subgraph ? node.subgraph->spec.payload : node.action.input.payload;
}

void resolveNode(const Topology& topology, std::string_view node, std::string_view from, Routes& routes) {
    if (node == END) return;
    const NodeIndex found = require(topology, node, from);
    if (topology.nodes[found].payload_only) refuse(from, node, "which takes a payload: use a Send");
    routes.to.push_back(found);
}

void resolveSend(const Topology& topology, std::string_view node, const detail::AnyValue& payload,
                 std::string_view from, Routes& routes) {
    if (node == END) refuse(from, node, "with a Send, and the end takes none");
    const NodeIndex found = require(topology, node, from);
    const detail::ValueOps* type = payloadOf(topology.nodes[found]);
    if (type == nullptr) refuse(from, node, "with a Send, and its input cannot be stored: give it a Codec");
    if (type->type == payload.type()) {
        routes.sends.push_back({found, payload, {}});
    } else if (payload.isAnyShape()) {
        routes.sends.push_back({found, readPayload(*type, payload, node, from), {}});
    } else {
        refuse(from, node,
               "with a Send whose payload is not of the type that node takes; make it with the node's sg::NodeId, so "
               "that the compiler checks the type");
    }
}

void resolveTarget(const Topology& topology, const Target& target, std::string_view from, Routes& routes) {
    if (target.isSend()) {
        resolveSend(topology, target.node(), target.payload(), from, routes);
    } else {
        resolveNode(topology, target.node(), from, routes);
    }
}

}  // namespace stategraph::engine

namespace stategraph::detail {

struct RouteSink::Impl {
    const engine::Topology& topology;
    const engine::Branch& branch;
    std::string_view from;
    engine::Routes& routes;
};

void RouteSink::to(std::string_view target) {
    if (!impl_->branch.has_ends) {
        engine::resolveNode(impl_->topology, target, impl_->from, impl_->routes);
        return;
    }
    for (const auto& [label, node] : impl_->branch.ends) {
        if (label != target) continue;
        if (node != engine::no_node) impl_->routes.to.push_back(node);
        return;
    }
    std::vector<std::string_view> labels;
    for (const auto& [label, node] : impl_->branch.ends) labels.push_back(label);
    engine::refuse(impl_->from, target,
                   "which its router's ends do not have; they are " + engine::quotedList(labels) +
                       ": add it to them, or correct what the router returns");
}

void RouteSink::send(std::string_view node, const AnyValue& payload) {
    engine::resolveSend(impl_->topology, node, payload, impl_->from, impl_->routes);
}

}  // namespace stategraph::detail

namespace stategraph::engine {

void routeBranches(const Node& node, const Topology& topology, const void* state, Runtime& runtime, Routes& routes) {
    for (const Branch& branch : node.branches) {
        detail::RouteSink::Impl impl{topology, branch, node.name, routes};
        detail::RouteSink sink(impl);
        branch.router.call(branch.router.callable.get(), state, runtime, sink);
    }
}

}  // namespace stategraph::engine
