#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include <stategraph/stream_hub.hpp>

namespace stategraph::stream {

/// The events of graphs inside that a subscriber received while they happened, and that the log will have too: those
/// do not come again from there. Kept until the root's commit of their superstep, and at most events_max of them: what
/// exceeds that comes twice, and so may a cached result of one of several tasks of a node. Those that the log did not
/// have by then are kept longer, the last unmatched_max of them: a later visit of a lasting log may take them along.
/// Not safe from several threads.
class SeenLive {
public:
    static constexpr std::size_t events_max = 16384;
    static constexpr std::size_t unmatched_max = 1024;

    /// `superstep`: the number of the root's checkpoint whose superstep it is of.
    void note(const StreamEvent& event, std::int64_t superstep);
    /// Whether such an event was noted; it counts once.
    bool take(const StreamEvent& event, std::int64_t superstep);
    /// All up to a commit of the root have been reported.
    void forgetBefore(std::int64_t sequence) noexcept;

private:
    using Key = std::pair<std::int64_t, TaskId>;  // the superstep, and what the event is in it
    // Whether this event was received and has not come from the log; it counts once.
    bool takeUnmatched(const StreamEvent& event);

    std::map<Key, std::size_t> counts_;
    std::size_t noted_ = 0;
    std::deque<TaskId> unmatched_;  // by all that they say, the oldest first
};

}  // namespace stategraph::stream
