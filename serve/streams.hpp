#pragma once
#include <atomic>
#include <list>
#include <memory>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/stream_hub.hpp>

namespace stategraph::serve {

/// The answers under way, and those of them that send events. Safe from any thread. It must outlive its places.
class Streams {
public:
    using Reader = std::shared_ptr<stategraph::detail::SubscriptionImpl>;

    /// One of them, until it is destroyed.
    class Place {
    public:
        /// `reader` is what its response waits for; null: it notices the end of the server by itself.
        explicit Place(Streams& streams, Reader reader = nullptr) : streams_(streams) {
            const stategraph::detail::LockGuard lock(streams_.mutex_);
            place_ = streams_.open_.insert(streams_.open_.end(), std::move(reader));
        }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        ~Place() {
            const stategraph::detail::LockGuard lock(streams_.mutex_);
            streams_.open_.erase(place_);
        }

    private:
        Streams& streams_;
        std::list<Reader>::iterator place_;
    };

    /// A request that was read, until its answer is sent, of events or not.
    class Answering {
    public:
        explicit Answering(Streams& streams) noexcept : answers_(streams.answers_) { ++answers_; }
        Answering(const Answering&) = delete;
        Answering& operator=(const Answering&) = delete;
        ~Answering() { --answers_; }

    private:
        std::atomic<std::size_t>& answers_;
    };

    /// How many answers are under way.
    std::size_t answers() const noexcept { return answers_; }
    std::size_t size() const noexcept {
        const stategraph::detail::LockGuard lock(mutex_);
        return open_.size();
    }
    /// Lets each of them look whether it is to end.
    void wakeAll() const noexcept {
        const stategraph::detail::LockGuard lock(mutex_);
        for (const Reader& each : open_) {
            if (each) stategraph::detail::wakeReader(*each);
        }
    }

private:
    std::atomic<std::size_t> answers_ = 0;
    mutable stategraph::detail::Mutex mutex_;
    std::list<Reader> open_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::serve
