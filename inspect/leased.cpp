#include "inspect/leased.hpp"

#include <chrono>

#include <stategraph/error.hpp>
#if STATEGRAPH_HAS_QUEUE
#include <stategraph/postgres_queue.hpp>
#include <stategraph/postgres_saver.hpp>
#endif

namespace stategraph::inspect {

void refuseLeased(const std::shared_ptr<BaseCheckpointSaver>& saver, const std::string& thread_id) {
#if STATEGRAPH_HAS_QUEUE
    const auto postgres = std::dynamic_pointer_cast<PostgresSaver>(saver);
    if (!postgres) return;
    const auto queued = PostgresQueue(postgres).find(thread_id);
    if (!queued || queued->epoch == 0) return;
    if (queued->due && *queued->due <= std::chrono::system_clock::now()) return;  // the lease has run out
    throw InvalidArgumentError(
        "worker '" + queued->worker + "' has a lease on the thread: wait until its run ends, or cancel the thread",
        {.thread_id = thread_id});
#else
    (void)saver;
    (void)thread_id;
#endif
}

}  // namespace stategraph::inspect
