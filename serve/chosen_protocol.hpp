#pragma once
#include <string_view>

#include <stategraph/serve/endpoint.hpp>

// Which of an endpoint's protocols a request uses.
namespace stategraph::serve {

/// Returns the protocol of the endpoint that the client asks for. Errors: InvalidArgumentError that lists the
/// protocols.
const Protocol& chooseProtocol(const Endpoint& endpoint, std::string_view name);

/// Returns null if the endpoint has no protocol with that name.
const Protocol* findProtocol(const Endpoint& endpoint, std::string_view name) noexcept;

/// Even if an endpoint leaves "ui" out of its protocols, it serves the AI SDK if it can.
const Protocol& uiProtocol(const Endpoint& endpoint);

}  // namespace stategraph::serve
