#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>
#if STATEGRAPH_HAS_QUEUE
#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_saver.hpp>
#endif

#include "inspect/commands.hpp"

// What people do about threads of the queue: one, or all that fit a query (PostgresQueue::change).
namespace stategraph::inspect {

/// A change of many threads, as the command line and the HTTP interface name it. Members that are empty select nothing.
struct QueueChangeRequest {
    /// retry, cancel, release or set_aside.
    std::string change;
    std::string queue;
    std::string graph;
    std::string worker;
    std::optional<std::string> standing;
    std::string error;
    Value metadata;
    /// The beginning of names of threads.
    std::string begin;
    /// Last claimed, given back or set aside within so many seconds, or not within so many.
    std::optional<std::int64_t> since_s;
    std::optional<std::int64_t> unchanged_s;
    /// All threads of the queue, without another selection.
    bool all = false;
    std::string reason;
    /// Stores nothing.
    bool dry_run = false;
    static constexpr auto fields() {
        return stategraph::fields(
            field("change", &QueueChangeRequest::change), field("queue", &QueueChangeRequest::queue, defaulted),
            field("graph", &QueueChangeRequest::graph, defaulted),
            field("worker", &QueueChangeRequest::worker, defaulted), field("standing", &QueueChangeRequest::standing),
            field("error", &QueueChangeRequest::error, defaulted),
            field("metadata", &QueueChangeRequest::metadata, defaulted),
            field("begin", &QueueChangeRequest::begin, defaulted), field("since_s", &QueueChangeRequest::since_s),
            field("unchanged_s", &QueueChangeRequest::unchanged_s), field("all", &QueueChangeRequest::all, defaulted),
            field("reason", &QueueChangeRequest::reason, defaulted),
            field("dry_run", &QueueChangeRequest::dry_run, defaulted));
    }
};

/// How many threads were changed, or would be, and the first of them.
struct QueueChangedView {
    std::uint64_t threads = 0;
    std::vector<std::string> first;
    bool dry_run = false;
    static constexpr auto fields() {
        return stategraph::fields(field("threads", &QueueChangedView::threads),
                                  field("first", &QueueChangedView::first),
                                  field("dry_run", &QueueChangedView::dry_run));
    }
};

/// Changes all threads that the request selects, in one statement, or says which. `first` is of what was selected
/// before the change. Errors: InvalidArgumentError for a request that selects nothing, a change or a standing that does
/// not exist, and a saver without a queue.
QueueChangedView changeThreads(const std::shared_ptr<BaseCheckpointSaver>& saver, const QueueChangeRequest& request);

/// queue retry|cancel|release|set-aside|limit: does what the first place names.
Exit changeQueue(Call& call);

[[noreturn]] void failWithoutQueue();

#if STATEGRAPH_HAS_QUEUE
/// Errors: InvalidArgumentError if it is no PostgresSaver.
std::shared_ptr<PostgresSaver> queueSaverOf(const std::shared_ptr<BaseCheckpointSaver>& saver);
/// Errors: UsageError if there is no such standing.
std::optional<QueueStanding> queueStandingOf(const std::optional<std::string>& text);
#endif

}  // namespace stategraph::inspect
