#pragma once
#include <functional>
#include <optional>
#include <vector>

#include <stategraph/agent/state.hpp>
#include <stategraph/snapshot.hpp>
#include <stategraph/value.hpp>

namespace stategraph::serve::detail {

/// Returns the message in the body of a start, which is for a run that is under way; none if the conversation, which
/// `known` reads, has it. Errors: WrongTypeError; InvalidArgumentError, also if it is to be answered anew.
std::optional<model::Message> sentMessage(const Value& body, const std::function<std::vector<model::Message>()>& known);

/// Returns the messages of a graph that holds a conversation.
std::vector<model::Message> conversationIn(const SnapshotData& thread);

}  // namespace stategraph::serve::detail
