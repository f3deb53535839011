#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>

#include "langgraph/body.hpp"
#include "langgraph/run_feed.hpp"

// The events of a thread, over all its runs, for clients of the second protocol.
namespace stategraph::langgraph {

/// Which events of a thread a client wants. Channels that are not known have no events.
class EventFilter {
public:
    /// Reads {"channels", "namespaces", "depth"}. Errors: InvalidRequest.
    explicit EventFilter(const Body& body);
    /// `name`: "channel|node:task|node:task".
    bool wants(std::string_view name) const;

private:
    std::vector<std::string> channels_;
    std::vector<std::vector<std::string>> namespaces_;  // none: all
    std::optional<std::size_t> depth_;
};

/// The events of a thread. Each has a number that is greater than those before it, also than those that other processes
/// have sent. Safe from any thread.
class ThreadFeed {
public:
    /// `base`: the number before the first event's.
    ThreadFeed(std::uint64_t base, std::size_t bytes_max, std::shared_ptr<FeedBytes> all)
        : feed_(bytes_max, std::move(all), 0, base) {}

    /// Adds an event of a channel. `params` has all but the namespace.
    void add(std::string_view channel, const std::vector<std::string>& ns, boost::json::object params);
    /// The same for the channel `lifecycle`: a run, or what runs at a place inside it, begins or ends.
    struct Lifecycle {
        std::string event = {};  // "running" or "started", "completed", "interrupted" or "failed"
        std::string graph_name = {};
        std::string error = {};
    };
    void addLifecycle(const std::vector<std::string>& ns, Lifecycle what);

    /// The number of the newest event.
    std::uint64_t newest() const { return feed_.next(); }
    /// Where a client reads that has the events up to a number.
    std::uint64_t placeAfter(std::uint64_t number) const { return feed_.placeOf(number); }
    /// As RunFeed::read, of the events before a place that a filter wants. `is_sse`: as server-sent events, otherwise
    /// each as a line.
    using Wants = std::function<bool(std::string_view name)>;
    RunFeed::Read read(std::uint64_t from, bool is_sse, const Wants& wants, std::uint64_t until = UINT64_MAX) const;
    std::uint64_t listen(std::function<void()> announce) { return feed_.listen(std::move(announce)); }
    void unlisten(std::uint64_t listener) { feed_.unlisten(listener); }
    /// The thread was deleted: no more events come.
    void end() noexcept { feed_.end(true); }

    /// What the newest run consists of; null: none has begun.
    boost::json::value tree() const;

private:
    struct Place {
        std::vector<std::string> ns;
        std::string status;
        std::string graph_name;
    };

    RunFeed feed_;
    mutable stategraph::detail::Mutex mutex_;
    std::vector<Place> places_ SG_GUARDED_BY(mutex_);  // those of the newest run, itself first
};

/// The threads that clients of the second protocol have asked for. Those that nobody uses are forgotten when there are
/// too many, the oldest first. Safe from any thread.
class ThreadFeeds {
public:
    ThreadFeeds(std::size_t bytes_max, std::shared_ptr<FeedBytes> all) : bytes_max_(bytes_max), all_(std::move(all)) {}

    /// The thread of an owner, which is new if nobody has asked for it yet. `has_run`: whether runs of the thread may
    /// have been reported before, by this process or another.
    std::shared_ptr<ThreadFeed> of(const std::string& owner, const std::string& thread_id,
                                   const std::function<bool()>& has_run);
    /// Null: nobody has asked for it.
    std::shared_ptr<ThreadFeed> find(const std::string& owner, const std::string& thread_id) const;
    /// The thread is deleted.
    void forget(const std::string& owner, const std::string& thread_id);
    /// Forgets what is too much.
    void trim();

private:
    struct Kept {
        std::string key;
        std::shared_ptr<ThreadFeed> feed;
    };
    using Line = std::list<Kept>;
    void trimLocked() SG_REQUIRES(mutex_);

    const std::size_t bytes_max_;
    const std::shared_ptr<FeedBytes> all_;
    mutable stategraph::detail::Mutex mutex_;
    Line line_ SG_GUARDED_BY(mutex_);  // the oldest first
    std::map<std::string, Line::iterator> by_key_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::langgraph
