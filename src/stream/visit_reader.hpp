#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "src/stream/visits.hpp"

namespace stategraph::stream {

/// An event that waits for its subscriber.
struct Durable {
    HubEvent event;
    std::int64_t bound;  // it comes after ephemeral events that are before this
    // Of a graph inside: the number of the root's checkpoint whose superstep it is of.
    std::int64_t superstep = 0;
};

/// What a reader of the log wants.
struct ReadEvents {
    StreamModes modes = StreamMode::updates;
    bool subgraphs = false;
};

/// Reads what the graphs inside did in one superstep of the root, a commit at a time: in the order of tasks, each visit
/// from its beginning to where it was left, and what was nested inside before the commit that ended it. A visit's
/// commits are those from which its newest one continued; what it abandoned on the way, in branches of its log, is
/// not read. Not safe from several threads. Memory: for each open log the ids of at most 32768 commits and the records
/// of 16.
class VisitReader {
public:
    VisitReader(BaseCheckpointSaver& saver, const ThreadId& thread_id, StreamModes modes);
    ~VisitReader();

    /// There is no superstep.
    void end() noexcept;
    /// Begins with the superstep that led to a commit of the root. `after`: where the reader is.
    void begin(const CommitEvents& root, const LedTo& led, const checkpoint::CommitFields& commit,
               const StreamPosition& after);
    /// Adds the events of the next commit, which may be none, and returns its place; none: there is no further one.
    /// `shows_state`: values and checkpoints too; with `newest_state`, only of the newest commit of a visit. On an
    /// error nothing has changed, and the call can be made again.
    std::optional<StreamPosition> next(std::deque<Durable>& out, bool shows_state, bool newest_state);

private:
    class Log;
    struct Level;
    void push(const CommitEvents& around, const LedTo& led, const checkpoint::CommitFields& commit);
    const StreamPosition::Inside* begunAt() const;
    bool open(Level& level);
    void enter(Level& level);
    StreamPosition place(std::int64_t sequence) const;
    void create(Level& level, bool shows_state, std::deque<Durable>& out);

    BaseCheckpointSaver& saver_;
    ThreadId thread_id_;
    StreamModes modes_;
    std::int64_t sequence_ = 0;   // of the root's commit
    std::int64_t superstep_ = 0;  // of the checkpoint before it
    StreamPosition told_;
    std::unique_ptr<EndedCalls> calls_;
    std::vector<std::unique_ptr<Level>> levels_;
};

}  // namespace stategraph::stream
