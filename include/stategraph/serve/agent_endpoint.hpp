#pragma once
#include <memory>

#include <stategraph/agent/agent.hpp>
#include <stategraph/serve/endpoint.hpp>

namespace stategraph::serve {

/// Makes the endpoint of an agent: `start` takes {"text": "…"}, and {"input": {channel: value}} where
/// EndpointOptions::input_channels allows it; `decide` approves or
/// declines calls and gives results of clients' tools. With the text there may be "files", a list of model::File, and
/// "message_id", the client's id of the message, which with "anew" replaces the one that the conversation has.
std::shared_ptr<Endpoint> endpoint(const agent::Agent& agent, EndpointOptions options = {});

}  // namespace stategraph::serve
