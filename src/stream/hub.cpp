#include "src/stream/hub.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <stategraph/error.hpp>

#include "src/graph/core.hpp"
#include "src/run/invoke.hpp"
#include "src/stream/log_reader.hpp"
#include "src/times.hpp"

// Subscribers of threads: a mailbox and a reader of the log each.
namespace stategraph {
namespace detail {

std::shared_ptr<stream::Topic> HubImpl::topic(std::string_view thread_id) {
    const std::lock_guard lock(mutex);
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

struct SubscriptionImpl {
    using Clock = stream::Mailbox::Clock;

    std::shared_ptr<const Core> core;  // keeps the saver
    std::shared_ptr<stream::Topic> topic;
    std::shared_ptr<stream::Mailbox> mailbox;
    std::optional<stream::LogReader> log;  // none without a saver
    std::deque<stream::Durable> pending;
    std::optional<std::int64_t> telling;  // the commit that `pending` is of
    std::atomic<std::int64_t> sequence = 0;
    std::atomic<std::uint32_t> index = StreamPosition::whole;
    std::optional<Clock::time_point> poll_at;

    ~SubscriptionImpl() {
        mailbox->close();
        topic->remove(mailbox.get());
    }

    StreamPosition position() const noexcept { return {sequence.load(), index.load()}; }

    void schedulePoll() {
        if (mailbox->options().poll.count() > 0) poll_at = times::after(Clock::now(), mailbox->options().poll);
    }

    // Reads the next commit that tells something. False: there is none.
    bool read() {
        const bool changed = mailbox->takeChanged();
        if (!log) return false;
        const bool polls = poll_at && Clock::now() >= *poll_at;
        if (!changed && !polls && !log->hasMore()) return false;
        try {
            while (const auto told = log->next(pending, mailbox->options().on_full == OnFull::coalesce)) {
                if (!pending.empty()) {
                    telling = told;
                    if (changed) mailbox->changed();  // there may be more
                    return true;
                }
                moveTo({*told, StreamPosition::whole});
                mailbox->told(*told);
            }
            log->openQuestions(pending);
        } catch (...) {
            mailbox->changed();
            throw;
        }
        schedulePoll();
        mailbox->toldAll();
        return !pending.empty();
    }

    void moveTo(StreamPosition to) noexcept {
        sequence = to.sequence;
        index = to.index;
    }

    HubEvent takePending() {
        HubEvent event = std::move(pending.front().event);
        pending.pop_front();
        if (event.durable) moveTo(event.position);
        if (pending.empty() && telling) {
            mailbox->told(*telling);
            telling.reset();
        }
        return event;
    }

    std::optional<HubEvent> next(std::optional<std::chrono::milliseconds> timeout) {
        std::optional<Clock::time_point> deadline;
        if (timeout) deadline = times::after(Clock::now(), *timeout);
        for (;;) {
            if (mailbox->isClosed()) return {};
            if (pending.empty()) read();
            // While the log has more to tell, what comes behind that waits.
            if (!pending.empty() || !log || !log->hasMore()) {
                const std::int64_t bound = pending.empty() ? std::numeric_limits<std::int64_t>::max() : pending.front().bound;
                if (auto waiting = mailbox->take(bound, !pending.empty())) {
                    HubEvent event;
                    static_cast<StreamEvent&>(event) = std::move(waiting->event);
                    event.position = position();
                    return event;
                }
            }
            if (!pending.empty()) return takePending();
            if (log && log->hasMore()) continue;
            const bool polls_first = poll_at && (!deadline || *poll_at < *deadline);
            if (!mailbox->wait(polls_first ? poll_at : deadline) && !polls_first) return {};
        }
    }
};

}  // namespace detail

StreamPosition::StreamPosition(CheckpointId id) noexcept : sequence(stream::sequenceOf(id)) {}

StreamPosition StreamPosition::parse(std::string_view text) {
    StreamPosition position;
    const char* const end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, position.sequence);
    bool good = error == std::errc() && position.sequence >= 0;
    if (good && at != end) {
        good = *at == '-';
        if (good) {
            const auto rest = std::from_chars(at + 1, end, position.index);
            good = rest.ec == std::errc() && rest.ptr == end;
        }
    }
    if (!good) {
        throw InvalidArgumentError("'" + std::string(text.substr(0, 60)) +
                                   "' is no place in a stream; it must be as StreamPosition::toString writes it, such as 7165498368000123-0");
    }
    return position;
}

std::string StreamPosition::toString() const {
    std::string text = std::to_string(sequence);
    if (index != whole) text += "-" + std::to_string(index);
    return text;
}

const char* toString(OnFull policy) noexcept {
    switch (policy) {
        case OnFull::drop_ephemeral: return "drop_ephemeral";
        case OnFull::coalesce: return "coalesce";
        case OnFull::disconnect: return "disconnect";
        case OnFull::block: return "block";
    }
    return "?";
}

Subscription::Subscription(std::unique_ptr<detail::SubscriptionImpl> impl) noexcept : impl_(std::move(impl)) {}
Subscription::Subscription(Subscription&&) noexcept = default;
Subscription& Subscription::operator=(Subscription&&) noexcept = default;
Subscription::~Subscription() = default;

std::optional<HubEvent> Subscription::next() { return impl_->next({}); }
std::optional<HubEvent> Subscription::next(std::chrono::milliseconds timeout) {
    if (timeout.count() < 0) throw InvalidArgumentError("next(" + times::textOf(timeout) + "): a wait is at least 0 ms; next() waits without end");
    return impl_->next(timeout);
}
StreamPosition Subscription::position() const noexcept { return impl_->position(); }
void Subscription::close() noexcept { impl_->mailbox->close(); }
bool Subscription::isClosed() const noexcept { return impl_->mailbox->isClosed(); }
bool Subscription::wasDisconnected() const noexcept { return impl_->mailbox->wasDisconnected(); }
std::uint64_t Subscription::dropped() const noexcept { return impl_->mailbox->dropped(); }
std::size_t Subscription::waiting() const noexcept { return impl_->mailbox->waiting(); }

StreamHub::StreamHub(std::shared_ptr<const detail::Core> core) {
    BaseCheckpointSaver* const saver = engine::saverOf(*core);
    impl_ = std::make_unique<detail::HubImpl>(std::move(core), saver);
}
StreamHub::~StreamHub() = default;

Subscription StreamHub::subscribe(const ThreadId& thread_id, const SubscribeOptions& options) {
    if (thread_id.empty()) throw InvalidArgumentError("a subscription needs the thread_id of what it is to follow");
    if (options.capacity < 1 || options.capacity_bytes < 1) {
        throw InvalidArgumentError("SubscribeOptions::capacity and capacity_bytes must be at least 1");
    }
    if (options.from && impl_->saver == nullptr) {
        throw MissingCheckpointerError("a subscription from a place in the past needs a graph that was compiled with a checkpointer");
    }
    auto impl = std::make_unique<detail::SubscriptionImpl>();
    impl->core = impl_->core;
    impl->topic = impl_->topic(thread_id.view());
    impl->mailbox = std::make_shared<stream::Mailbox>(options);
    impl->topic->add(impl->mailbox);  // first: what is committed from here on is read or notified
    if (impl_->saver != nullptr) {
        impl->log.emplace(impl_->core, *impl_->saver, thread_id, options.modes, options.from);
        impl->moveTo(impl->log->told());
    }
    impl->schedulePoll();
    return Subscription(std::move(impl));
}

void StreamHub::notify(const ThreadId& thread_id) {
    std::shared_ptr<stream::Topic> threads;
    {
        const std::lock_guard lock(impl_->mutex);
        const auto found = impl_->topics.find(thread_id.view());
        if (found != impl_->topics.end()) threads = found->second.lock();
    }
    if (threads) threads->changed();
}

std::size_t StreamHub::subscribers() const {
    const std::lock_guard lock(impl_->mutex);
    std::size_t count = 0;
    for (const auto& [name, weak] : impl_->topics) {
        if (const auto threads = weak.lock()) count += threads->size();
    }
    return count;
}

namespace stream {

std::shared_ptr<Topic> topicForRun(StreamHub& hub, const detail::Core& core, BaseCheckpointSaver* saver, const ThreadId& thread_id) {
    detail::HubImpl& impl = hub.impl();
    if (thread_id.empty()) throw InvalidArgumentError("a run with a hub needs a thread_id: subscribers name it");
    const bool same = impl.core.get() == &core || (impl.saver == saver && impl.core->topology().fingerprint == core.topology().fingerprint &&
                                                   impl.core->schema().fingerprint() == core.schema().fingerprint());
    if (!same) throw InvalidArgumentError("the run's hub was made for another graph, or for another saver; make one StreamHub for each");
    return impl.topic(thread_id.view());
}

}  // namespace stream
}  // namespace stategraph
