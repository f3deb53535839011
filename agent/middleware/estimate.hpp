#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <stategraph/model/message.hpp>

namespace stategraph::agent::detail {

/// The tokens of messages, as estimated.
std::int64_t tokensIn(std::span<const model::Message> messages);
/// The place of the message with which the turn began: the last one of a user, or 0.
std::size_t turnBegin(std::span<const model::Message> messages) noexcept;
/// The conversation as a text that a model can read, a line for each text, call and result.
std::string transcriptOf(std::span<const model::Message> messages);

}  // namespace stategraph::agent::detail
