#include "serve/chosen_protocol.hpp"

#include <string>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::serve {

const Protocol& chooseProtocol(const Endpoint& endpoint, std::string_view name) {
    static const Protocol own = ownEvents();
    const std::vector<Protocol>& all = endpoint.options().protocols;
    if (all.empty() && (name.empty() || name == own.name)) return own;
    std::string names;
    for (const Protocol& each : all) {
        if (name.empty() || each.name == name) return each;
        names += (names.empty() ? "" : ", ") + each.name;
    }
    throw InvalidArgumentError("this endpoint has no protocol '" + std::string(name) +
                               "'; it has: " + (all.empty() ? own.name : names));
}

const Protocol* findProtocol(const Endpoint& endpoint, std::string_view name) noexcept {
    for (const Protocol& each : endpoint.options().protocols) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

const Protocol& uiProtocol(const Endpoint& endpoint) { return chooseProtocol(endpoint, "ui"); }

}  // namespace stategraph::serve
