#pragma once
#include <cstddef>
#include <ostream>
#include <string>

#include <stategraph/saver.hpp>

namespace stategraph::inspect {

/// Writes a thread as a trace in the JSON format of Chrome, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
/// Each log is a process of the trace, and each of its branches a thread with the supersteps; tasks are on threads of
/// their own, on the same one if they ran one after the other. Times are microseconds since the thread began, as the
/// log has them; what has no duration (inputs, edits, forks, supersteps of a log without durations, questions, errors)
/// is an instant. Names, errors and ids are in the trace, values are not. Returns the number of checkpoints. Errors:
/// NotFound for a thread without checkpoints; what the saver throws; a damaged checkpoint is an instant that says so.
/// Cost: a read of every checkpoint from its base, and a few words in memory for each event.
std::size_t writeTrace(BaseCheckpointSaver& saver, const std::string& thread_id, std::ostream& out);

}  // namespace stategraph::inspect
