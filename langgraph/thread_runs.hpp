#pragma once
#include <string>

#include "langgraph/event_json.hpp"
#include "langgraph/live_run.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

// Which runs are reported to clients of the second protocol, and how they begin and end there.
namespace stategraph::langgraph {

/// The member of a run's record that says that it is reported, also by a process that takes the run over.
inline constexpr const char* thread_events_key = "thread_events";

/// What the events of a run say about it.
EventRun eventRunOf(const RunRecord& run, int recursion_limit);

/// Whether a client has asked for the events of a thread.
bool isFollowed(const Service& service, const std::string& owner, const std::string& thread_id);
/// The feed of a thread, which is made if it is new. Errors: the store's.
std::shared_ptr<ThreadFeed> threadFeed(const Service& service, const std::string& owner, const std::string& thread_id);

/// Has the run that begins now report to its thread, if a client has asked for the thread or for the run.
void beginThreadEvents(const Service& service, LiveRun& run);
/// Reports the end of a run; one that began before a client asked for the thread reports only that.
void endThreadEvents(const Service& service, LiveRun& run, const std::string& status) noexcept;

/// Whether questions of a thread are open, or it waits at a breakpoint. Errors: the saver's.
bool hasQuestions(const ServedGraph& graph, const std::string& thread_id);

}  // namespace stategraph::langgraph
