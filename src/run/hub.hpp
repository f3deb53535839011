#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/stream_hub.hpp>

#include "src/stream/topic.hpp"

namespace stategraph::detail {

/// The implementation of StreamHub: the topics of threads with subscribers or with a run under way.
struct HubImpl {
    HubImpl(std::shared_ptr<const Core> graph, BaseCheckpointSaver* reads, std::shared_ptr<BaseCheckpointSaver> keeps)
        : core(std::move(graph)), saver(reads), kept(std::move(keeps)) {}

    /// Returns the topic of a thread, and creates it if there is none.
    std::shared_ptr<stream::Topic> topic(std::string_view thread_id);

    const std::shared_ptr<const Core> core;  // null: the hub has only a saver
    BaseCheckpointSaver* const saver;        // the core's, or `kept`; null without
    const std::shared_ptr<BaseCheckpointSaver> kept;
    mutable detail::Mutex mutex;
    std::map<std::string, std::weak_ptr<stream::Topic>, std::less<>> topics SG_GUARDED_BY(mutex);
    std::size_t swept_at SG_GUARDED_BY(mutex) = 64;  // topics that are not in use are removed when there are so many
};

}  // namespace stategraph::detail

namespace stategraph::stream {

/// The topic for a run. Errors: InvalidArgumentError if it has no thread, or is of another graph or saver than the hub.
std::shared_ptr<Topic> topicForRun(StreamHub& hub, const detail::Core& core, BaseCheckpointSaver* saver,
                                   const ThreadId& thread_id);

}  // namespace stategraph::stream
