#pragma once
#include <string>
#include <string_view>

#include <stategraph/saver.hpp>

// Deletes a thread with what is kept for it in other threads.
namespace stategraph {

/// The name of the thread that keeps the messages which wait for a thread's run (agent::Agent::send).
std::string inboxOf(std::string_view thread_id);
/// Whether this is the name of such a thread.
bool isInbox(std::string_view thread_id) noexcept;

/// Deletes a thread, and then the messages that wait for it, so that a new thread of this name does not take them. The
/// second deletion takes all that waits then: also messages for a thread that does not exist yet, and one that was sent
/// between the two deletions, for whatever thread of this name. BaseCheckpointSaver::deleteThread deletes the thread
/// alone. Errors: those of the saver; if it fails midway, call it again. Cost: two deletions.
void deleteWholeThread(BaseCheckpointSaver& saver, std::string_view thread_id);

}  // namespace stategraph
