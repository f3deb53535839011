#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::serve {

/// How many of something each client has at the same time, such as connections. It remembers clients that have some.
/// Safe from any thread. It must be owned by a shared_ptr.
class Held : public std::enable_shared_from_this<Held> {
public:
    /// 0: as many as it likes.
    explicit Held(std::size_t most) noexcept : most_(most) {}

    /// One of them, until it is destroyed. An empty one is none.
    class Place {
    public:
        Place() noexcept = default;
        Place(Place&& other) noexcept : held_(std::move(other.held_)), client_(std::move(other.client_)) {}
        Place& operator=(Place&& other) noexcept {
            std::swap(held_, other.held_);
            std::swap(client_, other.client_);
            return *this;
        }
        ~Place() {
            if (held_) held_->release(client_);
        }

    private:
        friend class Held;
        Place(std::shared_ptr<Held> held, std::string client) : held_(std::move(held)), client_(std::move(client)) {}
        std::shared_ptr<Held> held_;
        std::string client_;
    };

    /// Returns false if the client has as many as it may; otherwise `place` is one more.
    bool take(const std::string& client, Place& place) {
        if (most_ == 0) return true;
        Place taken(nullptr, client);
        {
            const stategraph::detail::LockGuard lock(mutex_);
            std::size_t& count = counts_[client];
            if (count >= most_) return false;
            ++count;
        }
        taken.held_ = shared_from_this();
        place = std::move(taken);
        return true;
    }

private:
    void release(const std::string& client) noexcept {
        const stategraph::detail::LockGuard lock(mutex_);
        const auto found = counts_.find(client);
        if (found != counts_.end() && --found->second == 0) counts_.erase(found);
    }

    const std::size_t most_;
    stategraph::detail::Mutex mutex_;
    std::map<std::string, std::size_t> counts_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::serve
