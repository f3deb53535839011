#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/record.hpp"
#include "src/superstep/schedule.hpp"

namespace stategraph::detail {
class Schema;
}

namespace stategraph::engine {

/// Writes a run's schedule into the commits of one log: the changes, or the whole schedule.
class ScheduleFields {
public:
    /// Begins for a run.
    void start() noexcept;
    /// Fills a commit's fields, which then refer to `topology` and, until the next call, to this. `next`: the plan of
    /// `schedule`.
    void fill(const Topology& topology, const detail::Schema& schema, Schedule& schedule,
              std::span<const PlannedTask> next, bool everything, checkpoint::CommitFields& fields);
    /// Where the logs of subgraphs are that live with the thread. `is_whole`: the commit holds the whole state.
    static void fillVisits(const Schedule& schedule, bool is_whole, checkpoint::CommitFields& fields);
    /// The commit was made.
    void noteCommit() noexcept { first_commit_ = false; }

    /// What it keeps for the next run, and how to keep no more than so much.
    std::size_t roomBytes() const noexcept {
        return payloads_.capacity() + payload_ends_.capacity() * sizeof(std::size_t);
    }
    void freeAbove(std::size_t bytes) noexcept;

private:
    void addPayloads(const Topology& topology, const detail::Schema& schema, Schedule& schedule,
                     checkpoint::CommitFields& fields);
    void addLastRan(const Topology& topology, const LastRan& last, bool everything, checkpoint::CommitFields& fields);

    std::string payloads_;                   // of Sends and of input, encoded
    std::vector<std::size_t> payload_ends_;  // of each Send's in it
    LastRan logged_last_;
    bool first_commit_ = true;
};

}  // namespace stategraph::engine
