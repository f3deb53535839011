#pragma once
#include <stategraph/saver.hpp>

#include "src/checkpoint/commit_fields.hpp"

// The questions of a subgraph's tasks are stored with the thread's own task, which takes their answers. An edit inside
// the subgraph replaces the tasks that asked, so that their questions are not asked any more.
namespace stategraph::engine {

/// Takes the questions of the current visit of a subgraph's log out of the records of the thread's newest checkpoint.
/// The thread is `edited` then, unless it has failed or its task waits for other answers. `of` is the commit that is to
/// be edited. Does nothing for the thread's own log, and for a commit of an earlier visit. Errors: those of the saver;
/// ConcurrentUpdateError if somebody answers at the same time. Cost: one read; if the thread asks, another one, and a
/// write if the visit has questions.
void closeQuestions(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::CommitFields& of, bool sync);

}  // namespace stategraph::engine
