#pragma once
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/interrupt.hpp>

// How questions are shown.
namespace stategraph::engine {

/// As text shows one: a map of "id", "index", "key" if it has one, and "value".
void encodeInterrupt(const Interrupt& interrupt, Encoder& out);
/// The same, with "answered".
void encodeInterrupt(const Interrupt& interrupt, bool is_answered, Encoder& out);

/// As events show them: a list of what was asked.
void encodeQuestions(const std::vector<Interrupt>& interrupts, Encoder& out);
/// The data of the event that reports them: {"__interrupt__": [question…]}.
Value questionsAsData(const std::vector<Interrupt>& interrupts);

}  // namespace stategraph::engine
