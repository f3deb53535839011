#pragma once
#include <string>

#include <stategraph/agent/replay.hpp>

// What a record says about messages, and how calls are compared.
namespace stategraph::agent::detail {

/// Returns whether the message is an answer of an agent's model.
bool isAnswer(const model::Message& message) noexcept;
/// The answer and its calls, without results.
RecordedStep stepOf(const model::Message& answer);
/// A text that two calls of the same tool with the same arguments have in common, as the model wrote them. The order of
/// members does not count.
std::string keyOf(const RecordedCall& call);
/// A call as a text for people, as the model wrote it.
std::string describe(const RecordedCall& call);
/// An answer as a text for people: its calls, or its text if it has none.
std::string describe(const RecordedStep& step);
/// Whether the turn ended without a final answer: it was stopped, it failed, or calls were left open.
bool isUnfinished(const RecordedTurn& turn) noexcept;
/// How many answers of the turn are to be compared.
std::size_t comparedSteps(const RecordedTurn& turn) noexcept;
/// In what the turns differ, in order.
std::vector<Difference> differencesOf(const RecordedTurn& recorded, const RecordedTurn& replayed, std::size_t turn);

}  // namespace stategraph::agent::detail
