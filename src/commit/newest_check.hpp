#pragma once
#include <stategraph/ids.hpp>

namespace stategraph::engine {

/// Throws ThreadChangedError unless the newest checkpoint, empty if there is none, is the one that a caller names with
/// `only_at`.
void checkNewest(CheckpointId wanted, CheckpointId newest);
/// Throws the ThreadExistsError of a log whose newest checkpoint is this one, while a caller asks for a new one.
[[noreturn]] void refuseKnown(CheckpointId newest, const char* remedy);

}  // namespace stategraph::engine
