#pragma once
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/interrupt.hpp>

// Encodes questions for display.
namespace stategraph::engine {

/// Encodes a question as a map of "id", "index", "key" if it has one, and "value".
void encodeInterrupt(const Interrupt& interrupt, Encoder& out);
/// Encodes the same with "answered".
void encodeInterrupt(const Interrupt& interrupt, bool is_answered, Encoder& out);

/// Encodes questions as events show them: as a list.
void encodeQuestions(const std::vector<Interrupt>& interrupts, Encoder& out);
/// Returns the data of the event that reports questions: {"__interrupt__": [question…]}.
Value questionsAsData(const std::vector<Interrupt>& interrupts);

}  // namespace stategraph::engine
