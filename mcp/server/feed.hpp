#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include <stategraph/detail/mutex.hpp>

#include "mcp/server/outlet.hpp"

namespace stategraph::mcp::detail {

/// The messages about one request as server-sent events, numbered from 1. Beyond a limit of bytes those that were read
/// are forgotten, and reports of progress are dropped. Safe from any thread.
class Feed final : public Outlet {
public:
    /// `name`: what the ids of events begin with; empty: events have no ids, and nobody comes back for them.
    Feed(std::string name, std::size_t bytes_max) : name_(std::move(name)), bytes_max_(bytes_max) {}

    void send(std::string message) noexcept override;
    void finish(std::string message, int error_code) noexcept override;
    bool isFull() const noexcept override;

    struct Read {
        std::string text = {};   // of events, as they are sent
        std::uint64_t next = 1;  // the number of the event after them
        bool is_end = false;     // nothing follows
    };
    /// The events from a number on; if the first of them are forgotten, those after them.
    Read read(std::uint64_t from);
    /// The answer, if there is one and no other message came before it.
    struct Only {
        std::string message = {};
        int error_code = 0;
    };
    std::optional<Only> only() const;
    bool hasEnded() const;
    std::size_t bytes() const;
    const std::string& name() const noexcept { return name_; }
    /// The id of an event; empty if the events have none.
    std::string idOf(std::uint64_t number) const {
        return name_.empty() ? name_ : name_ + "-" + std::to_string(number);
    }

    /// Calls `announce` after each change, instead of an earlier one. It must neither throw nor block.
    void listen(std::function<void()> announce);

private:
    void add(std::string message) SG_REQUIRES(mutex_);

    const std::string name_;
    const std::size_t bytes_max_;
    mutable stategraph::detail::Mutex mutex_;
    std::deque<std::string> messages_ SG_GUARDED_BY(mutex_);
    std::uint64_t first_ SG_GUARDED_BY(mutex_) = 1;  // the number of the oldest
    std::uint64_t read_ SG_GUARDED_BY(mutex_) = 1;   // the number of the first that nobody has read
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;
    bool has_ended_ SG_GUARDED_BY(mutex_) = false;
    int error_code_ SG_GUARDED_BY(mutex_) = 0;
    std::function<void()> announce_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::mcp::detail
