#include "src/graph/namespaces.hpp"

#include <stategraph/error.hpp>

#include "src/graph/core.hpp"

namespace stategraph::engine {

const detail::Core& resolveNamespace(const detail::Core& root, std::string_view checkpoint_ns) {
    const detail::Core* core = &root;
    std::string_view rest = checkpoint_ns;
    while (!rest.empty()) {
        const std::string_view segment = rest.substr(0, rest.find('|'));
        rest = segment.size() == rest.size() ? std::string_view() : rest.substr(segment.size() + 1);
        const std::string_view name = segment.substr(0, segment.find(':'));
        const Topology& topology = core->topology();
        const NodeIndex node = topology.findStored(name);
        if (node == no_node || !topology.nodes[node].subgraph) {
            const NodeIndex renamed = topology.find(name);
            throw InvalidArgumentError("no subgraph has the namespace '" + std::string(checkpoint_ns) + "': there is no subgraph node '" +
                                           std::string(name) + "'" +
                                           (renamed == no_node ? "" : "; it is stored as '" + topology.nodes[renamed].stored_name + "'"),
                                       {.checkpoint_ns = std::string(checkpoint_ns)});
        }
        core = topology.nodes[node].subgraph->spec.core.get();
    }
    return *core;
}

}  // namespace stategraph::engine
