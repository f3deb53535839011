#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/stream_hub.hpp>

#include "src/stream/topic.hpp"

namespace stategraph::detail {

/// The implementation of StreamHub. It holds the topics of threads with subscribers or with a run under way.
struct HubImpl {
    HubImpl(std::shared_ptr<const Core> graph, BaseCheckpointSaver* reads, std::shared_ptr<BaseCheckpointSaver> keeps)
        : core(std::move(graph)), saver(reads), kept(std::move(keeps)) {}

    /// Returns the topic of a thread, and creates it if there is none.
    std::shared_ptr<stream::Topic> topic(std::string_view thread_id);

    const std::shared_ptr<const Core> core;  // null if the hub has only a saver
    BaseCheckpointSaver* const saver;        // the core's saver, or `kept`; null if there is none
    const std::shared_ptr<BaseCheckpointSaver> kept;
    mutable detail::Mutex mutex;
    std::map<std::string, std::weak_ptr<stream::Topic>, std::less<>> topics SG_GUARDED_BY(mutex);
    // When there are this many topics, those that are not in use are removed.
    std::size_t swept_at SG_GUARDED_BY(mutex) = 64;
};

}  // namespace stategraph::detail

namespace stategraph::stream {

/// Returns the topic for a run. Errors: InvalidArgumentError if the run has no thread, or belongs to another graph or
/// saver than the hub.
std::shared_ptr<Topic> topicForRun(StreamHub& hub, const detail::Core& core, BaseCheckpointSaver* saver,
                                   const ThreadId& thread_id);

}  // namespace stategraph::stream
