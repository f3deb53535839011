#include "src/run/hub.hpp"

#include <algorithm>

#include <stategraph/error.hpp>

#include "src/graph/core.hpp"
#include "src/run/invoke.hpp"
#include "src/stream/subscription.hpp"

// The threads with subscribers.
namespace stategraph {
namespace detail {

std::shared_ptr<stream::Topic> HubImpl::topic(std::string_view thread_id) {
    const detail::LockGuard lock(mutex);
    const auto found = topics.find(thread_id);
    if (found != topics.end()) {
        if (auto topic = found->second.lock()) return topic;
    }
    if (topics.size() >= swept_at) {
        std::erase_if(topics, [](const auto& entry) { return entry.second.expired(); });
        swept_at = std::max<std::size_t>(64, 2 * topics.size());
    }
    auto topic = std::make_shared<stream::Topic>();
    topics.insert_or_assign(std::string(thread_id), topic);
    return topic;
}

}  // namespace detail

const char* toString(OnFull policy) noexcept {
    switch (policy) {
        case OnFull::drop_ephemeral:
            return "drop_ephemeral";
        case OnFull::coalesce:
            return "coalesce";
        case OnFull::disconnect:
            return "disconnect";
        case OnFull::block:
            return "block";
    }
    return "?";
}

const char* toString(Until until) noexcept {
    switch (until) {
        case Until::closed:
            return "closed";
        case Until::run_end:
            return "run_end";
        case Until::idle:
            return "idle";
    }
    return "?";
}

StreamHub::StreamHub(std::shared_ptr<const detail::Core> core) {
    BaseCheckpointSaver* const saver = engine::saverOf(*core);
    impl_ = std::make_unique<detail::HubImpl>(std::move(core), saver, nullptr);
}
StreamHub::StreamHub(std::shared_ptr<BaseCheckpointSaver> saver) {
    if (!saver) throw InvalidArgumentError("a StreamHub needs a graph or a saver; it was given a null saver");
    BaseCheckpointSaver* const reads = saver.get();
    impl_ = std::make_unique<detail::HubImpl>(nullptr, reads, std::move(saver));
}
StreamHub::~StreamHub() {
    const detail::LockGuard lock(impl_->mutex);
    for (const auto& [thread_id, weak] : impl_->topics) {
        if (const auto topic = weak.lock()) topic->hubEnds();
    }
}

namespace {
// If the hub has no graph, no run reports to it, so the log is polled.
SubscribeOptions polling(SubscribeOptions options) {
    if (options.poll.count() <= 0) options.poll = std::chrono::milliseconds(100);
    return options;
}
}  // namespace

Subscription StreamHub::subscribe(const ThreadId& thread_id, const SubscribeOptions& options) {
    if (thread_id.empty()) throw InvalidArgumentError("a subscription needs the thread_id of what it is to follow");
    if (options.capacity < 1 || options.capacity_bytes < 1) {
        throw InvalidArgumentError("SubscribeOptions::capacity and capacity_bytes must be at least 1");
    }
    if (options.poll < std::chrono::milliseconds(0)) {
        throw InvalidArgumentError("SubscribeOptions::poll is " + std::to_string(options.poll.count()) +
                                   " ms; it must be at least 0");
    }
    if (options.from && impl_->saver == nullptr) {
        throw MissingCheckpointerError(
            "a subscription from a place in the past needs a graph that was compiled with a checkpointer");
    }
    auto impl = std::make_shared<detail::SubscriptionImpl>();
    impl->core = impl_->core;
    impl->saver = impl_->kept;
    impl->topic = impl_->topic(thread_id.view());
    impl->mailbox = std::make_shared<stream::Mailbox>(impl_->core ? options : polling(options));
    impl->topic->add(impl->mailbox);  // added first, so that everything committed from now on is read or notified
    if (impl_->saver != nullptr) {
        impl->log.emplace(impl_->core, *impl_->saver, thread_id,
                          stream::ReadEvents{.modes = options.modes, .subgraphs = options.subgraphs}, options.from);
        impl->moveTo(impl->log->told());
    }
    impl->schedulePoll();
    return Subscription(std::move(impl));
}

void StreamHub::notify(const ThreadId& thread_id) {
    std::shared_ptr<stream::Topic> threads;
    {
        const detail::LockGuard lock(impl_->mutex);
        const auto found = impl_->topics.find(thread_id.view());
        if (found != impl_->topics.end()) threads = found->second.lock();
    }
    if (threads) threads->changed();
}

std::size_t StreamHub::subscribers() const {
    const detail::LockGuard lock(impl_->mutex);
    std::size_t count = 0;
    for (const auto& [name, weak] : impl_->topics) {
        if (const auto threads = weak.lock()) count += threads->size();
    }
    return count;
}

namespace stream {

std::shared_ptr<Topic> topicForRun(StreamHub& hub, const detail::Core& core, BaseCheckpointSaver* saver,
                                   const ThreadId& thread_id) {
    detail::HubImpl& impl = hub.impl();
    if (thread_id.empty()) throw InvalidArgumentError("a run with a hub needs a thread_id: subscribers name it");
    if (!impl.core)
        throw InvalidArgumentError("the run's hub was made of a saver alone, which only reads; make one of the graph");
    const bool same = impl.core.get() == &core ||
                      (impl.saver == saver && impl.core->topology().fingerprint == core.topology().fingerprint &&
                       impl.core->schema().fingerprint() == core.schema().fingerprint());
    if (!same)
        throw InvalidArgumentError(
            "the run's hub was made for another graph, or for another saver; make one StreamHub for each");
    return impl.topic(thread_id.view());
}

}  // namespace stream
}  // namespace stategraph
