#include "src/graph/namespaces.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/graph/core.hpp"
#include "src/value/bytes.hpp"

namespace stategraph::engine {
namespace {

int digitOf(char c) noexcept { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0; }

}  // namespace

void appendNamespaceKey(std::string& ns, std::string_view key) {
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        if (c != '|' && c != '%' && byte >= 0x20 && byte != 0x7F) {
            ns += c;
        } else {
            ns += '%';
            detail::appendHex(ns, byte, "0123456789ABCDEF");
        }
    }
}

std::string namespaceKey(std::string_view escaped) {
    std::string key;
    for (std::size_t i = 0; i < escaped.size(); ++i) {
        if (escaped[i] == '%' && i + 2 < escaped.size()) {
            key += static_cast<char>(digitOf(escaped[i + 1]) * 16 + digitOf(escaped[i + 2]));
            i += 2;
        } else {
            key += escaped[i];
        }
    }
    return key;
}

bool isOfCall(std::string_view checkpoint_ns) noexcept {
    while (!checkpoint_ns.empty()) {
        const std::string_view segment = checkpoint_ns.substr(0, checkpoint_ns.find('|'));
        const std::size_t colon = segment.find(':');
        if (colon != std::string_view::npos && !segment.substr(colon).starts_with(":=") &&
            segment.find(':', colon + 1) != std::string_view::npos)
            return true;
        checkpoint_ns.remove_prefix(std::min(segment.size() + 1, checkpoint_ns.size()));
    }
    return false;
}

const detail::Core& resolveNamespace(const detail::Core& root, std::string_view checkpoint_ns) {
    const detail::Core* core = &root;
    std::string_view rest = checkpoint_ns;
    while (!rest.empty()) {
        const std::string_view segment = rest.substr(0, rest.find('|'));
        rest = segment.size() == rest.size() ? std::string_view() : rest.substr(segment.size() + 1);
        const std::string_view name = segment.substr(0, segment.find(':'));
        const Topology& topology = core->topology();
        const NodeIndex node = topology.findStored(name);
        if (isOfCall(segment)) {
            throw InvalidArgumentError("the namespace '" + std::string(checkpoint_ns) + "' is of a graph that node '" +
                                           std::string(name) +
                                           "' calls (Runtime::invoke), which is read with getState<T> and "
                                           "getStateHistory<T>, T being its state; "
                                           "edits and runs begin at checkpoints of the thread itself",
                                       {.checkpoint_ns = std::string(checkpoint_ns)});
        }
        if (node == no_node || !topology.nodes[node].subgraph) {
            const NodeIndex renamed = topology.find(name);
            throw InvalidArgumentError(
                "no subgraph has the namespace '" + std::string(checkpoint_ns) + "': there is no subgraph node '" +
                    std::string(name) + "'" +
                    (renamed == no_node ? "" : "; it is stored as '" + topology.nodes[renamed].stored_name + "'"),
                {.checkpoint_ns = std::string(checkpoint_ns)});
        }
        core = topology.nodes[node].subgraph->spec.core.get();
    }
    return *core;
}

}  // namespace stategraph::engine
