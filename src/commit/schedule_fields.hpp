#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/checkpoint/record.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::detail {
class Schema;
}

namespace stategraph::engine {

/// Writes a run's schedule into the commits of one log: either the changes, or the whole schedule.
class ScheduleFields {
public:
    /// Begins for a run.
    void start() noexcept;
    /// Fills a commit's fields, which then refer to `topology` and, until the next call, to this object. `next` is the
    /// plan of `schedule`.
    void fill(const Topology& topology, const detail::Schema& schema, Schedule& schedule,
              std::span<const PlannedTask> next, bool everything, checkpoint::CommitFields& fields);
    /// Fills in the positions of the logs of subgraphs that live with the thread. `is_whole` says that the commit holds
    /// the whole state.
    static void fillVisits(const Schedule& schedule, bool is_whole, checkpoint::CommitFields& fields);
    /// Call it when the commit is created.
    void noteCommit() noexcept { first_commit_ = false; }

    /// Returns the size of the memory that is kept for the next run; `freeAbove` limits that memory.
    std::size_t roomBytes() const noexcept {
        return payloads_.capacity() + payload_ends_.capacity() * sizeof(std::size_t);
    }
    void freeAbove(std::size_t bytes) noexcept;

private:
    void addPayloads(const Topology& topology, const detail::Schema& schema, Schedule& schedule,
                     checkpoint::CommitFields& fields);
    void addLastRan(const Topology& topology, const LastRan& last, bool everything, checkpoint::CommitFields& fields);

    std::string payloads_;                   // the encoded payloads of Sends, and the encoded input
    std::vector<std::size_t> payload_ends_;  // the end of each Send's payload in it
    LastRan logged_last_;
    bool first_commit_ = true;
};

}  // namespace stategraph::engine
