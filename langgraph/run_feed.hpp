#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::langgraph {

/// How many bytes the feeds of all runs use.
struct FeedBytes {
    explicit FeedBytes(std::size_t limit) : most(limit) {}
    bool areTooMany() const noexcept { return used > most; }
    const std::size_t most;
    std::atomic<std::size_t> used = 0;
};

/// The events of a run, or of a thread, which are numbered and kept for readers that come late. Beyond a limit of
/// bytes, of this feed or of all, its oldest are forgotten. Safe from any thread.
class RunFeed {
public:
    struct Event {
        std::string name;
        std::string data;
    };

    /// `about`: what else is kept for the run, in bytes. `base`: the number of the first event.
    RunFeed(std::size_t bytes_max, std::shared_ptr<FeedBytes> all, std::size_t about, std::uint64_t base = 0);
    RunFeed(const RunFeed&) = delete;
    RunFeed& operator=(const RunFeed&) = delete;
    ~RunFeed();

    void add(std::string name, std::string data);
    /// No more events come. `is_whole`: the run has ended; otherwise its server ends, and readers see that the response
    /// breaks off.
    void end(bool is_whole) noexcept;
    bool hasEnded() const;
    /// Forgets all events.
    void forget();

    struct Read {
        std::string text = {};   // of events, as they are sent
        std::uint64_t next = 0;  // the number of the event after them
        bool is_end = false;     // there are no more, and the run has ended
        bool is_lost = false;    // events were forgotten, or the server ends: what follows would have a gap
    };
    /// The events from a number on, some at a time; from 0 on: from the oldest that is kept. `modes`: only events of
    /// these names, whatever their namespace is; empty: all.
    Read read(std::uint64_t from, const std::vector<std::string>& modes) const;
    /// The same, with each event as `write` writes it to the text; one that the reader does not want is not written.
    using Write = std::function<void(std::uint64_t number, const Event& event, std::string& text)>;
    Read readAs(std::uint64_t from, const Write& write) const;
    /// The number of the oldest event that is kept.
    std::uint64_t first() const;
    /// The number of the next event.
    std::uint64_t next() const;
    /// Where a reader continues whose next event has this number. Of a number of another process, which may lie below
    /// those of this one: 0, so that it reads from the oldest.
    std::uint64_t placeOf(std::uint64_t number) const { return number < base_ || number > next() ? 0 : number; }

    /// Calls `announce` after each change, until `unlisten`. It must neither throw nor block.
    std::uint64_t listen(std::function<void()> announce);
    void unlisten(std::uint64_t listener);

private:
    void tell() const SG_REQUIRES(mutex_);
    void forgetOldest() SG_REQUIRES(mutex_);

    const std::size_t bytes_max_;
    const std::shared_ptr<FeedBytes> all_;
    const std::size_t about_;
    const std::uint64_t base_;
    mutable stategraph::detail::Mutex mutex_;
    std::deque<Event> events_ SG_GUARDED_BY(mutex_);
    std::uint64_t first_ SG_GUARDED_BY(mutex_);  // the number of the oldest
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;
    bool has_ended_ SG_GUARDED_BY(mutex_) = false;
    bool is_whole_ SG_GUARDED_BY(mutex_) = false;
    std::uint64_t next_listener_ SG_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, std::function<void()>> listeners_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::langgraph
