#pragma once
#include <string>

#include <stategraph/config.hpp>
#include <stategraph/langgraph/graph.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/live_run.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// What is to be done about a run.
struct Settled {
    /// What it still has to do; empty: nothing, and `status` says how it ended.
    detail::Work work = {};
    std::string status = "success";
};

/// Notes in the record of a run that is about to begin, if it has no input, how its thread stands and which open
/// questions its answers are for, because the log does not say which run gave an answer. Returns what the run does:
/// `work`; if it has an answer for a question inside a graph that an edit there has closed, the thread is first
/// continued until it asks again, because LangGraph's clients answer after an edit. Errors: those of Graph, and the
/// store's.
detail::Work noteStart(const Service& service, LiveRun& run, detail::Work work);

/// Removes from a thread's log what a run has stored. What the run has answered is open again, unless a later run has
/// ended. Errors: as stategraph::takeBack.
void takeBack(const Service& service, const ServedGraph& graph, const RunRecord& run, OnBusy on_busy);

/// Finds out from the log how far a run came whose process is gone: it ended, it resumes, or it begins. `config` is
/// changed to what it resumes with. Errors: those of Graph, and the store's.
Settled settle(const Service& service, LiveRun& run, RunConfig& config);

/// Has the server go on with all runs that were left and that no other server drives. Errors: the store's.
void continueLeftRuns(Service& service);

}  // namespace stategraph::langgraph
