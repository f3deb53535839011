#pragma once
#include <boost/json.hpp>

#include "langgraph/body.hpp"
#include "langgraph/clock.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

// Threads that do not stay for ever: `ttl` of a request that makes a thread or changes it.
namespace stategraph::langgraph {

/// Sets what the member `ttl` of a request says: minutes, or {"ttl": minutes, "strategy": "delete" | "keep_latest"}.
/// Returns what is to be stored together with the thread; nothing if there is no such member. Errors: InvalidRequest.
ApiRecords::Batch readTtl(const Body& body, Clock::Time now, ThreadRecord& thread);
/// The same for a copy, which has the time of the thread that it was made of.
ApiRecords::Batch beginTtl(Clock::Time now, ThreadRecord& thread);
/// Removes what is stored so that the end of a thread is noticed, because the thread is deleted or gets another time.
ApiRecords::Batch endTtl(const ThreadRecord& thread);
/// What clients see: {"strategy", "ttl_minutes", "expires_at"}; null: it stays.
boost::json::value ttlJson(const ThreadRecord& thread);

/// Deletes, or prunes to their newest checkpoints, threads whose time since their last change is over, a hundred at
/// most; one that has a run stays until that has ended. If the process dies, the next one deletes what is due. Returns
/// when to look again: now, if there may be more. Errors: the store's and the savers'. Cost: one read of each thread
/// whose time comes, and of those that were changed since.
Clock::Time endExpired(Service& service);

}  // namespace stategraph::langgraph
