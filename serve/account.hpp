#pragma once
#include <string>

#include <boost/json.hpp>

#include <stategraph/agent/agent.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/protocol.hpp>

// What clients are told of the tokens and the costs of an agent's turn.
namespace stategraph::serve {

/// The JSON that pages get: the counts have the names of the AI SDK (`LanguageModelUsage`), the costs are decimal
/// texts.
std::string accountJson(const agent::Account& account);

/// Reads what the checkpoint at which a run has ended says (none: the newest one). Returns an empty text if the
/// protocol does not report it, and if it cannot be read.
std::string accountAt(Endpoint& endpoint, const Protocol& protocol, const ThreadId& thread,
                      const CheckpointId& checkpoint_id) noexcept;

/// The metadata with which a response ends: its status and the account.
boost::json::object endMetadata(const Closing& closing);

}  // namespace stategraph::serve
