#include <string>

#include <stategraph/error.hpp>

#include "inspect/http/api_call.hpp"
#include "inspect/queue_changes.hpp"
#include "inspect/queue_views.hpp"

// The operations on the queue of a PostgreSQL database.
namespace stategraph::inspect {
namespace {

/// A selection that is wrong is the client's mistake.
template <class Run>
serve::HandlerAnswer answered(Run run) {
    try {
        return json(run());
    } catch (const UsageError& wrong) {
        throw InvalidArgumentError(wrong.text);
    }
}

}  // namespace

serve::HandlerAnswer queueOfWorkers(ApiCall& call) {
    return answered([&] {
        const std::string standing = call.text("standing");
        return readQueue(call.api.sharedSaver(), standing.empty() ? std::nullopt : std::optional(standing),
                         call.number("limit", 50, 0, 1'000));
    });
}

serve::HandlerAnswer changeQueueOfWorkers(ApiCall& call) {
    return answered([&] { return changeThreads(call.api.sharedSaver(), call.body<QueueChangeRequest>()); });
}

}  // namespace stategraph::inspect
