#pragma once
#include "inspect/terminal.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {

/// Prints what changed in a channel as lines that begin with + and -. Of objects and lists these are the members that
/// changed, by the paths that `show --path` takes. Cost: one pass over both values.
void printChange(Terminal& terminal, const ChangeView& change);

}  // namespace stategraph::inspect
